"""Builds what a config names. Every key is an explicit constructor argument, so a misspelt key is an error.

Some arguments of Lightning's ``Trainer`` depend on the data: when to validate, and what ends the training.
"""

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

import pyarrow as pa
from lightning import Callback
from omegaconf import DictConfig, OmegaConf

from lookback.common.configs import build, without_environment
from lookback.common.errors import InputError, config_errors
from lookback.data import Corpus, Tokenization, Tokenizer, TranslationData, WordTokenization
from lookback.data.batches.loading import BatchLoader
from lookback.nn import Seq2Seq
from lookback.search import Search
from lookback.training.module import TranslationModule
from lookback.training.settings import check_accelerator
from lookback.translation.build import build_model
from lookback.translation.sizes import sizes_for
from lookback.translation.writing import read_dictionary

VALIDATIONS = 10
"""How often a training is validated if its config does not say."""


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
            scheduled_sampling=config.get("scheduled_sampling", 0.0),
            coverage=config.loss.get("coverage", 0.0) if "loss" in config else 0.0,
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


def choose_sizes(config: DictConfig, data: TranslationData) -> None:
    """Gives the config the sizes that ``parameters`` asks for, if it asks, once the vocabularies are known.

    Raises:
        InputError: if no sizes give that many.
    """
    if config.get("parameters") is None:
        return
    source, target = data.source_tokenizer, data.target_tokenizer
    sizes = sizes_for(config, config.parameters, len(source), len(target), source is target)
    for key, size in sizes.items():
        OmegaConf.update(config, key, size)


def keep_sizes(config: DictConfig, settled: Mapping[str, Any]) -> None:
    """Gives the config the sizes that ``parameters`` has given another of the same training."""
    if config.get("parameters") is None or settled.get("parameters") != config.parameters:
        return
    for side, key in product(("encoder", "decoder"), ("hidden_size", "feed_forward_size")):
        if key in settled[side] and key in config[side]:
            config[side][key] = settled[side][key]


def plain_config(config: DictConfig) -> dict[str, Any]:
    """The resolved config in plain containers, as checkpoints and trackers hold it.

    Others may read these, so what comes from an environment variable is kept as it was written, such as
    ``${oc.env:TOKEN}``. A number or a switch is no secret, and a trained model needs its sizes.
    """
    container = without_environment(config)
    return {str(key): value for key, value in container.items()}


def stream_settings(config: DictConfig) -> dict[str, Any]:
    """The trainer's arguments for a stream, of unknown length: ``max_steps`` ends it, and validations count batches.

    Raises:
        InputError: if the config sets no ``max_steps``, or an interval that is a share of an epoch.
    """
    settings = config.trainer
    if settings.max_steps < 1:
        raise InputError(
            f"trainer.max_steps={settings.max_steps}: expected 1 or more, as nobody knows how long a stream is"
        )
    interval = settings.val_check_interval
    if interval is None:
        interval = max(1, settings.max_steps * settings.accumulate_grad_batches // VALIDATIONS)
    if not isinstance(interval, int) or interval < 1:
        raise InputError(
            f"trainer.val_check_interval={interval}: expected a number of batches, as the data is a stream"
        )
    return {"max_epochs": -1, "check_val_every_n_epoch": None, "val_check_interval": interval}


def validation_settings(config: DictConfig, data: TranslationData) -> dict[str, Any]:
    """The trainer's arguments that say when to validate: ten times a training, unless the config says it."""
    settings = config.trainer
    if settings.check_val_every_n_epoch is not None:
        return {}
    if settings.val_check_interval is not None:
        # a float is a share of an epoch, and for Lightning it needs a number of epochs beside it
        return {"check_val_every_n_epoch": 1} if isinstance(settings.val_check_interval, float) else {}
    loader, limit = data.train_dataloader(), settings.limit_train_batches
    assert isinstance(loader, BatchLoader)  # everything but a stream has one
    batches = len(loader)
    limit = 1.0 if limit is None else limit
    batches_per_epoch = min(batches, limit) if isinstance(limit, int) else int(batches * limit)
    epochs = math.inf if settings.max_epochs == -1 else settings.max_epochs
    max_batches = math.inf if settings.max_steps == -1 else settings.max_steps * settings.accumulate_grad_batches
    total = min(epochs * batches_per_epoch, max_batches)
    # without an end there is no tenth; the module refuses such a training with a message of its own
    return {} if math.isinf(total) else {"val_check_interval": max(1, round(total / VALIDATIONS))}
