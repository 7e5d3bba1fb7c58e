"""Trackers that begin after the first batch, so that it does not wait for them."""

from collections.abc import Sequence
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from lookback.data import Batch
from lookback.tracking.tolerance import TolerantLogger
from lookback.training.callbacks.cost import Cost


class LateTrackers(Callback):
    """Gives a trainer its trackers when the first batch is trained, before anything is logged.

    W&B takes two to three seconds to begin. They are no part of ``cost``.

    Args:
        trackers: loggers that have not begun. Rank 0 alone has some.
        config: what they log of the settings.
        cost: the callback whose clock stops meanwhile.
    """

    def __init__(self, trackers: Sequence[TolerantLogger], config: dict[str, Any], cost: Cost) -> None:
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
            self.begin()
            trainer.loggers = [*trainer.loggers, *self._trackers]

    def begin(self) -> None:
        """Begins what is tracked, once. A training that fails before its first batch is over is tracked, too."""
        if not self._begun:
            self._begun = True
            for tracker in self._trackers:
                tracker.log_hyperparams(self._config)
                tracker.save()  # as Lightning does for loggers that are there from the beginning
