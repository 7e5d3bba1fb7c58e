"""Columns of sentences, cut at spaces: what is to be known of each piece is found once for each different one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookback.common.words import words

_SLICE = 50_000  # sentences whose words are in memory at once


def count_words(texts: pa.Array | pa.ChunkedArray | Sequence[str]) -> np.ndarray:
    """The number of words of each text, `len(words(text))`: (N,), int64."""
    if not isinstance(texts, pa.Array | pa.ChunkedArray):
        texts = pa.array(texts, pa.large_string())
    counts = [np.zeros(0, np.int64)]
    for part in units(texts):
        each = np.fromiter((len(words(unit)) for unit in part.distinct), np.int64, len(part.distinct))
        counts.append(sums(each[part.codes], part.lengths))
    return np.concatenate(counts)


class Units(NamedTuple):
    """Texts, cut at U+0020 and nowhere else: `" ".join` of a text's units is the text again.

    Args:
        distinct: each different unit once.
        codes: the units of all texts one after the other, as places in `distinct`: (units,).
        lengths: the number of units of each text, 0 for the empty text: (N,), int64.
    """

    distinct: list[str]
    codes: np.ndarray
    lengths: np.ndarray


def units(texts: pa.Array | pa.ChunkedArray) -> Iterator[Units]:
    """The units of a column of strings, some ten thousand texts at a time.

    A corpus has few different words: what is to be known of each unit is found once for each distinct one.
    """
    for part in slices(texts):
        # the empty text would be cut into one empty unit
        lists = pc.split_pattern(pc.if_else(pc.equal(part, ""), None, part), " ")
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
        encoded = lists.flatten().dictionary_encode()
        yield Units(encoded.dictionary.to_pylist(), encoded.indices.to_numpy(), lengths)


def slices(texts: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
    """A column piece by piece, each of as many texts as may be taken apart in memory at once."""
    for chunk in texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]:
        for start in range(0, len(chunk), _SLICE):
            yield chunk.slice(start, _SLICE)


def sums(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The sum of each run of `values`, the runs being `lengths` long: (N,)."""
    totals = np.concatenate([[0], np.cumsum(values)])
    ends = np.cumsum(lengths)
    return totals[ends] - totals[ends - lengths]
