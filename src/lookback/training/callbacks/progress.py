"""Progress of a training or a test: a bar in a terminal, plain lines in logs and pipes."""

import sys
import time
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback, RichProgressBar

from lookback.data import Batch
from lookback.data.progress import LINE_EVERY
from lookback.training.callbacks.cost import Cost, rates_line, rates_text
from lookback.training.module import data_of


def training_progress(cost: Cost) -> Callback:
    """The callback that shows the progress of a training, and its cost so far."""
    return TrainingBar(cost) if in_terminal() else TrainingLines(cost)


def translation_progress() -> Callback:
    """The callback that shows how much of a test set is translated."""
    return RichProgressBar() if in_terminal() else TranslationLines()


def in_terminal() -> bool:
    """Whether standard output is a terminal. Then progress is a bar, else plain lines."""
    return sys.stdout.isatty()


class TrainingBar(RichProgressBar):
    """Lightning's progress bar, with the last validation and the cost of the training."""

    def __init__(self, cost: Cost) -> None:
        super().__init__()
        self.cost = cost

    def get_metrics(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> dict[str, Any]:
        metrics = super().get_metrics(trainer, module)
        metrics.pop("v_num", None)  # the version of the first logger
        return {**metrics, **rates_text(self.cost.rates())}


class TrainingLines(Callback):
    """Prints a line every ``every_seconds``, with the mean loss of a token since the last line, and at validations.

    Args:
        cost: of the training.
        every_seconds: the least time between two lines.
    """

    def __init__(self, cost: Cost, every_seconds: float = LINE_EVERY) -> None:
        self.cost = cost
        self.every_seconds = every_seconds
        self._started = 0.0
        self._first_update = 0
        self._last_line = 0.0
        self._nats: Any = 0.0  # from the first batch on a tensor on the device
        self._tokens = 0

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._started = self._last_line = time.perf_counter()
        self._first_update = trainer.global_step
        _print_line(f"training: {int(trainer.estimated_stepping_batches):,} updates")

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        now = time.perf_counter()
        self._nats = self._nats + outputs["nll"].detach()
        self._tokens += outputs["tokens"]
        if now - self._last_line < self.every_seconds:
            return
        self._last_line = now
        # of this rank's sentences; a rank beside rank 0 may have had none
        loss, self._nats, self._tokens = float(self._nats) / max(self._tokens, 1), 0.0, 0
        total = int(trainer.estimated_stepping_batches)
        done = trainer.global_step - self._first_update
        left = (total - trainer.global_step) * (now - self._started) / max(done, 1)
        _print_line(
            f"epoch {trainer.current_epoch + 1}  update {trainer.global_step:,}/{total:,}  "
            f"train loss {loss:.3f}  {rates_line(self.cost.rates())}  {_minutes(left)} left"
        )

    def on_validation_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if not trainer.sanity_checking:
            _print_line(f"validating: {len(data_of(trainer).texts('validation')):,} sentences")

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if trainer.sanity_checking:
            return
        metrics = trainer.callback_metrics
        _print_line(
            f"epoch {trainer.current_epoch + 1}  update {trainer.global_step:,}  validation: "
            f"perplexity {float(metrics['validation/perplexity']):.3f}  BLEU {float(metrics['validation/bleu']):.2f}"
        )


class TranslationLines(Callback):
    """Prints a line every ``every_seconds``.

    Args:
        every_seconds: the least time between two lines.
    """

    def __init__(self, every_seconds: float = LINE_EVERY) -> None:
        self.every_seconds = every_seconds
        self._last_line = 0.0

    def on_test_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        _print_line(f"translating the test set: {len(data_of(trainer).texts('test')):,} sentences")
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
            _print_line(f"batch {batch_idx + 1:,} of {trainer.num_test_batches[0]:,} translated")

    def on_test_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        _print_line("scoring")


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"


def _print_line(text: str) -> None:
    print(text, flush=True)
