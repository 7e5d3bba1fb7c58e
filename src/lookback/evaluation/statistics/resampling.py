"""Resamples of a test set: each is a row of weights, and its sums are one matrix product, for every run at once.

BLEU's statistics are added up over sentences. So what a resample needs is how often each sentence counts in it: rows of
weights `(resamples, sentences)`, drawn once, times the statistics of all runs side by side. Runs that are passed
together are resampled on the same sentences; so are runs that are passed one by one with the same `seed`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1000

_BLOCK = 2**22
"""Weights that are in memory at a time: test sets of any size are resampled in blocks of rows."""
_EXACT_IN_FLOAT32 = 2**24
"""float32 holds every whole number up to here, and its matrix product takes half the time of float64's."""


def resample(statistics: ArrayLike, resamples: int, seed: Sequence[int]) -> NDArray[np.float64]:
    """Draw `resamples` sets of sentences, each of full size and with replacement, and sum the statistics of each.

    `statistics (…, sentences, columns)` gives `(…, resamples, columns)`: of whole numbers exactly, of others in double
    precision. The draws depend on the number of sentences and on `seed` alone.
    """
    generator = np.random.default_rng((*seed, 0))

    def times_drawn(rows: int, sentences: int) -> NDArray[Any]:
        drawn = generator.integers(sentences, size=(rows, sentences)) + sentences * np.arange(rows)[:, None]
        return np.bincount(drawn.ravel(), minlength=rows * sentences).reshape(rows, sentences)

    return _weighted_sums(statistics, resamples, times_drawn)


def sums_of_halves(statistics: ArrayLike, trials: int, seed: Sequence[int]) -> NDArray[np.float64]:
    """Toss a coin for every sentence, `trials` times, and sum the statistics of the sentences that it chose.

    `statistics (…, sentences, columns)` gives `(…, trials, columns)`, as precisely as `resample`.
    """
    generator = np.random.default_rng((*seed, 1))

    def chosen(rows: int, sentences: int) -> NDArray[Any]:
        words = -(-sentences // 32)  # of 32 coins: a row begins with a new one, so that blocks change no coin
        coins = np.frombuffer(generator.bytes(4 * rows * words), dtype=np.uint8).reshape(rows, 4 * words)
        return np.unpackbits(coins, axis=1, count=sentences)

    return _weighted_sums(statistics, trials, chosen)


def interval(values: NDArray[np.float64]) -> list[float]:
    """The percentile interval [2.5 %, 97.5 %] of `values (resamples,)`: its bounds need not be symmetric."""
    return [float(bound) for bound in np.percentile(values, [2.5, 97.5])]


def _weighted_sums(
    statistics: ArrayLike, rows: int, weights: Callable[[int, int], NDArray[Any]]
) -> NDArray[np.float64]:
    statistics = np.asarray(statistics)
    *runs, sentences, columns = statistics.shape
    # a sentence is drawn as often as there are sentences at most, which bounds every sum
    largest = sentences * np.abs(statistics).max(initial=0)
    whole = statistics.dtype.kind in "iub"
    number = np.float32 if whole and largest <= _EXACT_IN_FLOAT32 else np.float64
    side_by_side: NDArray[Any] = np.moveaxis(statistics, -2, 0).reshape(sentences, -1).astype(number)
    block = max(1, _BLOCK // max(sentences, 1))
    sums = np.empty((rows, side_by_side.shape[1]))
    for start in range(0, rows, block):
        stop = min(start + block, rows)
        sums[start:stop] = weights(stop - start, sentences).astype(number) @ side_by_side
    return np.moveaxis(sums.reshape(rows, *runs, columns), 0, -2)
