"""Which training pairs are left out, and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from datasets import Dataset

# A translation of a sentence inside the limit hardly needs twice the limit; without a bound, one stray line of 10,000
# words would cost the memory of a whole batch of them.
_TARGET_ROOM = 2


def filter_pairs(texts: Dataset, max_length: int | None) -> tuple[Dataset, dict[str, int]]:
    """Leave out pairs that nothing can be learnt from or that are longer than the limit.

    A pair is dropped if a side has no words, if its source has more than `max_length` words, or its target more than
    twice as many (None: no limit).

    Returns: the pairs that stay, in their order, and how many were dropped for each reason.
    """
    source, target = word_counts(texts, "source"), word_counts(texts, "target")
    reasons = {"a side without words": (source == 0) | (target == 0)}
    if max_length is not None:
        reasons[f"source over {max_length} words"] = source > max_length
        reasons[f"target over {_TARGET_ROOM * max_length} words"] = target > _TARGET_ROOM * max_length
    keep = np.ones(len(texts), dtype=bool)
    dropped: Counter[str] = Counter()
    for reason, rows in reasons.items():  # a pair is counted under its first reason
        dropped[reason] = int((rows & keep).sum())
        keep &= ~rows
    return (texts if keep.all() else texts.select(np.flatnonzero(keep))), {r: n for r, n in dropped.items() if n}


def word_counts(texts: Dataset, column: str) -> np.ndarray:
    """(N,) int64: the words of each text, as `str.split()` counts them."""
    batches = texts.select_columns([column]).with_format("arrow").iter(10_000)
    counts = (len(text.split()) for batch in batches for text in batch.column(column).to_pylist())
    return np.fromiter(counts, np.int64, len(texts))
