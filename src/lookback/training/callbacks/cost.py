"""What a training costs: updates, tokens, time and memory."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback

from lookback.data import Batch
from lookback.nn import Seq2Seq, flops_per_token
from lookback.runs.schema import Cost as CostRecord
from lookback.training.callbacks import peak_memory
from lookback.training.module import is_logged


class Cost(Callback):
    """Counts what a training costs: updates, target tokens with end marks, seconds of training, and peak memory.

    The seconds do not include validation. The part of them between the end of a batch and the start of the next one is
    ``waiting``: reading a batch, moving it to the device, and the work of other callbacks. A resumed run continues the
    counts. Of several ranks, tokens and memory are the sums, and seconds are those of rank 0's clock.

    Tokens and seconds are logged as ``cost/…`` together with losses and validations, as axes of learning curves.
    Counting never waits for a GPU, because a batch knows the number of its tokens.
    """

    def __init__(self) -> None:
        self.updates = 0
        self.target_tokens = 0
        self.seconds = 0.0
        self.waiting = 0.0
        self._since: float | None = None
        self._earlier_peak = 0
        """The peak, in bytes, of the processes from which this one was resumed."""
        self._peak_of_others = 0
        """The peaks of the other ranks, in bytes, at the last validation."""

    def on_fit_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        peak_memory.reset()

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        # for a training that is resumed inside an epoch: ``on_train_epoch_start`` is not called there
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
        self.target_tokens += batch.whole.target_tokens
        self._add_seconds()
        if is_logged(trainer):
            self._log(module, on_epoch=False)

    def on_validation_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._since = None

    def on_validation_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._log(module, on_epoch=True)

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        own = peak_memory.peak()
        everyone = trainer.strategy.reduce(torch.tensor(own, device=module.device), reduce_op="sum")
        self._peak_of_others = int(everyone) - own
        self._since = time.perf_counter()

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._since = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stops the clock: the time that passes inside counts neither as training nor as waiting."""
        self._add_seconds()
        yield
        self._since = time.perf_counter()

    def _log(self, module: lightning.LightningModule, on_epoch: bool) -> None:
        if self.updates:
            for name, value in (("target_tokens", self.target_tokens), ("seconds", self.seconds)):
                # a tensor on the host, because Lightning would copy a number to the device and wait for the copy
                counted = torch.tensor(float(value))
                module.log(f"cost/{name}", counted, on_step=not on_epoch, on_epoch=on_epoch, batch_size=1)

    def _add_seconds(self) -> None:
        """Adds the time since the clock was started or last read, and starts it again."""
        now = time.perf_counter()
        if self._since is not None:
            self.seconds += now - self._since
        self._since = now

    def peak(self) -> int:
        """The most memory held at a time, in bytes, by this training or by one from which it was resumed.

        Of several ranks it is the sum of what each held, even if they held it at different times.
        """
        return max(self._earlier_peak, peak_memory.peak() + self._peak_of_others)

    def rates(self) -> dict[str, float | None]:
        """Target tokens per second, peak memory in megabytes, and the share of the seconds that was waiting."""
        return {
            "tokens_per_second": round(self.target_tokens / self.seconds, 1) if self.seconds else 0.0,
            "peak_memory_mb": round(self.peak() / 1e6, 1),
            "waiting": round(self.waiting / self.seconds, 4) if self.seconds else None,
        }

    def summary(self, model: Seq2Seq, products: str) -> CostRecord:
        """``cost`` of results.json.

        Args:
            model: that was trained.
            products: with what precision, and why.
        """
        rates = self.rates()
        return {
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "updates": self.updates,
            "target_tokens": self.target_tokens,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": rates["tokens_per_second"],
            "peak_memory_mb": rates["peak_memory_mb"],
            "waiting": rates["waiting"],
            "flops_per_token": flops_per_token(model),
            "products": products,
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
        self._earlier_peak = state_dict.get("peak", 0)  # checkpoints of earlier versions do not have it


def rates_text(rates: Mapping[str, float | None]) -> dict[str, str]:
    """Rates as text with units, by the name that is shown.

    Args:
        rates: from ``Cost.rates``, or ``cost`` of results.json.
    """
    waiting = rates["waiting"]
    return {
        "tokens/s": f"{rates['tokens_per_second']:,.0f}",
        "waiting": "–" if waiting is None else f"{waiting:.1%}",
        "peak": f"{rates['peak_memory_mb']:,.0f} MB",
    }


def rates_line(rates: Mapping[str, Any]) -> str:
    """The names and texts of ``rates_text`` in one line."""
    return "  ".join(f"{name} {text}" for name, text in rates_text(rates).items())
