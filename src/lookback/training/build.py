"""From a config to the objects it names. Every key is an explicit constructor argument: a misspelt one is an error."""

import math
from typing import Any

import pyarrow as pa
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from lookback.data import Corpus, Tokenizer, TranslationData, WordTokenization
from lookback.errors import InputError, settings
from lookback.nn import Seq2Seq, initialize
from lookback.training.module import TranslationModule
from lookback.training.writing import dictionary

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
    corpus = instantiate(config.data) if corpus is None else corpus
    tokenization = instantiate(config.tokenizer)
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


def build_model(
    config: DictConfig, source_vocabulary: int, target_vocabulary: int, share_embeddings: bool = False
) -> Seq2Seq:
    """The network that ``config`` names, with first values drawn from torch's seed."""
    encoder = instantiate(config.encoder, vocabulary_size=source_vocabulary)
    attention = instantiate(config.attention, query_size=config.decoder.hidden_size, memory_size=encoder.memory_size)
    decoder = instantiate(
        config.decoder, vocabulary_size=target_vocabulary, attention=attention, init_size=encoder.final_size
    )
    with settings():
        model = Seq2Seq(encoder, decoder, share_embeddings)
    with settings("initialization"):
        initialize(model, config.initialization.deviation, config.initialization.attention_deviation)
    return model


def build_module(
    config: DictConfig, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, bleu_tokenize: str
) -> TranslationModule:
    """The network with all that trains, validates and tests it. A joint tokenizer, one object, has one embedding."""
    is_joint = source_tokenizer is target_tokenizer
    model = build_model(config, len(source_tokenizer), len(target_tokenizer), share_embeddings=is_joint)
    optimizer, schedule = instantiate(config.optimizer), instantiate(config.scheduler)
    search = instantiate(config.search)
    entries = dictionary(config.unknown_words)
    with settings():
        return TranslationModule(
            model=model,
            optimizer=optimizer,
            schedule=schedule,
            search=search,
            source_tokenizer=source_tokenizer,
            target_tokenizer=target_tokenizer,
            dictionary=entries if model.decoder.attention.looks_back else None,
            bleu_tokenize=bleu_tokenize,
            validation_sentences=config.validation_sentences,
            label_smoothing=config.label_smoothing,
            normalize=config.loss.normalize if "loss" in config else "tokens",  # checkpoints of before have no such key
            config=plain(config),
        )


def rehearse(config: DictConfig, joint: bool, bleu_tokenize: str) -> None:
    """Build all of it for a vocabulary of one word: what is wrong with a setting is said before any text is read.

    joint: whether both sides have one tokenizer.
    """
    rate = config.optimizer.lr
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < math.inf:
        key = "learning_rate" if OmegaConf.is_interpolation(config.optimizer, "lr") else "optimizer.lr"
        raise InputError(f"{key}={rate}: expected a number over 0, such as 0.004")
    word = pa.array(["word"])
    module = build_module(config, *WordTokenization(joint=joint).learn(lambda side: iter([word])), bleu_tokenize)
    with settings("optimizer"):
        optimizer = module.optimizer(module.parameters())
    with settings("scheduler"):
        module.schedule(optimizer, 1)


def plain(config: DictConfig) -> dict[str, Any]:
    """The config resolved, in plain containers: what checkpoints and trackers hold."""
    container = OmegaConf.to_container(config, resolve=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}
