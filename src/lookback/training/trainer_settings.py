"""Arguments of Lightning's ``Trainer`` that depend on the data: when to validate, and what ends the training."""

import math
from typing import Any

from omegaconf import DictConfig

from lookback.common.errors import InputError
from lookback.data import TranslationData
from lookback.data.batches.loading import BatchLoader

VALIDATIONS = 10
"""How often a training is validated if its config does not say."""


def stream_settings(config: DictConfig) -> dict[str, Any]:
    """The arguments for a stream, whose length is not known: ``max_steps`` ends it, and validations count batches.

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
    """The arguments that say when to validate: ten times a training, unless the config says it."""
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
