"""Builds what a config names. Every key is an explicit constructor argument, so a misspelt key is an error."""

from typing import Any

import pyarrow as pa
from lightning import Callback
from omegaconf import DictConfig

from lookback.common.configs import build, without_environment
from lookback.common.errors import config_errors
from lookback.data import Corpus, Tokenization, Tokenizer, TranslationData, WordTokenization
from lookback.nn import Seq2Seq
from lookback.search import Search
from lookback.training.module import TranslationModule
from lookback.training.settings import check_accelerator
from lookback.translation.build import build_model
from lookback.translation.writing import read_dictionary


def build_data(
    config: DictConfig,
    corpus: Corpus | None = None,
    source_tokenizer: Tokenizer | None = None,
    target_tokenizer: Tokenizer | None = None,
) -> TranslationData:
    """Builds the data that ``config`` names, without reading it.

    Args:
        config: the config of a training.
        corpus: takes the place of the config's own.
        source_tokenizer: takes the place of the one that would be learnt.
        target_tokenizer: takes the place of the one that would be learnt.
    """
    corpus = build(config.data, Corpus) if corpus is None else corpus
    tokenization = build(config.tokenizer, Tokenization)
    return TranslationData(
        corpus=corpus,
        tokenization=tokenization,
        batch_size=config.batch.size,
        batch_unit=config.batch.unit,
        evaluation_batch_size=config.batch.evaluation_size,
        shuffle_buffer=config.batch.shuffle_buffer,
        seed=config.seed,
        source_tokenizer=source_tokenizer,
        target_tokenizer=target_tokenizer,
    )


def build_module(
    config: DictConfig,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    bleu_tokenize: str,
    model: Seq2Seq | None = None,
) -> TranslationModule:
    """Builds the network with everything that trains, validates and tests it.

    Args:
        config: the config of a training.
        source_tokenizer: of the source language.
        target_tokenizer: of the target language. If it is the same object, source and target share one embedding.
        bleu_tokenize: sacrebleu's tokenizer for the corpus.
        model: a network to use, instead of a new one.
    """
    if model is None:
        is_joint = source_tokenizer is target_tokenizer
        model = build_model(config, len(source_tokenizer), len(target_tokenizer), share_embeddings=is_joint)
    optimizer, schedule = build(config.optimizer), build(config.scheduler)
    search = build(config.search, Search)
    entries = read_dictionary(config.unknown_words)
    with config_errors():
        return TranslationModule(
            model=model,
            optimizer=optimizer,
            schedule=schedule,
            search=search,
            source_tokenizer=source_tokenizer,
            target_tokenizer=target_tokenizer,
            dictionary=entries if model.looks_back else None,
            bleu_tokenize=bleu_tokenize,
            validation_sentences=config.validation_sentences,
            label_smoothing=config.label_smoothing,
            # checkpoints from before this setting existed do not have it
            normalize=config.loss.normalize if "loss" in config else "tokens",
            config=plain_config(config),
        )


def build_once(config: DictConfig, joint: bool, bleu_tokenize: str) -> None:
    """Builds everything once with a one-word vocabulary, so that a bad setting fails before any text is read.

    Args:
        config: the config of a training.
        joint: whether source and target share one tokenizer.
        bleu_tokenize: sacrebleu's tokenizer for the corpus.

    Raises:
        InputError: if a setting is wrong.
    """
    word = pa.array(["word"])
    module = build_module(config, *WordTokenization(joint=joint).learn(lambda side: iter([word])), bleu_tokenize)
    check_accelerator("trainer.accelerator", config.trainer.accelerator)
    for callback in config.callbacks.values():
        build(callback, Callback)
    with config_errors("optimizer"):
        optimizer = module.optimizer(module.parameters())
    with config_errors("scheduler"):
        module.schedule(optimizer, 1)


def plain_config(config: DictConfig) -> dict[str, Any]:
    """The resolved config in plain containers, as checkpoints and trackers hold it.

    Others may read these, so what comes from an environment variable is kept as it was written, such as
    ``${oc.env:TOKEN}``. A number or a switch is no secret, and a trained model needs its sizes.
    """
    container = without_environment(config)
    return {str(key): value for key, value in container.items()}
