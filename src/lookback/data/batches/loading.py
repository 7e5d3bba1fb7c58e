"""Batches of an epoch, one after the other, from where training stands.

A batch is a few numpy calls: a worker process would only add the cost of sending it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

from lookback.data.batches.batching import Batch, BucketBatchSampler
from lookback.data.preparation.encoding import EncodedPairs


class Epochs(Protocol):
    """What chooses the epoch: Lightning calls `set_epoch` of a loader's `sampler` before each one."""

    epoch: int

    def set_epoch(self, epoch: int) -> None: ...


class Loader(ABC):
    """Yields the batches of the epoch that `sampler.set_epoch` chose; its state is how many of them were used.

    After `load_state_dict` the same epoch begins with the first batch that was not used; any other begins at its start.

    Args:
        sampler: chooses the epoch.
        counted: whether `take` is called for each batch that is used: Lightning reads a stream one batch ahead of
            training. If not, a batch counts as used when it is handed out.
    """

    batch_sampler = None  # Lightning looks for it where it finds a sampler

    def __init__(self, sampler: Epochs, counted: bool) -> None:
        self.sampler = sampler
        self._counted = counted
        self._used = (0, 0)  # the epoch of the last batch that was used, and how many of its batches were
        self._resumed: dict[str, Any] = {"epoch": 0, "batch": 0}

    @abstractmethod
    def _from(self, state: dict[str, Any]) -> Iterator[Batch]:
        """The batches of an epoch behind the first `state["batch"]`."""

    def __iter__(self) -> Iterator[Batch]:
        # a generator: nothing happens before the first batch is asked for, and by then the epoch is known
        epoch = self.sampler.epoch
        state = self._resumed if self._resumed["epoch"] == epoch else {"epoch": epoch, "batch": 0}
        if not self._counted:
            self._used = (epoch, state["batch"])
        for batch in self._from(state):
            if not self._counted:
                self.take()
            yield batch

    def take(self) -> None:
        """The next batch is used."""
        epoch, count = self._place()
        self._used = (epoch, count + 1)

    def state_dict(self) -> dict[str, Any]:
        """Where training stands, as plain containers."""
        epoch, count = self._place()
        return {"epoch": epoch, "batch": count}

    def _place(self) -> tuple[int, int]:
        """The epoch, and how many of its batches were used."""
        return self._used if self._used[0] == self.sampler.epoch else (self.sampler.epoch, 0)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state of an equal loader."""
        self._resumed = state_dict
        self._used = (state_dict["epoch"], state_dict["batch"])
        self.sampler.set_epoch(state_dict["epoch"])


class BatchLoader(Loader):
    """The batches that a sampler names.

    Args:
        dataset: the pairs.
        sampler: the rows of each batch.
        counted: as in `Loader`.
    """

    def __init__(self, dataset: EncodedPairs, sampler: BucketBatchSampler, counted: bool = False) -> None:
        super().__init__(sampler, counted)
        self.dataset = dataset
        self._rows = sampler

    def __len__(self) -> int:
        """Batches of a whole epoch, wherever this one begins."""
        return len(self._rows)

    def _from(self, state: dict[str, Any]) -> Iterator[Batch]:
        for rows in islice(self._rows, state["batch"], None):
            yield self.dataset[rows]
