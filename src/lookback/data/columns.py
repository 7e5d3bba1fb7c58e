"""The two sides of a split as Arrow arrays, some ten thousand rows at a time: no Python object for a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from datasets import Dataset

SIDES = ("source", "target")
ROWS = 20_000


def columns(texts: Dataset, keep: np.ndarray | None = None) -> Iterator[tuple[pa.Array, pa.Array]]:
    """The sources and the targets of every row, or of those that `keep`, (N,) bool, holds true, in their order."""
    start = 0
    for table in texts.select_columns(list(SIDES)).with_format("arrow").iter(ROWS):
        source, target = (whole(table.column(side)) for side in SIDES)
        if keep is not None:
            rows = pa.array(keep[start : start + len(source)])
            source, target = source.filter(rows), target.filter(rows)
        start += table.num_rows
        yield source, target


def whole(column: pa.ChunkedArray) -> pa.Array:
    """One array; nothing is copied where there is one chunk."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
