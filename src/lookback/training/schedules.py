"""Learning-rate schedules. Each function returns what Lightning's ``configure_optimizers`` calls ``lr_scheduler``.

An update is a step of the optimizer. All schedules but ``plateau`` multiply the optimizer's learning rate by a factor
that depends on the number of the update. All raise ``ValueError`` for an argument that is not allowed.
"""

import math
import sys
from typing import Annotated, Any, Literal

from annotated_types import Interval
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

from lookback.common.checks import Count, PartialShare, Size, checked

Monitored = Literal["validation/perplexity", "validation/loss", "validation/bleu"]
"""What each validation logs."""
Mode = Literal["min", "max"]
BETTER: dict[Monitored, Mode] = {"validation/perplexity": "min", "validation/loss": "min", "validation/bleu": "max"}


@checked
def constant(optimizer: Optimizer, total_updates: int, warmup_updates: Count = 0) -> dict[str, Any]:
    """A linear warm-up, then the optimizer's learning rate unchanged."""
    return _each_update(optimizer, lambda update: _warmup(update, warmup_updates))


@checked
def inverse_sqrt(optimizer: Optimizer, total_updates: int, warmup_updates: Size = 1000) -> dict[str, Any]:
    """A linear warm-up, then √(warmup / update) (Vaswani et al. 2017, § 5.3; here its peak is the learning rate)."""

    def factor(update: int) -> float:
        return min(_warmup(update, warmup_updates), math.sqrt(warmup_updates / max(update, 1)))

    return _each_update(optimizer, factor)


@checked
def cosine(optimizer: Optimizer, total_updates: int, warmup_updates: Count = 50) -> dict[str, Any]:
    """A linear warm-up, then half a cosine from the full rate to 0 at the end (Loshchilov and Hutter 2017, eq. 5).

    The warm-up takes at most a tenth of the training.
    """
    warmup_updates = min(warmup_updates, total_updates // 10)

    def factor(update: int) -> float:
        falling = max(update - warmup_updates, 0) / max(total_updates - warmup_updates, 1)
        return _warmup(update, warmup_updates) * 0.5 * (1 + math.cos(math.pi * min(falling, 1.0)))

    return _each_update(optimizer, factor)


@checked
def luong(
    optimizer: Optimizer,
    total_updates: int,
    warmup_updates: Count = 0,
    start: PartialShare = 2 / 3,
    halvings: Count = 4,
) -> dict[str, Any]:
    """Constant for the share ``start`` of all updates, then halved ``halvings`` times at even intervals.

    The defaults are those of Luong et al. 2015, § 4.1: they train 8 of 12 epochs at one rate and then halve it after
    every epoch.
    """
    first = start * total_updates
    between = max((total_updates - first) / halvings, 1.0) if halvings else math.inf

    def factor(update: int) -> float:
        halved = 0 if update < first else min(halvings, 1 + int((update - first) / between))
        return _warmup(update, warmup_updates) * 0.5**halved

    return _each_update(optimizer, factor)


@checked
def plateau(
    optimizer: Optimizer,
    total_updates: int,
    monitor: Monitored = "validation/perplexity",
    mode: Mode = "min",
    factor: Annotated[float, Interval(gt=0, lt=1)] = 0.5,
    patience: Count = 1,
) -> dict[str, Any]:
    """Multiplies the rate by ``factor`` if ``monitor`` has not improved for more than ``patience`` validations."""
    if mode != BETTER[monitor]:
        raise ValueError(f"mode={mode}: expected {BETTER[monitor]} for {monitor}")
    scheduler = ReduceLROnPlateau(optimizer, mode=mode, factor=factor, patience=patience)
    # The module steps it after each validation, because an epoch may have none or several. Lightning would step it at
    # the end of each epoch, and warn where an epoch has no validation. This frequency keeps Lightning from doing so.
    return {"scheduler": scheduler, "interval": "epoch", "frequency": sys.maxsize, "monitor": monitor}


def _warmup(update: int, warmup_updates: int) -> float:
    return min(1.0, (update + 1) / warmup_updates) if warmup_updates else 1.0


def _each_update(optimizer: Optimizer, factor: Any) -> dict[str, Any]:
    return {"scheduler": LambdaLR(optimizer, factor), "interval": "step"}
