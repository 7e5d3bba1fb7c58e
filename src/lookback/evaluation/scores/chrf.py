"""chrF2 from sufficient statistics (Popović 2015): sacrebleu counts the character n-grams, the rest is arithmetic.

As with BLEU, the statistics of a set of sentences are the sum of its sentences' statistics, so that buckets and
resamples of them are sums of rows that were counted once.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sacrebleu.metrics import CHRF

from lookback.evaluation.scores.sacrebleu_parts import chrf_counts

COLUMNS = 3 * CHRF.CHAR_ORDER


def chrf_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
    """Count, for each sentence, what chrF2 needs to know of it.

    Returns `(sentences, 18)`: for character n-grams of n = 1..6, white space left out, those of the hypothesis (0 where
    the reference has none), those of the reference, and those that they share.

    Raises `ValueError` if the two sequences differ in length (sacrebleu would silently drop the rest).
    """
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references: expected as many of each")
    metric = CHRF()
    rows = np.empty((len(hypotheses), COLUMNS), dtype=np.int64)
    for row, hypothesis, reference in zip(rows, hypotheses, references, strict=True):
        row[:] = chrf_counts(metric, hypothesis, reference)
    return rows


def chrf(statistics: ArrayLike) -> NDArray[np.float64] | np.float64:
    """Score summed statistics `(..., 18)`; gives `(...)` in 0..100, over as many leading axes as there are.

    Equal to sacrebleu's corpus chrF2 with its defaults: precision and recall are averaged over the orders that both
    sides have, and recall counts twice as much (beta = 2). Without such an order, or a match, it is 0.
    """
    statistics = np.asarray(statistics, dtype=np.float64)
    hypothesis, reference, matches = (statistics[..., column::3] for column in range(3))
    exists = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(exists.sum(axis=-1), 1)
    precision = np.where(exists, matches / np.where(exists, hypothesis, 1), 0).sum(axis=-1) / orders
    recall = np.where(exists, matches / np.where(exists, reference, 1), 0).sum(axis=-1) / orders
    factor = CHRF.BETA**2
    weighed = factor * precision + recall
    return (100 * (1 + factor) * precision * recall / np.where(weighed > 0, weighed, 1))[()]
