"""The two sides of a split as Arrow arrays, some ten thousand rows at a time: no Python object for a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from lookback.data.corpora.corpus import SIDES

if TYPE_CHECKING:
    from datasets import Dataset

_Side = TypeVar("_Side")
_Made = TypeVar("_Made")
_ROWS = 50_000


def columns(texts: Dataset, keep: np.ndarray | None = None) -> Iterator[tuple[pa.Array, pa.Array]]:
    """The sources and the targets of every row, or of those that `keep`, (N,) bool, holds true, in their order."""
    start = 0
    for table in texts.select_columns(list(SIDES)).with_format("arrow").iter(_ROWS):
        source, target = (whole(table.column(side)) for side in SIDES)
        if keep is not None:
            rows = pa.array(keep[start : start + len(source)])
            source, target = source.filter(rows), target.filter(rows)
        start += table.num_rows
        yield source, target


def both(do: Callable[[_Side], _Made], source: _Side, target: _Side) -> tuple[_Made, _Made]:
    """`do` of each side, at the same time: Arrow's and NumPy's loops leave the other thread its turn."""
    with ThreadPoolExecutor(1) as other:
        made = other.submit(do, source)
        there = do(target)
        return made.result(), there


def whole(column: pa.ChunkedArray) -> pa.Array:
    """One array; nothing is copied where there is one chunk."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
