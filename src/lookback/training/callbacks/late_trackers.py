"""Trackers that begin after the first batch, so that it does not wait for them."""

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers.logger import Logger

from lookback.data import Batch
from lookback.tracking.tolerance import TolerantLogger
from lookback.training.callbacks.cost import Cost


class _Waiting(Logger):
    """Keeps what is logged before trackers begin."""

    name, version = "waiting", ""

    def __init__(self) -> None:
        super().__init__()
        self.logged: list[tuple[dict[str, float], int | None]] = []

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.logged.append((dict(metrics), step))

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *_: Any, **__: Any) -> None:
        """Does nothing: trackers get them when they begin."""


class LateTrackers(Callback):
    """Gives a trainer its trackers when the first batch is trained.

    W&B takes two to three seconds to begin. They are no part of ``cost``. What callbacks log before is logged then.

    Args:
        trackers: loggers that have not begun. Rank 0 alone has some.
        config: what they log of the settings.
        cost: the callback whose clock stops meanwhile.

    Attributes:
        waiting: stands for them among the trainer's loggers, until they begin.
    """

    def __init__(self, trackers: Sequence[TolerantLogger], config: dict[str, Any], cost: Cost) -> None:
        self.waiting = _Waiting()
        self._trackers = trackers
        self._config = config
        self._cost = cost
        self._begun = False

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if not self._begun:
            with self._cost.paused():
                self._join(trainer)

    def on_validation_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._join(trainer)  # a resumed training may begin with a validation

    def on_train_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._join(trainer)  # it may also have nothing left but its end

    def _join(self, trainer: lightning.Trainer) -> None:
        if not self._begun:
            self._begin()
            trainer.loggers = [*(logger for logger in trainer.loggers if logger is not self.waiting), *self._trackers]

    def end(self, status: str) -> None:
        """Ends what is tracked of a training that was over before its first batch was. Else Lightning has ended it.

        Args:
            status: ``success`` or ``failed``, as Lightning says it to loggers.
        """
        if not self._begun:
            self._begin()
            for tracker in self._trackers:
                tracker.finalize(status)

    def _begin(self) -> None:
        self._begun = True
        for tracker in self._trackers:
            tracker.log_hyperparams(self._config)
            for metrics, step in self.waiting.logged:
                tracker.log_metrics(metrics, step)
            tracker.save()  # as Lightning does for loggers that are there from the beginning
