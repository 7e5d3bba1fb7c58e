"""From a config to the objects it names. Every key is an explicit constructor argument: a misspelt one is an error."""

import math

import pyarrow as pa
from omegaconf import DictConfig, OmegaConf

from lookback.common.configs import build
from lookback.common.errors import InputError, config_errors
from lookback.data import Corpus, Tokenizer, TranslationData, WordTokenization
from lookback.nn import Seq2Seq
from lookback.training.module import TranslationModule
from lookback.translation.build import build_model, plain
from lookback.translation.writing import dictionary

_BATCH = {
    "batch_size": "batch.size",
    "batch_unit": "batch.unit",
    "evaluation_batch_size": "batch.evaluation_size",
    "shuffle_buffer": "batch.shuffle_buffer",
}
"""The settings that the arguments of the data module are, by argument."""


def build_data(
    config: DictConfig,
    corpus: Corpus | None = None,
    source_tokenizer: Tokenizer | None = None,
    target_tokenizer: Tokenizer | None = None,
) -> TranslationData:
    """The data that ``config`` names, not yet read; another corpus or given tokenizers take the place of its own."""
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
        argument, _, refusal = str(error).partition(":")
        raise InputError(f"{_BATCH[argument]}:{refusal}") from error


def build_module(
    config: DictConfig,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    bleu_tokenize: str,
    model: Seq2Seq | None = None,
) -> TranslationModule:
    """The network with all that trains, validates and tests it; ``model``: one that is there already.

    A joint tokenizer, one object, has one embedding.
    """
    if model is None:
        is_joint = source_tokenizer is target_tokenizer
        model = build_model(config, len(source_tokenizer), len(target_tokenizer), share_embeddings=is_joint)
    optimizer, schedule = build(config.optimizer), build(config.scheduler)
    search = build(config.search)
    entries = dictionary(config.unknown_words)
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
            normalize=config.loss.normalize if "loss" in config else "tokens",  # checkpoints of before have no such key
            config=plain(config),
        )


def build_once(config: DictConfig, joint: bool, bleu_tokenize: str) -> None:
    """Build all of it for a vocabulary of one word: what is wrong with a setting is said before any text is read.

    joint: whether both sides have one tokenizer.
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
