"""Builds what a config names. Every key is an explicit constructor argument, so a misspelt key is an error."""

import math
import re
from typing import Any

import pyarrow as pa
from omegaconf import DictConfig, OmegaConf

from lookback.common.configs import build, without_environment
from lookback.common.errors import InputError, config_errors
from lookback.data import Corpus, Tokenizer, TranslationData, WordTokenization
from lookback.nn import Seq2Seq
from lookback.training.module import TranslationModule
from lookback.translation.build import build_model
from lookback.translation.writing import read_dictionary

_BATCH_KEYS = {
    "batch_size": "batch.size",
    "batch_unit": "batch.unit",
    "evaluation_batch_size": "batch.evaluation_size",
    "shuffle_buffer": "batch.shuffle_buffer",
}
"""The config key of each argument of the data module that its errors may name."""


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

    Raises:
        InputError: if a setting of ``batch`` is wrong, with its key.
    """
    corpus = build(config.data) if corpus is None else corpus
    tokenization = build(config.tokenizer)
    try:
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
    except ValueError as error:
        # the message begins with the argument's name, which a user knows by its config key
        raise InputError(re.sub(r"^\w+", lambda argument: _BATCH_KEYS[argument[0]], str(error))) from error


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
    search = build(config.search)
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
    rate = config.optimizer.lr
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < math.inf:
        key = "learning_rate" if OmegaConf.is_interpolation(config.optimizer, "lr") else "optimizer.lr"
        raise InputError(f"{key}={rate}: expected a number over 0, such as 0.004")
    word = pa.array(["word"])
    module = build_module(config, *WordTokenization(joint=joint).learn(lambda side: iter([word])), bleu_tokenize)
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
