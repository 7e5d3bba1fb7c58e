"""What watches a training: its cost, its progress in plain lines, and where it can be taken up again."""

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback, Checkpoint

from lookback.data import Batch
from lookback.symbols import PAD
from lookback.training import peak_memory
from lookback.training.module import data_of


class Cost(Callback):
    """Counts what a training costs: updates, target tokens with end marks, seconds of training steps, peak memory.

    Validation is not in the seconds. Of them, what passes from the end of a batch to the start of the next is waiting:
    reading it, moving it to the device, and whatever other callbacks do there. The counts go on where a resumed run
    left off. Tokens and seconds are logged beside losses and validations, as ``cost/…``: axes of learning curves.
    """

    def __init__(self) -> None:
        self.updates = 0
        self.target_tokens = 0
        self.seconds = 0.0
        self.waiting = 0.0
        self._since: float | None = None

    def on_fit_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        peak_memory.reset()

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        # an epoch that is taken up in its middle does not start
        self._since = time.perf_counter()

    def on_train_epoch_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._since = time.perf_counter()

    def on_train_batch_start(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        if self._since is not None:
            self.waiting += time.perf_counter() - self._since

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        self.updates = trainer.global_step
        self.target_tokens += int((batch.outputs != PAD).sum())
        self._lap()
        self._log(module, on_epoch=False)

    def on_validation_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._since = None

    def on_validation_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._log(module, on_epoch=True)

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._since = time.perf_counter()

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._since = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What happens inside is no training: neither its seconds nor waiting."""
        self._lap()
        yield
        self._since = time.perf_counter()

    def _log(self, module: lightning.LightningModule, on_epoch: bool) -> None:
        if self.updates:
            for name, value in (("target_tokens", self.target_tokens), ("seconds", self.seconds)):
                module.log(f"cost/{name}", float(value), on_step=not on_epoch, on_epoch=on_epoch, batch_size=1)

    def _lap(self) -> None:
        now = time.perf_counter()
        if self._since is not None:
            self.seconds += now - self._since
        self._since = now

    def summary(self, model: torch.nn.Module) -> dict[str, float | int | None]:
        """``cost`` of results.json."""
        return {
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "updates": self.updates,
            "target_tokens": self.target_tokens,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": round(self.target_tokens / self.seconds, 1) if self.seconds else 0.0,
            "peak_memory_mb": round(peak_memory.peak() / 1e6, 1),
            "waiting": round(self.waiting / self.seconds, 4) if self.seconds else None,
        }

    def state_dict(self) -> dict[str, Any]:
        return {
            "updates": self.updates,
            "target_tokens": self.target_tokens,
            "seconds": self.seconds,
            "waiting": self.waiting,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.updates = state_dict["updates"]
        self.target_tokens = state_dict["target_tokens"]
        self.seconds = state_dict["seconds"]
        self.waiting = state_dict["waiting"]


class LastValidation(Callback):
    """Lets a training that ``max_steps`` ends inside an epoch end with a validation, as any other does."""

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        if 0 <= trainer.max_steps <= trainer.global_step:
            trainer.should_stop = True


class LastCheckpoint(Checkpoint):
    """Keeps one file from which a training goes on to the same numbers as one that never stopped.

    Written after each validation, at the end of an epoch without one, and ``minutes`` after it was last written, with
    what was logged. Never between the batches of one update: a checkpoint has no place for their gradients. And never
    where Lightning 2.6.6 would not take it up as it was left: in front of a validation, at the last batch of an epoch,
    and at the end of an epoch of a training that ``max_steps`` ends. There the next update's end is the place.
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
            logger.after_save_checkpoint(self)  # type: ignore[arg-type]  # the loggers here ask nothing of it
        self._written = time.monotonic()
        self._updates = trainer.global_step
        self._due = False


def validation_follows(trainer: lightning.Trainer) -> bool:
    """Whether Lightning validates behind the batch that ends."""
    every = trainer.check_val_every_n_epoch
    if not trainer.enable_validation or (every is not None and (trainer.current_epoch + 1) % every):
        return False
    batches = 1 + (trainer.fit_loop.total_batch_idx if every is None else trainer.fit_loop.batch_idx)
    between = trainer.val_check_batch
    return trainer.should_stop or (between is not None and batches % between == 0)


class PlainProgress(Callback):
    """Progress in plain lines, for logs and pipes: one every ``every_seconds`` and one a validation."""

    def __init__(self, every_seconds: float = 15.0) -> None:
        self.every_seconds = every_seconds
        self._started = 0.0
        self._first_update = 0
        self._last_line = 0.0

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._started = self._last_line = time.perf_counter()
        self._first_update = trainer.global_step
        _say(f"training: {int(trainer.estimated_stepping_batches):,} updates")

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        now = time.perf_counter()
        if now - self._last_line < self.every_seconds:
            return
        self._last_line = now
        total = int(trainer.estimated_stepping_batches)
        done = trainer.global_step - self._first_update
        left = (total - trainer.global_step) * (now - self._started) / max(done, 1)
        loss = trainer.callback_metrics.get("train/loss", math.nan)
        _say(
            f"epoch {trainer.current_epoch + 1}  update {trainer.global_step:,}/{total:,}  "
            f"train loss {float(loss):.3f}  {_minutes(left)} left"
        )

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if trainer.sanity_checking:
            return
        metrics = trainer.callback_metrics
        _say(
            f"epoch {trainer.current_epoch + 1}  update {trainer.global_step:,}  validation: "
            f"perplexity {float(metrics['validation/perplexity']):.3f}  BLEU {float(metrics['validation/bleu']):.2f}"
        )

    def on_test_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        _say(f"translating the test set: {len(data_of(trainer).texts('test')):,} sentences")
        self._last_line = time.perf_counter()

    def on_test_batch_end(
        self,
        trainer: lightning.Trainer,
        module: lightning.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        now = time.perf_counter()
        if now - self._last_line >= self.every_seconds:
            self._last_line = now
            _say(f"batch {batch_idx + 1:,} of {trainer.num_test_batches[0]:,} translated")

    def on_test_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        _say("scoring")


def in_terminal() -> bool:
    """Whether a person watches: then a rich progress bar; plain lines elsewhere."""
    return sys.stdout.isatty()


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"


def _say(line: str) -> None:
    print(line, flush=True)
