"""A training split that is read during training. Each window of it is shuffled and cut into batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookback.data.batches.batching import Batch, BatchUnit, BucketBatchSampler
from lookback.data.batches.loading import Loader
from lookback.data.corpora.columns import one_array
from lookback.data.corpora.corpus import SIDES
from lookback.data.datasets_private import gives_tables
from lookback.data.preparation.encoding import EncodedPairs
from lookback.data.preparation.filtering import Limits

if TYPE_CHECKING:
    from datasets import IterableDataset


@dataclass(frozen=True)
class StreamPosition:
    """A position in a stream, between two windows. Checkpoints hold its fields.

    Attributes:
        window: the number of windows before it.
        pairs: the number of pairs before it, dropped ones included.
        stream: the stream's own state there; None at its start.
        dropped: how many of the pairs before it were dropped, by reason.
    """

    window: int = 0
    pairs: int = 0
    stream: dict[str, Any] | None = None
    dropped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamProgress:
    """How much of a stream training has reached in the first epoch, in whole windows. Checkpoints hold its fields.

    Attributes:
        pairs: the number of pairs, dropped ones included.
        dropped: how many of them were dropped, by reason.
    """

    pairs: int = 0
    dropped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Window:
    """Consecutive pairs of a stream, without the dropped ones.

    Attributes:
        start: the place where it begins.
        end: the place where it ends.
        source: (N,) the sources.
        target: (N,) the targets.
        ids: (N,) int64, the numbers of the pairs in the stream, from 0.
    """

    start: StreamPosition
    end: StreamPosition
    source: pa.Array
    target: pa.Array
    ids: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)


def windows(stream: IterableDataset, size: int, limits: Limits, epoch: int, place: StreamPosition) -> Iterator[Window]:
    """The windows of a stream, from ``place`` on. A window without a pair is left out, unless it is the last.

    Args:
        stream: with the string features ``source`` and ``target``.
        size: pairs of a window, dropped ones included.
        limits: how long a training pair may be.
        epoch: the number of the epoch; a stream may order its files by it.
        place: where to start, a place of the same stream in the same epoch.
    """
    # A stream of tables is read as tables, without a Python object for each sentence; any other stream would be ten
    # times slower that way. with_format returns a new object, so the state of the caller's stream does not change.
    stream = stream.with_format("arrow" if gives_tables(stream) else None)
    stream.set_epoch(epoch)
    if place.stream is not None:
        stream.load_state_dict(place.stream)
    window: Window | None = None
    for rows in stream.iter(size):
        source, target = (_array(rows[side]) for side in SIDES)
        dropped = dict(place.dropped)
        keep = limits.keep(source, target, dropped)
        mask = pa.array(keep)
        end = StreamPosition(place.window + 1, place.pairs + len(keep), stream.state_dict(), dropped)
        ids = place.pairs + np.flatnonzero(keep)
        window = Window(place, end, source.filter(mask), target.filter(mask), ids)
        place = end
        if len(window):
            yield window
    if window is not None and not len(window):  # so that pairs dropped at the very end are counted too
        yield window


class StreamLoader(Loader):
    """Batches of a stream: every pair once an epoch, window by window, each in the order of a ``BucketBatchSampler``.

    The order depends on seed, epoch and window alone. Every rank reads the whole stream and takes its share of each
    batch. The state also holds the place where the window of the next batch starts,
    and how much of the stream was reached.

    Args:
        read: gives the windows of an epoch from a place on; the last of them may be empty.
        encode: encodes the pairs of a window.
        batch_size: as in ``BucketBatchSampler``.
        unit: as in ``BucketBatchSampler``.
        seed: as in ``BucketBatchSampler``.
        rank: as in ``Loader``.
        ranks: as in ``Loader``.
        counted: as in ``Loader``.
    """

    def __init__(
        self,
        read: Callable[[int, StreamPosition], Iterator[Window]],
        encode: Callable[[Window], EncodedPairs],
        batch_size: int,
        unit: BatchUnit,
        seed: int,
        rank: int = 0,
        ranks: int = 1,
        counted: bool = False,
    ) -> None:
        super().__init__(_Epoch(), rank, ranks, counted)
        self._read = read
        self._encode = encode
        self._size = (batch_size, unit)
        self._seed = seed
        self._windows: deque[_WindowRead] = deque(maxlen=4)  # the latest windows: reading is ahead of training
        self._ended: tuple[int, int] | None = None  # an epoch that was read to its end, and the number of its batches
        self._reached = StreamProgress()

    @property
    def reached(self) -> StreamProgress:
        """How much of the stream training has reached in the first epoch."""
        return self._reached

    def take(self) -> None:
        super().take()
        self._note_reached()

    def state_dict(self) -> dict[str, Any]:
        epoch, count = self._place()
        reached = asdict(self._reached)
        if (epoch, count) == self._ended:
            return {"epoch": epoch + 1, "batch": 0, "reached": reached}
        state = self._resumed if self._resumed["epoch"] == epoch else {}
        state = {**state, "epoch": epoch, "batch": count, "reached": reached}
        for window in self._windows:
            if window.epoch == epoch and window.batches_before <= count:
                state |= {"before": window.batches_before, "place": asdict(window.start)}
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._reached = StreamProgress(**state_dict["reached"])

    def _note_reached(self) -> None:
        """Count the windows from which training has used a batch. Later epochs read the same pairs again."""
        epoch, count = self._used
        for window in self._windows:
            if epoch == window.epoch == 0 and (window.batches_before < count or (epoch, count) == self._ended):
                self._reached = StreamProgress(window.end.pairs, window.end.dropped)

    def _batches(self, state: dict[str, Any]) -> Iterator[Batch]:
        epoch, used = state["epoch"], state["batch"]
        place = StreamPosition(**state["place"]) if "place" in state else StreamPosition()
        count = state.get("before", 0)
        for window in self._read(epoch, place):
            self._windows.append(_WindowRead(epoch, count, window.start, window.end))
            if not len(window):
                continue
            pairs = self._encode(window)
            seed = (self._seed, window.start.window)
            lengths = (pairs.source.lengths, pairs.target_lengths)
            sampler = BucketBatchSampler(*lengths, *self._size, seed, True)
            sampler.set_epoch(epoch)
            for rows in sampler:
                if count >= used:
                    yield pairs.share(rows, self._rank, self._ranks)
                count += 1
        self._ended = (epoch, count)
        self._note_reached()


class _WindowRead(NamedTuple):
    """A window that was read.

    Attributes:
        epoch: in which epoch.
        batches_before: the number of batches of the epoch before it.
        start: the place where it begins.
        end: the place where it ends.
    """

    epoch: int
    batches_before: int
    start: StreamPosition
    end: StreamPosition


class _Epoch:
    """The part of a sampler that Lightning needs."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch


def _array(column: list[str] | pa.ChunkedArray) -> pa.Array:
    return one_array(column) if isinstance(column, pa.ChunkedArray) else pa.array(column, pa.string())
