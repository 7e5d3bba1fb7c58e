"""Words that a translation says too often: a model that has lost its place says the same thing again."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.evaluation.scores.bleu import tokenized

COLUMNS = 2


def repetition_statistics(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> NDArray[np.int64]:
    """Count, for each sentence, `(sentences, 2)`: words of the translation that are repeated, and all its words.

    A word that occurs h times in the translation and c times in the reference is repeated max(0, h − max(c, 1)) times:
    what the reference repeats may be repeated, and a word that it lacks may be written once (that is an error, but no
    repetition). Words are tokens of sacrebleu's `tokenize`, as BLEU has them.

    Raises `ValueError` if the two sequences differ in length.
    """
    rows = np.zeros((len(hypotheses), COLUMNS), dtype=np.int64)
    pairs = zip(tokenized(hypotheses, tokenize), tokenized(references, tokenize), strict=True)
    for row, (written, expected) in zip(rows, pairs, strict=True):
        allowed = Counter(expected)
        row[0] = sum(max(0, h - max(allowed[word], 1)) for word, h in Counter(written).items())
        row[1] = len(written)
    return rows


def repeated(statistics: ArrayLike) -> NDArray[np.float64]:
    """Repeated words in percent of the translations' words, of summed statistics `(..., 2)`: `(...)`, NaN of none."""
    statistics = np.asarray(statistics, dtype=np.float64)
    again, words = statistics[..., 0], statistics[..., 1]
    return np.where(words > 0, 100 * again / np.where(words > 0, words, 1), np.nan)
