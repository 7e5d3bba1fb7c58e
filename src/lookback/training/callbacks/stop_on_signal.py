"""The end of a training that a signal has asked to stop."""

import signal
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback

from lookback.common import signals
from lookback.data import Batch
from lookback.training.callbacks.checkpoints import LastCheckpoint, within_update


class StopOnSignal(Callback):
    """Ends a training after a signal, as soon as its last checkpoint is written.

    The checkpoint is written at the next moment from which a training is resumed exactly (see ``LastCheckpoint``):
    after the update that is being computed, or at once during a validation, which is then repeated. Two validations are
    finished first: one between the batches of an update, and the last one if the update before it has no checkpoint.

    If one rank of a distributed training gets a signal, all ranks stop after the same update. They agree after each
    update, on that and on whether ``LastCheckpoint`` is late.

    Lightning's own handlers are replaced. They end a training where it cannot be resumed exactly, and in a Slurm job
    they save a checkpoint that loses an update.
    """

    def __init__(self) -> None:
        self._stops = False

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        signals.install()  # Lightning has set its own by now
        if self._asked(trainer):
            self._end()  # nothing has changed since the last checkpoint

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if within_update(trainer):
            return
        last = last_checkpoint(trainer)
        asked, late = agreed(trainer, signals.received() is not None, last.is_late())
        self._stops |= asked
        last.due |= self._stops or late

    def on_train_batch_start(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        if not self._stops:
            return
        last = last_checkpoint(trainer)
        last.write_collected(trainer)
        if last.holds(trainer):
            self._end()

    def on_train_epoch_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if self._stops and last_checkpoint(trainer).holds(trainer):
            self._end()

    def on_validation_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if self._asked(trainer) and last_checkpoint(trainer).write_in_validation(trainer):
            self._end()

    def on_validation_batch_start(
        self,
        trainer: lightning.Trainer,
        module: lightning.LightningModule,
        batch: Batch,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        if trainer.world_size == 1:  # ranks may have unequal numbers of batches, so they cannot agree here
            self.on_validation_start(trainer, module)

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._asked(trainer)  # the next hook ends the training: other callbacks have yet to save this validation

    def _asked(self, trainer: lightning.Trainer) -> bool:
        """Whether the training is to stop; in a distributed training all ranks agree."""
        (asked,) = agreed(trainer, signals.received() is not None)
        self._stops |= asked
        return self._stops

    def _end(self) -> None:
        # a rank that got no signal itself stops with the others
        raise signals.Interrupted(signals.received() or signal.SIGTERM)


def agreed(trainer: lightning.Trainer, *flags: bool) -> list[bool]:
    """Of each flag, whether any rank has it. All ranks must ask at the same moment."""
    if trainer.world_size == 1:
        return list(flags)
    ranks = trainer.strategy.reduce(torch.tensor(flags, device=trainer.strategy.root_device).int(), reduce_op="sum")
    return [bool(count) for count in ranks]


def last_checkpoint(trainer: lightning.Trainer) -> LastCheckpoint:
    """The callback of a trainer that writes the last checkpoint; each training has one."""
    callbacks = trainer.callbacks  # type: ignore[attr-defined]
    return next(callback for callback in callbacks if isinstance(callback, LastCheckpoint))
