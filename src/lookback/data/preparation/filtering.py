"""Which training pairs are left out, and why; and what a test set shares with them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookback.data.corpora.columns import both, columns
from lookback.data.preparation.cache import kept
from lookback.data.units import count_words

if TYPE_CHECKING:
    from datasets import Dataset

_FORMAT = 1  # of what is kept: raise it when another pair is dropped or counted
# A translation of a sentence inside the limit hardly needs twice the limit; without a bound, one stray line of 10,000
# words would cost the memory of a whole batch of them.
_TARGET_ROOM = 2


@dataclass(frozen=True)
class Limits:
    """What a training pair may be.

    Args:
        max_length: words of the source at most; its target may have twice as many. None: no limit.
        max_length_ratio: how many times the words of the shorter side the longer one has at most. None: no limit.
    """

    max_length: int | None
    max_length_ratio: float | None

    def keep(self, source: pa.Array, target: pa.Array, dropped: dict[str, int] | None = None) -> np.ndarray:
        """(N,) bool: the pairs that stay. The others are added to `dropped`, each under its first reason."""
        words = both(count_words, source, target)
        shorter, longer = np.minimum(*words), np.maximum(*words)
        reasons = {"a side without words": shorter == 0}
        if self.max_length is not None:
            reasons[f"source over {self.max_length} words"] = words[0] > self.max_length
            room = _TARGET_ROOM * self.max_length
            reasons[f"target over {room} words"] = words[1] > room
        if self.max_length_ratio is not None:
            ratio = self.max_length_ratio
            reasons[f"one side over {ratio:g} times as long as the other"] = longer > ratio * shorter
        stay = np.ones(len(source), dtype=bool)
        for reason, rows in reasons.items():
            if dropped is not None and (count := int((rows & stay).sum())):
                dropped[reason] = dropped.get(reason, 0) + count
            stay &= ~rows
        return stay


@dataclass(frozen=True)
class Selection:
    """The training pairs that are trained on.

    Attributes:
        keep: (N,) bool, of all pairs of the split.
        pairs: how many stay.
        dropped: how many do not, by reason.
        identical: how many of those that stay have a target that is their source.
        overlap: test pairs of which the training pairs that stay hold both sides ("pairs"), or a source ("sources").
    """

    keep: np.ndarray
    pairs: int
    dropped: dict[str, int] = field(default_factory=dict)
    identical: int = 0
    overlap: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Dataset, limits: Limits, test: Dataset) -> Selection:
        """Decide, or read what was decided before about the same text, limits and test set."""
        parts = (_FORMAT, texts._fingerprint, repr(limits), test._fingerprint)
        folder = kept(
            "selections", parts, f"Filtering {len(texts):,} pairs", lambda to: _decide(texts, limits, test, to)
        )
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        return cls(np.load(folder / "keep.npy", mmap_mode="r"), **about)

    def report(self, test_pairs: int) -> None:
        """Say on standard error what was dropped, and what is likely to be a mistake."""
        if self.dropped:
            report_dropped(self.pairs, self.dropped)
        if self.overlap["pairs"] or self.overlap["sources"]:
            print(
                f"warning: {self.overlap['pairs']:,} of {test_pairs:,} test pairs also stand in the training split: "
                f"scores on them say nothing about new text ({self.overlap['sources']:,} share their source)",
                file=sys.stderr,
            )
        if 2 * self.identical > self.pairs:
            print(
                f"warning: in {self.identical:,} of {self.pairs:,} training pairs the target is the source; "
                "is one file given for both sides?",
                file=sys.stderr,
            )


def report_dropped(pairs: int, dropped: dict[str, int]) -> None:
    """Say on standard error how many training pairs stayed, and why the others did not."""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in dropped.items())
    total = pairs + sum(dropped.values())
    print(f"training pairs: {pairs:,} of {total:,} (dropped: {reasons})", file=sys.stderr)


def _decide(texts: Dataset, limits: Limits, test: Dataset, folder: Path) -> None:
    test_sources = [source for sources, _ in columns(test) for source in sources.to_pylist()]
    test_targets = [target for _, targets in columns(test) for target in targets.to_pylist()]
    looked_up = pa.array(dict.fromkeys(test_sources), pa.string())
    shared_sources: set[str] = set()
    shared_pairs: set[tuple[str, str]] = set()
    keep = np.zeros(len(texts), dtype=bool)
    dropped: dict[str, int] = {}
    start = identical = 0
    for source, target in columns(texts):
        stay = limits.keep(source, target, dropped)
        keep[start : start + len(stay)] = stay
        start += len(stay)
        rows = pa.array(stay)
        identical += pc.and_(pc.equal(source, target), rows).true_count
        known = pc.and_(pc.is_in(source, looked_up.cast(source.type)), rows)
        if known.true_count:
            found = source.filter(known).to_pylist()
            shared_sources.update(found)
            shared_pairs.update(zip(found, target.filter(known).to_pylist(), strict=True))
    np.save(folder / "keep.npy", keep)
    about = {
        "pairs": int(keep.sum()),
        "dropped": dropped,
        "identical": identical,
        "overlap": {
            "pairs": sum(pair in shared_pairs for pair in zip(test_sources, test_targets, strict=True)),
            "sources": sum(source in shared_sources for source in test_sources),
        },
    }
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
