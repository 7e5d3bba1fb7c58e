"""Columns of sentences split at spaces into units, so that each distinct unit is processed only once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookback.common.words import words

_SLICE_SIZE = 50_000  # sentences that are split into units in memory at once


def count_words(texts: pa.Array | pa.ChunkedArray | Sequence[str]) -> np.ndarray:
    """The number of words of each text, ``len(words(text))``: (N,), int64."""
    if not isinstance(texts, pa.Array | pa.ChunkedArray):
        texts = pa.array(texts, pa.large_string())
    counts = [np.zeros(0, np.int64)]
    for part in units(texts):
        unit_counts = np.fromiter((len(words(unit)) for unit in part.distinct), np.int64, len(part.distinct))
        counts.append(sums(unit_counts[part.codes], part.lengths))
    return np.concatenate(counts)


class Units(NamedTuple):
    """Texts split at U+0020 and nowhere else: joining the units of a text with spaces gives the text back.

    Args:
        distinct: each distinct unit once.
        codes: (units,), the units of all texts one after the other, as indices into ``distinct``.
        lengths: (N,) int64, the number of units of each text, 0 for the empty text.
    """

    distinct: list[str]
    codes: np.ndarray
    lengths: np.ndarray


def units(texts: pa.Array | pa.ChunkedArray) -> Iterator[Units]:
    """The units of a column of strings, 50,000 texts at a time at most."""
    for part in slices(texts):
        # without this, the empty text would have one unit, the empty string
        lists = pc.split_pattern(pc.if_else(pc.equal(part, ""), None, part), " ")
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
        encoded = lists.flatten().dictionary_encode()
        yield Units(encoded.dictionary.to_pylist(), encoded.indices.to_numpy(), lengths)


def slices(texts: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
    """A column in slices of 50,000 texts at most: their units fit into memory."""
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        for start in range(0, len(chunk), _SLICE_SIZE):
            yield chunk.slice(start, _SLICE_SIZE)


def sums(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """(N,): the sum of each of N consecutive segments of ``values``; ``lengths``, (N,), are the segments' lengths."""
    totals = np.concatenate([[0], np.cumsum(values)])
    ends = np.cumsum(lengths)
    return totals[ends] - totals[ends - lengths]
