"""A validation at the end of a training, and the checkpoint from which a training is resumed."""

import os
import time
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback, Checkpoint, EarlyStopping, ModelCheckpoint
from lightning.pytorch.callbacks.early_stopping import EarlyStoppingReason

from lookback.common.checks import FilePath, NonNegative, checked
from lookback.data import Batch
from lookback.runs.checkpoint import is_torn


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


@checked
class LastCheckpoint(Checkpoint):
    """Keeps one checkpoint from which a resumed training gives the same numbers as a training that never stopped.

    It is written after each validation, at the end of an epoch without a validation, before the last update, and when
    it is ``due``: ``minutes`` have passed since it was last written, or a signal has asked the training to stop.
    ``StopOnSignal`` looks for both, so that ranks agree on them at once. Loggers save before it is written, so that
    they hold all that was logged up to it.

    These are the moments from which Lightning 2.6.6 resumes exactly, and when it is due it is written at the next one:

    - after an update, if no validation follows and it was not the last of its epoch. What it holds is collected in
      ``on_train_batch_end`` and written before the next update, because Lightning logs the update in between;
    - during a validation: the resumed training repeats the whole validation. Except for the last one, which Lightning
      would not repeat: the checkpoint before the last update stands for it;
    - after a validation;
    - at the end of an epoch, but not in a training with ``max_steps``.

    Between the batches of one update there is none, because a checkpoint has no place for their gradients.

    Args:
        path: the file.
        minutes: how much training can be lost at most, in minutes.

    Raises:
        ValueError: if ``minutes`` is negative.

    Attributes:
        due: whether it is to be written at the next exact moment.
    """

    def __init__(self, path: FilePath, minutes: NonNegative) -> None:
        self.path = Path(path)
        self.minutes = minutes
        self.due = False
        self._written = 0.0
        self._updates = -1
        self._collected: dict[str, Any] | None = None
        """What is to be written before the next update."""

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._written = time.monotonic()
        if trainer.ckpt_path is not None and Path(trainer.ckpt_path).resolve() == self.path.resolve():
            self._updates = trainer.global_step
        # a checkpoint holds that early stopping has ended the training; Lightning's trainer forgets it
        stopping = [callback for callback in trainer.callbacks if isinstance(callback, EarlyStopping)]  # type: ignore[attr-defined]
        if any(callback.stopping_reason != EarlyStoppingReason.NOT_STOPPED for callback in stopping):
            trainer.should_stop = True

    def on_load_checkpoint(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        for callback in trainer.checkpoint_callbacks:
            if isinstance(callback, ModelCheckpoint) and callback.state_key in checkpoint["callbacks"]:
                state = checkpoint["callbacks"][callback.state_key]
                checkpoint["callbacks"][callback.state_key] = moved_state(state, callback)

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        self.due |= trainer.global_step == trainer.estimated_stepping_batches - 1
        if self.due and not (within_update(trainer) or trainer.is_last_batch or validation_follows(trainer)):
            self._collected = trainer._checkpoint_connector.dump_checkpoint()

    def on_train_batch_start(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        self.write_collected(trainer)

    def on_validation_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        # Lightning counts the first batch of a repeated validation twice. A checkpoint that is written after it would
        # say that the validation is not over, and it would be repeated once more.
        count: Any = trainer.fit_loop.epoch_loop.val_loop.batch_progress.total
        count.ready = count.started = count.processed = count.completed
        if self.due:
            self.write_in_validation(trainer)

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if trainer.sanity_checking:
            return
        if within_update(trainer):
            self.due = True
        else:
            self._write(trainer, trainer._checkpoint_connector.dump_checkpoint())

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if not self.holds(trainer):
            self.due = True
            if trainer.max_steps == -1:
                self._write(trainer, trainer._checkpoint_connector.dump_checkpoint())

    def on_train_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if not self.holds(trainer):
            self._write(trainer, trainer._checkpoint_connector.dump_checkpoint())

    def on_save_checkpoint(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        save_loggers(trainer)  # for the best checkpoint, too

    def is_late(self) -> bool:
        """Whether ``minutes`` have passed on the clock of this rank."""
        return time.monotonic() - self._written >= 60 * self.minutes

    def holds(self, trainer: lightning.Trainer) -> bool:
        """Whether the file holds the training as it is now."""
        return self._updates == trainer.global_step

    def write_collected(self, trainer: lightning.Trainer) -> None:
        """Writes what was collected after the last update, if anything was."""
        if self._collected is not None:
            save_loggers(trainer)  # the update has been logged since
            self._write(trainer, self._collected)

    def write_in_validation(self, trainer: lightning.Trainer) -> bool:
        """Writes a checkpoint from which the validation is repeated, and returns whether there is one now."""
        if self.holds(trainer):
            return True
        if trainer.should_stop or trainer.sanity_checking:
            return self._updates == trainer.global_step - 1
        if within_update(trainer):
            return False
        checkpoint = trainer._checkpoint_connector.dump_checkpoint()
        # Lightning repeats a validation if it finds one that has begun: one batch is started, none is processed
        progress = checkpoint["loops"]["fit_loop"]["epoch_loop.val_loop.batch_progress"]
        done = progress["total"]["completed"]
        progress["total"] = {"ready": done + 1, "started": done + 1, "processed": done, "completed": done}
        progress["current"] = {"ready": 1, "started": 1, "processed": 0, "completed": 0}
        progress["is_last_batch"] = False
        self._write(trainer, checkpoint)
        return True

    def _write(self, trainer: lightning.Trainer, checkpoint: dict[str, Any]) -> None:
        trainer.strategy.save_checkpoint(checkpoint, self.path)
        trainer.strategy.barrier("LastCheckpoint")
        for logger in trainer.loggers:
            logger.after_save_checkpoint(self)  # type: ignore[arg-type]  # the loggers here do not use it
        self._written = time.monotonic()
        self._updates = trainer.global_step
        self._collected = None
        self.due = False


def save_loggers(trainer: lightning.Trainer) -> None:
    """Puts on the disk what has been logged, so that metrics.csv never trails a checkpoint."""
    for logger in trainer.loggers:
        logger.save()


def within_update(trainer: lightning.Trainer) -> bool:
    """Whether more batches follow before the weights are updated (``trainer.accumulate_grad_batches``)."""
    return bool((trainer.fit_loop.batch_idx + 1) % trainer.accumulate_grad_batches) and not trainer.is_last_batch


def moved_state(state: dict[str, Any], callback: ModelCheckpoint) -> dict[str, Any]:
    """The state of a ``ModelCheckpoint`` after its run directory was moved or copied.

    Lightning would drop the best score if the folder has another name, and a worse checkpoint would take the best
    one's place. A checkpoint that is missing or torn there is said and dropped: the next validation takes its place.

    Args:
        state: from a checkpoint of the run.
        callback: which is to have that state. It knows where the folder is now.
    """

    def moved(path: str) -> str:
        # only its name: Lightning removes the checkpoint that is no longer the best, and a path may lead elsewhere
        return os.path.join(callback.dirpath or "", os.path.basename(path)) if path else ""

    scores = {moved(path): score for path, score in state["best_k_models"].items()}
    for path in [path for path in scores if not os.path.isfile(path) or is_torn(path)]:
        why = "torn" if os.path.isfile(path) else "missing"
        print(f"note: {path}: {why}; the best validation from here on takes its place", flush=True)
        del scores[path]
    best = (min if callback.mode == "min" else max)(scores, key=lambda path: float(scores[path]), default="")
    worst = moved(state["kth_best_model_path"])
    return {
        **state,
        "dirpath": callback.dirpath,
        "best_k_models": scores,
        "best_model_path": best,
        "best_model_score": scores.get(best),
        "kth_best_model_path": worst if worst in scores else "",
        "last_model_path": moved(state["last_model_path"]),
    }


def validation_follows(trainer: lightning.Trainer) -> bool:
    """Whether Lightning validates after the batch that has just ended."""
    every = trainer.check_val_every_n_epoch
    if not trainer.enable_validation or (every is not None and (trainer.current_epoch + 1) % every):
        return False
    batches = 1 + (trainer.fit_loop.total_batch_idx if every is None else trainer.fit_loop.batch_idx)
    between = trainer.val_check_batch
    return trainer.should_stop or (between is not None and batches % between == 0)
