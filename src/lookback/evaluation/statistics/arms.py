"""One arm, several trainings of one attention: its mean score, what length does to it, and how sure both are.

All trainings are scored on the same sentences. The intervals are made like those of a difference
(`lookback.evaluation.statistics.intervals`). Of one training an interval is over sentences alone, which says nothing of
another training. Of two trainings it is honest and of little use: Student's t with one degree of freedom reaches 12.7
standard errors to either side.
"""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from lookback.evaluation.length_curve import ENOUGH, half_lengths, midpoint, none_for_nan, retentions
from lookback.evaluation.scores.measures import Measure
from lookback.evaluation.statistics.intervals import combined, jackknife_error
from lookback.evaluation.statistics.parts import Part, ScoredBucket, mean_of
from lookback.evaluation.statistics.resampling import interval
from lookback.runs import Interval, OpenInterval


class ArmBucket(ScoredBucket):
    """The mean score of an arm's runs in a bucket."""

    ci: Interval | None


class Arm(TypedDict):
    """The runs of one arm, summed up. A number is None where it does not exist, as without a sentence."""

    seeds: int
    """Runs"""
    n: int
    """Sentences of the test set"""
    score: float | None
    """The mean of the runs' scores"""
    ci: Interval | None
    """Its 95 % interval over trainings and sentences; of one run over sentences alone. So are the others"""
    retention: float | None
    """Of the mean curve, where more of the measure is better"""
    retention_ci: Interval | None
    half_length: float | None
    """The same"""
    half_length_ci: OpenInterval | None
    """A bound is None where it is longer than all lengths that were tested"""
    by_length: list[ArmBucket]
    """The runs' mean curve, shortest bucket first"""


def arm_of(whole: Part, buckets: Sequence[Part], runs: Sequence[int], measure: Measure) -> Arm:
    """Sum up the runs at these places.

    The errors of `retention` and `half_length` over trainings are the jackknife's. No bound lies where no score can:
    under 0, over 100, over a retention of 1.
    """
    top = 100.0 if measure.better == 1 else np.inf
    of_runs = [part.scores(measure)[list(runs)] for part in (whole, *buckets)]  # each (seeds, 1 + resamples)
    whole_scores, *curve = (scores.mean(axis=0) for scores in of_runs)
    whole_ci, *curve_ci = (_score_interval(scores, top) for scores in of_runs)
    full = [place for place, bucket in enumerate(buckets) if bucket.n >= ENOUGH and measure.better == 1]
    middles = [midpoint(buckets[place].lengths) for place in full]
    curves = np.stack([whole_scores, *curve], axis=-1)[:, [1 + place for place in full]]  # (1 + resamples, buckets)
    each = np.stack(of_runs, axis=-1)[:, 0, [1 + place for place in full]]  # (seeds, buckets)
    without = (each.sum(axis=0) - each) / max(1, len(runs) - 1)  # the mean curve without each of the runs
    retained, half = retentions(curves), half_lengths(curves, middles)  # (1 + resamples,)
    return {
        "seeds": len(runs),
        "n": whole.n,
        "score": none_for_nan(whole_scores[0]),
        "ci": whole_ci,
        "retention": none_for_nan(retained[0]),
        "retention_ci": _retention_interval(retained, retentions(without)),
        "half_length": none_for_nan(half[0]),
        "half_length_ci": _half_interval(half, half_lengths(without, middles), middles),
        "by_length": [
            {**bucket.lengths, "n": bucket.n, "score": none_for_nan(scores[0]), "ci": bounds}
            for bucket, scores, bounds in zip(buckets, curve, curve_ci, strict=True)
        ],
    }


def _score_interval(values: NDArray[np.float64], top: float) -> Interval | None:
    """The interval of a mean score, `values (trainings, 1 + resamples)`, within 0 and `top`; None where none exists."""
    mean = mean_of(values)
    return None if mean is None else [min(max(bound, 0.0), top) for bound in mean.interval()]


def _retention_interval(retained: NDArray[np.float64], without: NDArray[np.float64]) -> Interval | None:
    """The interval of a retention within 0 and 1; None where it does not exist.

    Args:
        retained: (1 + resamples,), of the sentences as they are, then of each resample.
        without: (trainings,), the retention without each of them.
    """
    resampled = retained[1:][~np.isnan(retained[1:])]
    if np.isnan(retained[0]) or not len(resampled) or (len(without) > 1 and np.isnan(without).any()):
        return None
    low, high = interval(resampled)
    error = float(jackknife_error(retained[0], without))
    return [min(max(bound, 0.0), 1.0) for bound in combined(float(retained[0]), low, high, error, len(without))]


def _half_interval(
    half: NDArray[np.float64], without: NDArray[np.float64], middles: Sequence[float]
) -> OpenInterval | None:
    """The interval of a half length; None where both of its bounds would be longer than all lengths that were tested.

    A curve that never falls to half has NaN: its half length is longer than the last of `middles`, the mid-points of
    the buckets. Such a bound is None. In the error over trainings, and as an estimate, NaN counts as the last
    mid-point. That is the shortest it can be, so the low bound is conservative. The high bound is None if the curve
    never falls to half without some one of the trainings. No bound is under the first mid-point.

    Args:
        half: (1 + resamples,), of the sentences as they are, then of each resample.
        without: (trainings,), the half length without each of them.
        middles: (buckets,)
    """
    if len(middles) < 2:
        return None
    bounds = _open_interval(half[1:])
    if len(without) == 1:
        return bounds
    last = middles[-1]
    estimate = last if np.isnan(half[0]) else float(half[0])
    low, high = (last if bound is None else bound for bound in bounds or (None, None))
    error = float(jackknife_error(estimate, np.where(np.isnan(without), last, without)))
    lowest, highest = combined(estimate, low, high, error, len(without))
    if lowest >= last:
        return None
    is_open = bounds is None or bounds[1] is None or np.isnan(without).any() or np.isnan(half[0]) or highest >= last
    return [max(lowest, middles[0]), None if is_open else highest]


def _open_interval(lengths: NDArray[np.float64]) -> OpenInterval | None:
    """The percentile interval of `lengths (resamples,)`. NaN is longer than any number; a bound that is NaN is None."""
    lengths = np.where(np.isnan(lengths), np.inf, lengths)
    # bounds that were drawn: between a length and infinity there is nothing to interpolate
    low = np.percentile(lengths, 2.5, method="lower")
    high = np.percentile(lengths, 97.5, method="higher")
    return None if np.isinf(low) else [float(low), None if np.isinf(high) else float(high)]
