"""A validation at the end of a training, and the checkpoint from which a training is resumed."""

import time
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback, Checkpoint

from lookback.data import Batch


class LastValidation(Callback):
    """Makes a training end with a validation, even if none is due at its last update.

    The exception: a training that validates every n-th epoch (``trainer.check_val_every_n_epoch``) and ends in another
    epoch is not validated at its end.
    """

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if trainer.global_step >= trainer.estimated_stepping_batches:
            trainer.should_stop = True


class LastCheckpoint(Checkpoint):
    """Keeps one checkpoint from which a resumed training gives the same numbers as a training that never stopped.

    It is written, and the loggers save with it, after each validation, at the end of an epoch without a validation, and
    when ``minutes`` have passed since it was last written.

    Not written between the batches of one update, because a checkpoint has no place for their gradients. Not written
    where Lightning 2.6.6 resumes wrongly: before a validation, at an epoch's last batch, and, in a training with
    ``max_steps``, at the end of an epoch. It is then written at the next moment that is safe: after the validation, at
    the end of the epoch, or after the next update.

    Args:
        path: the file.
        minutes: how much training can be lost at most, in minutes.

    Raises:
        ValueError: if ``minutes`` is negative.
    """

    def __init__(self, path: Path | str, minutes: float) -> None:
        if minutes < 0:
            raise ValueError(f"minutes={minutes}: expected 0 or more")
        self.path = Path(path)
        self.minutes = minutes
        self._written = 0.0
        self._updates = -1
        self._due = False

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._written = time.monotonic()

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        self._due |= time.monotonic() - self._written >= 60 * self.minutes
        if self._due and not trainer.is_last_batch and not validation_follows(trainer):
            self._write(trainer)

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if not trainer.sanity_checking:
            self._write(trainer)

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if self._updates != trainer.global_step:
            self._due = True
            if trainer.max_steps == -1:
                self._write(trainer)

    def on_train_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if self._updates != trainer.global_step:
            self._write(trainer)

    def _write(self, trainer: lightning.Trainer) -> None:
        if (trainer.fit_loop.batch_idx + 1) % trainer.accumulate_grad_batches and not trainer.is_last_batch:
            self._due = True
            return
        trainer.save_checkpoint(self.path)
        for logger in trainer.loggers:
            logger.after_save_checkpoint(self)  # type: ignore[arg-type]  # the loggers here do not use it
        self._written = time.monotonic()
        self._updates = trainer.global_step
        self._due = False


def validation_follows(trainer: lightning.Trainer) -> bool:
    """Whether Lightning validates after the batch that has just ended."""
    every = trainer.check_val_every_n_epoch
    if not trainer.enable_validation or (every is not None and (trainer.current_epoch + 1) % every):
        return False
    batches = 1 + (trainer.fit_loop.total_batch_idx if every is None else trainer.fit_loop.batch_idx)
    between = trainer.val_check_batch
    return trainer.should_stop or (between is not None and batches % between == 0)
