"""What a training costs: time, memory, and what it got for them."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback

from lookback.data import Batch
from lookback.runs.schema import Cost as CostRecord
from lookback.training.callbacks import peak_memory
from lookback.training.module import is_logged


class Cost(Callback):
    """Counts what a training costs: updates, target tokens with end marks, seconds of training steps, peak memory.

    Validation is not in the seconds. Of them, what passes from the end of a batch to the start of the next is waiting:
    reading it, moving it to the device, and whatever other callbacks do there. The counts go on where a resumed run
    left off. Tokens and seconds are logged beside losses and validations, as ``cost/…``: axes of learning curves.
    Nothing here waits for a GPU: the step itself says how many tokens it had.
    """

    def __init__(self) -> None:
        self.updates = 0
        self.target_tokens = 0
        self.seconds = 0.0
        self.waiting = 0.0
        self._since: float | None = None
        self._earlier_peak = 0
        """Bytes, of the processes in front of a resumed one"""

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
        self.target_tokens += outputs["tokens"]
        self._lap()
        if is_logged(trainer):
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
                # a tensor on the host: Lightning would put a number on the device, and wait until it is there
                counted = torch.tensor(float(value))
                module.log(f"cost/{name}", counted, on_step=not on_epoch, on_epoch=on_epoch, batch_size=1)

    def _lap(self) -> None:
        now = time.perf_counter()
        if self._since is not None:
            self.seconds += now - self._since
        self._since = now

    def peak(self) -> int:
        """The most memory held at a time, in bytes: of this process, or of one that the training was resumed from."""
        return max(self._earlier_peak, peak_memory.peak())

    def rates(self) -> dict[str, float | None]:
        """Target tokens a second, the most memory held at a time, and the share of the seconds that was waiting."""
        return {
            "tokens_per_second": round(self.target_tokens / self.seconds, 1) if self.seconds else 0.0,
            "peak_memory_mb": round(self.peak() / 1e6, 1),
            "waiting": round(self.waiting / self.seconds, 4) if self.seconds else None,
        }

    def summary(self, model: torch.nn.Module) -> CostRecord:
        """``cost`` of results.json."""
        rates = self.rates()
        return {
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "updates": self.updates,
            "target_tokens": self.target_tokens,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": rates["tokens_per_second"],
            "peak_memory_mb": rates["peak_memory_mb"],
            "waiting": rates["waiting"],
        }

    def state_dict(self) -> dict[str, Any]:
        return {
            "updates": self.updates,
            "target_tokens": self.target_tokens,
            "seconds": self.seconds,
            "waiting": self.waiting,
            "peak": self.peak(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.updates = state_dict["updates"]
        self.target_tokens = state_dict["target_tokens"]
        self.seconds = state_dict["seconds"]
        self.waiting = state_dict["waiting"]
        self._earlier_peak = state_dict.get("peak", 0)  # not in those of earlier versions


def spelt(rates: Mapping[str, float | None]) -> dict[str, str]:
    """``Cost.rates``, or all that results.json has of them, as people read them: by name."""
    waiting = rates["waiting"]
    return {
        "tokens/s": f"{rates['tokens_per_second']:,.0f}",
        "waiting": "–" if waiting is None else f"{waiting:.1%}",
        "peak": f"{rates['peak_memory_mb']:,.0f} MB",
    }


def line(rates: Mapping[str, Any]) -> str:
    """The same in a line."""
    return "  ".join(f"{name} {value}" for name, value in spelt(rates).items())
