"""Filters the training pairs, and finds the test pairs that are also in the training split."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookback.data.corpora.columns import columns, on_both_sides
from lookback.data.datasets_private import datasets_fingerprint
from lookback.data.preparation.cache import cached_folder
from lookback.data.preparation.fingerprint import fingerprint
from lookback.data.units import count_words

if TYPE_CHECKING:
    from datasets import Dataset

_FORMAT = 2  # of the cached decision: raise it when another pair is dropped or counted
# The limit of the target, in limits of the source: hardly any translation is more than twice as long. Without it, one
# wrong line of 10,000 words would make its whole batch as long.
_TARGET_FACTOR = 2


@dataclass(frozen=True)
class Limits:
    """How long a training pair may be.

    Args:
        max_length: words of the source at most; its target may have twice as many. None: no limit.
        max_length_ratio: words of the longer side at most, in multiples of the shorter side. None: no limit.
    """

    max_length: int | None
    max_length_ratio: float | None

    def keep(self, source: pa.Array, target: pa.Array, dropped: dict[str, int] | None = None) -> np.ndarray:
        """(N,) bool: whether each pair is kept.

        Args:
            source: (N,) the sources.
            target: (N,) the targets.
            dropped: where the dropped pairs are counted, each under its first reason; None means nowhere.
        """
        words = on_both_sides(count_words, source, target)
        shorter, longer = np.minimum(*words), np.maximum(*words)
        reasons = {"a side without words": shorter == 0}
        if self.max_length is not None:
            reasons[f"source over {self.max_length} words"] = words[0] > self.max_length
            target_limit = _TARGET_FACTOR * self.max_length
            reasons[f"target over {target_limit} words"] = words[1] > target_limit
        if self.max_length_ratio is not None:
            ratio = self.max_length_ratio
            reasons[f"one side over {ratio:g} times as long as the other"] = longer > ratio * shorter
        keep = np.ones(len(source), dtype=bool)
        for reason, rows in reasons.items():
            if dropped is not None and (count := int((rows & keep).sum())):
                dropped[reason] = dropped.get(reason, 0) + count
            keep &= ~rows
        return keep


@dataclass(frozen=True)
class Selection:
    """The training pairs that are trained on.

    Attributes:
        keep: (N,) bool, whether each pair of the split is trained on.
        pairs: the number of pairs that are trained on.
        dropped: the number of pairs that are not, by reason.
        fingerprint: of the text of the whole split.
        identical: the number of pairs that are trained on and have the same text as source and target.
        overlap: the number of test pairs that are also trained on ("pairs"), and of test sources ("sources").
    """

    keep: np.ndarray
    pairs: int
    fingerprint: str
    dropped: dict[str, int] = field(default_factory=dict)
    identical: int = 0
    overlap: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Dataset, limits: Limits, test: Dataset) -> Selection:
        """Choose the pairs, or read the cached choice for the same text, limits and test set."""
        parts = (_FORMAT, datasets_fingerprint(texts), repr(limits), datasets_fingerprint(test))
        folder = cached_folder(
            "selections", parts, f"Filtering {len(texts):,} pairs", lambda folder: _select(texts, limits, test, folder)
        )
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        return cls(np.load(folder / "keep.npy", mmap_mode="r"), **about)

    def report(self, test_pairs: int) -> None:
        """Print the numbers of dropped pairs, and warnings of probable mistakes, on standard error."""
        if self.dropped:
            report_dropped(self.pairs, self.dropped)
        pairs, sources = self.overlap["pairs"], self.overlap["sources"]
        if pairs:
            print(
                f"warning: {pairs:,} of {test_pairs:,} test pairs also stand in the training split: "
                f"scores on them say nothing about new text ({sources:,} share their source)",
                file=sys.stderr,
            )
        elif sources:
            print(
                f"warning: {sources:,} of {test_pairs:,} test sources also stand in the training split, with other "
                "targets: scores on them say little about new text",
                file=sys.stderr,
            )
        if 2 * self.identical > self.pairs:
            print(
                f"warning: in {self.identical:,} of {self.pairs:,} training pairs the target is the source; "
                "is one file given for both sides?",
                file=sys.stderr,
            )


def report_dropped(pairs: int, dropped: dict[str, int]) -> None:
    """Print on standard error how many training pairs are kept, and why the others are not."""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in dropped.items())
    total = pairs + sum(dropped.values())
    print(f"training pairs: {pairs:,} of {total:,} (dropped: {reasons})", file=sys.stderr)


def _select(texts: Dataset, limits: Limits, test: Dataset, folder: Path) -> None:
    test_sources = [source for sources, _ in columns(test) for source in sources.to_pylist()]
    test_targets = [target for _, targets in columns(test) for target in targets.to_pylist()]
    test_source_set = pa.array(dict.fromkeys(test_sources), pa.string())
    shared_sources: set[str] = set()
    shared_pairs: set[tuple[str, str]] = set()
    keep = np.zeros(len(texts), dtype=bool)
    dropped: dict[str, int] = {}
    start = identical = 0
    for source, target in columns(texts):
        part = limits.keep(source, target, dropped)
        keep[start : start + len(part)] = part
        start += len(part)
        rows = pa.array(part)
        identical += pc.and_(pc.equal(source, target), rows).true_count
        shared = pc.and_(pc.is_in(source, test_source_set.cast(source.type)), rows)
        if shared.true_count:
            sources = source.filter(shared).to_pylist()
            shared_sources.update(sources)
            shared_pairs.update(zip(sources, target.filter(shared).to_pylist(), strict=True))
    np.save(folder / "keep.npy", keep)
    about = {
        "pairs": int(keep.sum()),
        "fingerprint": fingerprint(texts),
        "dropped": dropped,
        "identical": identical,
        "overlap": {
            "pairs": sum(pair in shared_pairs for pair in zip(test_sources, test_targets, strict=True)),
            "sources": sum(source in shared_sources for source in test_sources),
        },
    }
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
