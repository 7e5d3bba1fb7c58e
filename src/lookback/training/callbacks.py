"""What watches a training: its cost, its progress in plain lines, and the alignments as they form."""

import math
import sys
import time
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback

from lookback.data import Batch
from lookback.evaluation import atomic_write
from lookback.evaluation.length_curve import BOUNDS
from lookback.search import force
from lookback.symbols import PAD
from lookback.training import peak_memory
from lookback.training.module import TranslationModule, data_of


class Cost(Callback):
    """Counts what a training costs: updates, target tokens with end marks, seconds of training steps, peak memory.

    Validation is not in the seconds. The counts go on where a resumed run left off.
    """

    def __init__(self) -> None:
        self.updates = 0
        self.target_tokens = 0
        self.seconds = 0.0
        self._since: float | None = None

    def on_fit_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        peak_memory.reset()

    def on_train_epoch_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._since = time.perf_counter()

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        self.updates = trainer.global_step
        self.target_tokens += int((batch.outputs != PAD).sum())
        self._lap()

    def on_validation_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._since = None

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._since = time.perf_counter()

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._since = None

    def _lap(self) -> None:
        now = time.perf_counter()
        if self._since is not None:
            self.seconds += now - self._since
        self._since = now

    def summary(self, model: torch.nn.Module) -> dict[str, float | int]:
        """``cost`` of results.json."""
        return {
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "updates": self.updates,
            "target_tokens": self.target_tokens,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": round(self.target_tokens / self.seconds, 1) if self.seconds else 0.0,
            "peak_memory_mb": round(peak_memory.peak() / 1e6, 1),
        }

    def state_dict(self) -> dict[str, Any]:
        return {"updates": self.updates, "target_tokens": self.target_tokens, "seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.updates = state_dict["updates"]
        self.target_tokens = state_dict["target_tokens"]
        self.seconds = state_dict["seconds"]


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


class AlignmentSnapshots(Callback):
    """Where the model looks when it is made to write the reference, for a fixed sample of the test set, epoch by epoch.

    The sample is stratified: the first ``per_bucket`` sentences of each length bucket, in the test set's order. Written
    to ``path`` (test/alignments.npz) after each validation:

        ids, source, target     (sentences,) row in the test set; the model's own tokens, unknown words as <unk>
        epochs                  (epochs,) epochs of training behind each snapshot
        offsets, rows, columns  (sentences,) sentence i is weights[e, offsets[i]:][: rows[i] · columns[i]], row-major
        weights                 (epochs, cells) float16: a row a target token, a column a source token, end marks last
    """

    def __init__(self, path: Path | str, per_bucket: int = 3) -> None:
        if per_bucket < 1:
            raise ValueError(f"per_bucket={per_bucket}: expected 1 or more")
        self.path = Path(path)
        self.per_bucket = per_bucket
        self.epochs: list[int] = []
        self.weights: list[torch.Tensor] = []

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        if trainer.sanity_checking:
            return
        assert isinstance(module, TranslationModule)
        data = data_of(trainer)
        texts = data.texts("test")
        ids = stratified_sample([len(text.split()) for text in texts["source"]], self.per_bucket)
        batch = data.test_dataloader().dataset[np.array(ids)].to(module.device)
        found = force(module.model, batch.source, batch.source_length, batch.target)
        self.epochs.append(trainer.current_epoch + 1)
        self.weights.append(torch.cat([best.alignment.flatten() for best in found]).to(torch.float16))
        shapes = np.array([best.alignment.shape for best in found])
        sources = [row[: columns - 1] for row, columns in zip(batch.source.tolist(), shapes[:, 1], strict=True)]
        cells = shapes.prod(axis=1)
        with atomic_write(self.path) as file:
            np.savez_compressed(
                file,
                ids=np.array(ids),
                source=np.array([module.source_tokenizer.decode(words) for words in sources]),
                target=np.array([module.target_tokenizer.decode(best.tokens) for best in found]),
                epochs=np.array(self.epochs),
                offsets=np.cumsum(cells) - cells,
                rows=shapes[:, 0],
                columns=shapes[:, 1],
                weights=torch.stack(self.weights).numpy(),
            )

    def state_dict(self) -> dict[str, Any]:
        return {"epochs": self.epochs, "weights": self.weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.epochs = state_dict["epochs"]
        self.weights = state_dict["weights"]


def stratified_sample(lengths: list[int], per_bucket: int) -> list[int]:
    """Rows of the first ``per_bucket`` sentences in each length bucket, shortest bucket first."""
    buckets = np.searchsorted(np.array(BOUNDS), np.array(lengths), side="left")
    return [int(row) for bucket in np.unique(buckets) for row in np.flatnonzero(buckets == bucket)[:per_bucket]]


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"


def _say(line: str) -> None:
    print(line, flush=True)
