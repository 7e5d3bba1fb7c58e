"""A training split that is read while it is trained on: windows of it, each shuffled and cut like a whole corpus."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookback.data.batches.batching import Batch, BucketBatchSampler
from lookback.data.batches.loading import Loader
from lookback.data.corpora.columns import whole
from lookback.data.corpora.corpus import SIDES
from lookback.data.preparation.encoding import EncodedPairs
from lookback.data.preparation.filtering import Limits

if TYPE_CHECKING:
    from datasets import IterableDataset


@dataclass(frozen=True)
class Place:
    """A point of a stream between two windows.

    Attributes:
        window: windows read before it.
        pairs: pairs read before it, those that were dropped included.
        stream: what the stream itself says of it; None at its start.
        dropped: those of the pairs before it that were dropped, by reason.
    """

    window: int = 0
    pairs: int = 0
    stream: dict[str, Any] | None = None
    dropped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Reached:
    """How much of a stream was reached in its first reading, whole windows at a time.

    Attributes:
        pairs: the pairs, those that were dropped included.
        dropped: how many were dropped, by reason.
    """

    pairs: int = 0
    dropped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Window:
    """Pairs of a stream that follow one another, those that are trained on.

    Attributes:
        place: where it begins.
        behind: where it ends.
        source: (N,) their sources.
        target: (N,) their targets.
        ids: (N,) int64, their numbers in the stream, from 0.
    """

    place: Place
    behind: Place
    source: pa.Array
    target: pa.Array
    ids: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)

    def joined(self, later: Window) -> Window:
        """This window and the one behind it."""
        return Window(
            self.place,
            later.behind,
            pa.concat_arrays([self.source, later.source]),
            pa.concat_arrays([self.target, later.target]),
            np.concatenate([self.ids, later.ids]),
        )


def windows(stream: IterableDataset, size: int, limits: Limits, epoch: int, place: Place) -> Iterator[Window]:
    """The windows of a stream, from `place` on. What `limits` leaves nothing of is passed over, unless it is the last.

    Args:
        stream: with the string features `source` and `target`.
        size: pairs of a window, those that are dropped included.
        limits: what a training pair may be.
        epoch: which reading of the stream it is: the order of its files is the stream's own matter.
        place: of the same stream in the same epoch.
    """
    # What has tables to give is read without a Python object for each sentence; anything else would be ten times slower
    # as tables. Either way it is a new object: where this reading stands is not the caller's.
    has_tables = getattr(stream._ex_iterable, "iter_arrow", None) is not None
    stream = stream.with_format("arrow" if has_tables else None)
    stream.set_epoch(epoch)
    if place.stream is not None:
        stream.load_state_dict(place.stream)
    window: Window | None = None
    for rows in stream.iter(size):
        source, target = (_array(rows[side]) for side in SIDES)
        dropped = dict(place.dropped)
        keep = limits.keep(source, target, dropped)
        kept = pa.array(keep)
        behind = Place(place.window + 1, place.pairs + len(keep), stream.state_dict(), dropped)
        ids = place.pairs + np.flatnonzero(keep)
        window = Window(place, behind, source.filter(kept), target.filter(kept), ids)
        place = behind
        if len(window):
            yield window
    if window is not None and not len(window):  # what is dropped at the very end is counted, too
        yield window


class StreamLoader(Loader):
    """Batches of a stream: every pair once an epoch, in the order of a `BucketBatchSampler` window by window.

    The order is a function of seed, epoch and window. Every rank reads the whole stream and takes its share of the
    batches; all get equally many. A state also holds where in the stream the window begins, and how much of the stream
    was read.

    Args:
        read: the windows of an epoch from a place on; the last of them may be empty.
        encode: the encoded pairs of a window.
        batch_size: as in `BucketBatchSampler`.
        unit: the same.
        seed: the same.
        rank: the same.
        ranks: the same.
        counted: as in `Loader`.

    Errors: InputError, while it is read, if a stream has fewer pairs to train on than there are ranks.
    """

    def __init__(
        self,
        read: Callable[[int, Place], Iterator[Window]],
        encode: Callable[[Window], EncodedPairs],
        batch_size: int,
        unit: str,
        seed: int,
        rank: int,
        ranks: int,
        counted: bool = False,
    ) -> None:
        super().__init__(_Epoch(), counted)
        self._read = read
        self._encode = encode
        self._cut = (batch_size, unit)
        self._seed = seed
        self._rank = rank
        self._ranks = ranks
        # epoch of the last windows, the batches before them, where they begin and end: training is behind what is read
        self._begun: deque[tuple[int, int, Place, Place]] = deque(maxlen=4)
        self._ended: tuple[int, int] | None = None  # an epoch that was read to its end, and its batches
        self._reached = Reached()

    @property
    def reached(self) -> Reached:
        """How much of the stream training has reached."""
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
        for begun, before, place, _ in self._begun:
            if begun == epoch and before <= count:
                state |= {"before": before, "place": asdict(place)}
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._reached = Reached(**state_dict["reached"])

    def _note_reached(self) -> None:
        """Add the windows that training has begun. Later epochs only read the same pairs again."""
        epoch, count = self._used
        for begun, before, _, behind in self._begun:
            if epoch == begun == 0 and (before < count or (epoch, count) == self._ended):
                self._reached = Reached(behind.pairs, behind.dropped)

    def _from(self, state: dict[str, Any]) -> Iterator[Batch]:
        epoch, done = state["epoch"], state["batch"]
        place = Place(**state["place"]) if "place" in state else Place()
        count = state.get("before", 0)
        for window in _enough(self._read(epoch, place), self._ranks):
            self._begun.append((epoch, count, window.place, window.behind))
            if not len(window):
                continue
            pairs = self._encode(window)
            seed = (self._seed, window.place.window)
            lengths = (pairs.source.lengths, pairs.target_lengths)
            sampler = BucketBatchSampler(*lengths, *self._cut, seed, True, self._rank, self._ranks)
            sampler.set_epoch(epoch)
            for rows in sampler:
                if count >= done:
                    yield pairs[rows]
                count += 1
        self._ended = (epoch, count)
        self._note_reached()


def _enough(windows: Iterator[Window], ranks: int) -> Iterator[Window]:
    """Windows of a pair or more for each rank: one with fewer is joined to the window before it."""
    held: Window | None = None
    for window in windows:
        if ranks > 1 and held is not None and min(len(held), len(window)) < ranks:
            held = held.joined(window)
            continue
        if held is not None:
            yield held
        held = window
        if ranks == 1:  # every window has one pair, none needs to wait for the next
            yield held
            held = None
    if held is not None:
        yield held


class _Epoch:
    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch


def _array(column: list[str] | pa.ChunkedArray) -> pa.Array:
    return whole(column) if isinstance(column, pa.ChunkedArray) else pa.array(column, pa.string())
