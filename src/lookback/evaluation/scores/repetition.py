"""What a translation says too often: a model that has lost its place says the same thing again."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from lookback.evaluation.scores.bleu import tokenized

COLUMNS = 2


def repetition_statistics(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> NDArray[np.int64]:
    """Count, for each sentence, `(sentences, 2)`: words of the translation that are repeated, and all its words.

    A word that occurs h times in the translation and c times in the reference is repeated max(0, h − max(c, 1)) times:
    what the reference repeats may be repeated, and a word that it lacks may be written once (that is an error, but no
    repetition). Words are tokens of sacrebleu's `tokenize`, as BLEU has them.

    Raises `ValueError` if the two sequences differ in length.
    """
    return _counted(tokenized(hypotheses, tokenize), tokenized(references, tokenize), 1)


def trigram_statistics(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> NDArray[np.int64]:
    """Count the same of three words in a row: one word may well come again, three in a row seldom do.

    See et al. 2017, "Get To The Point", figure 4, count repeated n-grams of a text alone; here the reference may
    repeat.
    """
    return _counted(tokenized(hypotheses, tokenize), tokenized(references, tokenize), 3)


def _counted(hypotheses: Sequence[Sequence[str]], references: Iterable[Sequence[str]], n: int) -> NDArray[np.int64]:
    rows = np.zeros((len(hypotheses), COLUMNS), dtype=np.int64)
    for row, written, expected in zip(rows, hypotheses, references, strict=True):
        allowed, found = Counter(_n_grams(expected, n)), Counter(_n_grams(written, n))
        row[:] = sum(max(0, h - max(allowed[gram], 1)) for gram, h in found.items()), found.total()
    return rows


def _n_grams(words: Sequence[str], n: int) -> Iterable[tuple[str, ...]]:
    return zip(*(words[first:] for first in range(n)), strict=False)
