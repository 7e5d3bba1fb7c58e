"""A validation at the end of a training, and the checkpoint from which a training is resumed."""

import os
import time
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback, Checkpoint, EarlyStopping, ModelCheckpoint
from lightning.pytorch.callbacks.early_stopping import EarlyStoppingReason

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
