"""The two sides of a split as Arrow arrays, without a Python object for each sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from lookback.data.corpora.corpus import SIDES
from lookback.data.units import count_words

if TYPE_CHECKING:
    from datasets import Dataset

_Side = TypeVar("_Side")
_Result = TypeVar("_Result")
_ROWS_AT_A_TIME = 50_000


def columns(texts: Dataset, keep: np.ndarray | None = None) -> Iterator[tuple[pa.Array, pa.Array]]:
    """The sources and the targets of a split, 50,000 rows at a time.

    Args:
        texts: the split.
        keep: (N,) bool, the rows to give; None means all.
    """
    start = 0
    for table in texts.select_columns(list(SIDES)).with_format("arrow").iter(_ROWS_AT_A_TIME):
        source, target = (one_array(table.column(side)) for side in SIDES)
        if keep is not None:
            rows = pa.array(keep[start : start + len(source)])
            source, target = source.filter(rows), target.filter(rows)
        start += table.num_rows
        yield source, target


def word_counts(texts: Dataset, side: str) -> np.ndarray:
    """The number of words of each text on a side of a split: (N,), int64."""
    place = SIDES.index(side)
    return np.concatenate([np.zeros(0, np.int64), *(count_words(pair[place]) for pair in columns(texts))])


def on_both_sides(function: Callable[[_Side], _Result], source: _Side, target: _Side) -> tuple[_Result, _Result]:
    """The results of ``function`` for the source and for the target.

    It runs in two threads: Arrow and NumPy release Python's lock in their loops.
    """
    with ThreadPoolExecutor(1) as other:
        from_source = other.submit(function, source)
        from_target = function(target)
        return from_source.result(), from_target


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array, without a copy if it has one chunk."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
