"""The batches of an epoch, one after the other, from the start or from where training stopped.

There are no worker processes: making a batch takes a few NumPy calls, less time than sending it to another process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

from lookback.data.batches.batching import Batch, BucketBatchSampler
from lookback.data.preparation.encoding import EncodedPairs


class Epochs(Protocol):
    """The part of a loader's ``sampler`` that Lightning uses: it calls ``set_epoch`` before each epoch."""

    epoch: int

    def set_epoch(self, epoch: int) -> None: ...


class Loader(ABC):
    """Yields the batches of the epoch that ``sampler.set_epoch`` chose. Its state is the number of batches used.

    After ``load_state_dict``, that epoch begins with the first batch that was not used. Other epochs are whole.

    If several ranks train together, each batch is this rank's share of a global batch (see ``EncodedPairs.share``). The
    state counts global batches, so that a training can be resumed with another number of ranks.

    Args:
        sampler: holds the epoch.
        rank: whose share is yielded, 0 to ranks - 1.
        ranks: how many processes train together.
        counted: whether ``take`` is called for each batch that is used. Needed where Lightning reads one batch ahead of
            training, as it does with a stream. If false, a batch counts as used when it is yielded.
    """

    batch_sampler = None  # Lightning asks for it of a loader with a sampler

    def __init__(self, sampler: Epochs, rank: int, ranks: int, counted: bool) -> None:
        if not 0 <= rank < ranks:
            raise ValueError(f"rank={rank}: expected 0 to {ranks - 1} (ranks - 1)")
        self.sampler = sampler
        self._rank = rank
        self._ranks = ranks
        self._counted = counted
        self._used = (0, 0)  # the epoch of the last batch that was used, and the number of its batches used so far
        self._resumed: dict[str, Any] = {"epoch": 0, "batch": 0}

    @abstractmethod
    def _batches(self, state: dict[str, Any]) -> Iterator[Batch]:
        """The batches of an epoch after the first ``state["batch"]``."""

    def __iter__(self) -> Iterator[Batch]:
        # this is a generator: it starts when the first batch is asked for, and by then the epoch is known
        epoch = self.sampler.epoch
        state = self._resumed if self._resumed["epoch"] == epoch else {"epoch": epoch, "batch": 0}
        if not self._counted:
            self._used = (epoch, state["batch"])
        for batch in self._batches(state):
            if not self._counted:
                self.take()
            yield batch

    def take(self) -> None:
        """Count one more batch as used."""
        epoch, count = self._place()
        self._used = (epoch, count + 1)

    def state_dict(self) -> dict[str, Any]:
        """The place that training has reached, in plain containers."""
        epoch, count = self._place()
        return {"epoch": epoch, "batch": count}

    def _place(self) -> tuple[int, int]:
        """The epoch, and the number of its batches used."""
        return self._used if self._used[0] == self.sampler.epoch else (self.sampler.epoch, 0)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from the state of an equal loader."""
        self._resumed = state_dict
        self._used = (state_dict["epoch"], state_dict["batch"])
        self.sampler.set_epoch(state_dict["epoch"])


class BatchLoader(Loader):
    """Batches of pairs in memory, in a sampler's order.

    Args:
        dataset: the pairs.
        sampler: the rows of each global batch.
        rank: as in ``Loader``.
        ranks: as in ``Loader``.
        counted: as in ``Loader``.
    """

    def __init__(
        self, dataset: EncodedPairs, sampler: BucketBatchSampler, rank: int = 0, ranks: int = 1, counted: bool = False
    ) -> None:
        super().__init__(sampler, rank, ranks, counted)
        self.dataset = dataset
        self._rows = sampler

    def __len__(self) -> int:
        """The batches of a whole epoch, even if this one begins in its middle."""
        return len(self._rows)

    def _batches(self, state: dict[str, Any]) -> Iterator[Batch]:
        for rows in islice(self._rows, state["batch"], None):
            yield self.dataset.share(rows, self._rank, self._ranks)
