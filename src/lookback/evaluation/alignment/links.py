"""From what a model reads and writes, pieces of words, to words: the only unit in which runs and people compare."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lookback.common.words import Link


def merge_to_words(
    weights: NDArray[np.floating],
    target_word: Sequence[int],
    source_word: Sequence[int],
    target_words: int,
    source_words: int,
) -> NDArray[np.float64]:
    """Merge the weights of pieces into weights of words: the sum over a source word's pieces, the mean over a target's.

    A row that sums to 1 over pieces sums to 1 over words. An end mark is a word like any other if it is given a number
    of its own; a piece that is to be left out (-1) takes its weight with it, and a word without pieces has weight 0.

    Args:
        weights: (target pieces, source pieces).
        target_word: (target pieces,) the word that each piece belongs to, 0 to `target_words` - 1, or -1.
        source_word: (source pieces,) the same for the source.
        target_words: how many words the target has.
        source_words: how many words the source has.

    Returns: (target_words, source_words).

    Errors: ValueError if a shape does not fit or a piece belongs to a word that is not there.
    """
    target = _indices("target_word", target_word, target_words)
    source = _indices("source_word", source_word, source_words)
    if weights.shape != (len(target), len(source)):
        raise ValueError(f"weights: {weights.shape}, expected {(len(target), len(source))}, pieces of each side")
    pieces = np.bincount(target[target >= 0], minlength=target_words)
    of_source_words = _sums(weights.T, source, source_words).T
    return _sums(of_source_words, target, target_words) / np.maximum(pieces, 1)[:, None]


def links(weights: NDArray[np.floating]) -> list[Link]:
    """For each target word the source word of its largest weight, the first of equal ones: what AER takes by argmax.

    End marks are to be left out of both sides before. A target word that looks at no word at all, or whose weights are
    no numbers, has no link.

    Args:
        weights: (target words, source words); rows need not sum to 1, since only their order counts.
    """
    if not weights.shape[1]:
        return []
    return [(int(row.argmax()), j) for j, row in enumerate(weights) if row.max() > 0]


def _indices(name: str, word: Sequence[int], words: int) -> NDArray[np.int64]:
    index = np.asarray(word, dtype=np.int64)
    if len(index) and (index.min() < -1 or index.max() >= words):
        raise ValueError(f"{name}: {index.min()} to {index.max()}, expected -1 or 0 to {words - 1}")
    return index


def _sums(rows: NDArray[np.floating], word: NDArray[np.int64], words: int) -> NDArray[np.float64]:
    """(words, columns): of each word the sum of its rows. A product with a matrix of ones would take words times as
    long, which a line of thousands of pieces shows."""
    sums = np.zeros((words, rows.shape[1]))
    order = np.argsort(word, kind="stable")[np.count_nonzero(word < 0) :]
    present, starts = np.unique(word[order], return_index=True)
    if len(present):
        sums[present] = np.add.reduceat(rows[order].astype(np.float64), starts, axis=0)
    return sums
