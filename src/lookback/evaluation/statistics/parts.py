"""Sentences that are scored together: their counts are resampled and summed once, for every run and every measure."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookback.evaluation.scores.measures import Measure
from lookback.evaluation.statistics.intervals import combined, mean_error
from lookback.evaluation.statistics.resampling import interval, resample
from lookback.runs import Interval, LengthRange, Segments

Draw = Callable[[NDArray[Any], int, Sequence[int]], NDArray[np.float64]]
"""`resample` or `sums_of_halves`: statistics, how often, seed"""


class ScoredBucket(LengthRange):
    """The score of one run in a bucket."""

    n: int
    """Sentences"""
    score: float | None
    """None where it does not exist, as without a sentence"""


class Part:
    """The whole test set, or a bucket of it. What was summed or scored is kept, so that it is computed once."""

    def __init__(
        self,
        lengths: LengthRange | None,
        runs: Sequence[Segments],
        chosen: NDArray[np.int64],
        effective_order: bool,
        resamples: int,
        seed: Sequence[int],
    ) -> None:
        """Take the sentences `chosen (n,)` of `runs`; `lengths` are the bucket's, None for the whole test set."""
        self._lengths, self.n = lengths, len(chosen)
        self._runs, self._chosen, self._effective_order = runs, chosen, effective_order
        self._resamples, self._seed = resamples, seed
        self._scores: dict[str, NDArray[np.float64]] = {}
        self._sums: dict[tuple[str, Draw, int], NDArray[np.float64]] = {}

    @property
    def lengths(self) -> LengthRange:
        """The source lengths of a bucket. Raises `ValueError` for the whole test set, which has all of them."""
        if self._lengths is None:
            raise ValueError("the whole test set is no bucket of lengths")
        return self._lengths

    def scores(self, measure: Measure) -> NDArray[np.float64]:
        """(runs, 1 + resamples): of the sentences as they are, then of each resample; NaN where it does not exist."""
        if measure.key not in self._scores:
            if self.n:
                scores = self.score(measure, self.resampled(measure))
            else:
                scores = np.full((len(self._runs), 1 + self._resamples), np.nan)
            self._scores[measure.key] = scores
        return self._scores[measure.key]

    def score(self, measure: Measure, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """The measure of summed statistics `(…, columns)` of these sentences: `(…)`."""
        return measure.score(sums, self._effective_order)

    def resampled(self, measure: Measure) -> NDArray[np.float64]:
        """(runs, 1 + resamples, columns): the measure's statistics, summed."""
        return self.summed(measure, resample, self._resamples)

    def summed(self, measure: Measure, draw: Draw, times: int) -> NDArray[np.float64]:
        """(runs, 1 + times, columns): the statistics' sums over the sentences as they are, then over each draw."""
        key = measure.statistics, draw, times
        if key not in self._sums:
            counts = np.stack([getattr(run, measure.statistics)[self._chosen] for run in self._runs])
            drawn = draw(counts, times, self._seed)
            self._sums[key] = np.concatenate([counts.sum(axis=1, keepdims=True), drawn], axis=1)
        return self._sums[key]


class Mean(NamedTuple):
    """The mean over trainings of a number that every resample has too."""

    value: float
    low: float
    """Of the 95 % percentile interval over sentences"""
    high: float
    error: float
    """Standard error over trainings"""
    trainings: int

    def interval(self) -> Interval:
        """The 95 % interval over trainings and sentences."""
        return combined(self.value, self.low, self.high, self.error, self.trainings)


def mean_of(values: NDArray[np.float64]) -> Mean | None:
    """The mean of `values (trainings, 1 + resamples)`, and of each resample; None where it does not exist."""
    mean = values.mean(axis=0)
    resampled = mean[1:][~np.isnan(mean[1:])]
    if np.isnan(mean[0]) or not len(resampled):
        return None
    low, high = interval(resampled)
    return Mean(float(mean[0]), low, high, float(mean_error(values[:, 0])), len(values))
