"""How sure the mean of several trainings is: its error over sentences and its error over trainings.

A mean over K trainings (or over K pairs of them) has two independent errors. Another test set would have other
sentences: that error's interval is a percentile bootstrap, which need not be symmetric. Another K trainings would have
other seeds: that error's interval is Student's, since K is small and their spread is itself a guess. With K = 3 it
reaches 4.3 standard errors to either side, not 2.

The two are combined by the method of variance estimates recovery (MOVER: Zou and Donner 2008, "Construction of
confidence intervals about effect measures: a general approach"): each bound's distances from the estimate are added as
squares.

    low  = d - sqrt((d - low of the sentences)² + (t s / sqrt(K))²)
    high = d + sqrt((high of the sentences - d)² + (t s / sqrt(K))²)

A p-value is the level of the interval that ends at 0, so that p < 0.05 just where the 95 % interval leaves out 0. (Of
fewer than three trainings p is another one, of these models alone: see
`lookback.evaluation.statistics.significance`.) A t statistic with Satterthwaite's degrees of freedom would be the
common choice. With three trainings it finds a p under 0.003 up to seven times too often, wherever chance makes the
spread of three look small, and small p-values are what Holm's correction asks for. This one is never found too often.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.05
"""Of the tests: their intervals are of 95 %"""
_SMALLEST = 1e-12
"""No p-value is said to be smaller"""
_ROUNDING = 1e-9
"""Of a score, lost in floating point, as in the tests against sacrebleu"""


def jackknife_error(estimate: ArrayLike, without: ArrayLike) -> NDArray[np.float64]:
    """The standard error of an `estimate (…)` over the trainings behind it, from those `without (trainings, …)` one.

    Tukey's jackknife, `(…)`; s / sqrt(K) where the estimate is a mean. 0 of one training, whose error nobody knows.
    """
    estimate, without = np.asarray(estimate, dtype=np.float64), np.asarray(without, dtype=np.float64)
    trainings = len(without)
    if trainings == 1:
        return np.zeros_like(estimate)
    return np.sqrt((trainings - 1) / trainings * ((without - without.mean(axis=0)) ** 2).sum(axis=0))


def mean_error(values: ArrayLike) -> NDArray[np.float64]:
    """The standard error s / sqrt(K) of the mean of `values (K, …)`, `(…)`; 0 of one, whose error nobody knows."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) == 1:
        return np.zeros(values.shape[1:])
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


def combined(estimate: float, low: float, high: float, error: float, trainings: int) -> list[float]:
    """The 95 % interval of an `estimate` with the interval `low, high` over sentences and `error` over `trainings`.

    Where a bound of the bootstrap lies on the wrong side of the estimate, the estimate takes its place. Of one training
    it is the interval over sentences alone, unchanged.
    """
    if trainings == 1:
        return [low, high]
    reach = _student(trainings, LEVEL / 2) * error
    return [
        float(estimate - np.hypot(max(0.0, estimate - low), reach)),
        float(estimate + np.hypot(max(0.0, high - estimate), reach)),
    ]


def p_values(estimates: ArrayLike, low: ArrayLike, high: ArrayLike, errors: ArrayLike, trainings: int) -> list[float]:
    """Two-sided p of each estimate: the level of the interval (`combined`) that ends at 0. At least two `trainings`.

    All are `(tests,)`: `low` and `high` the 95 % intervals over sentences, `errors` over trainings. For levels
    other than 95 % the bound over sentences is scaled as a normal quantile is.
    """
    from scipy.special import ndtri

    estimates, low, high = (np.asarray(values, dtype=np.float64) for values in (estimates, low, high))
    squares = np.where(np.abs(estimates) < _ROUNDING, 0, estimates**2)
    towards_zero = np.maximum(0, np.where(estimates > 0, estimates - low, high - estimates))
    sentences = (towards_zero / -ndtri(LEVEL / 2)) ** 2
    seeds = np.asarray(errors, dtype=np.float64) ** 2
    # the levels between which the interval begins to reach 0, as logarithms of a tail's share: halved to eight digits
    inside, outside = np.full(len(squares), np.log(_SMALLEST / 2)), np.full(len(squares), np.log(0.5))
    for _ in range(32):
        middle = (inside + outside) / 2
        tail = np.exp(middle)
        reaches = _student(trainings, tail) ** 2 * seeds + ndtri(tail) ** 2 * sentences >= squares
        inside, outside = np.where(reaches, middle, inside), np.where(reaches, outside, middle)
    return [float(p) for p in np.where(squares == 0, 1.0, 2 * np.exp(inside))]


def _student(trainings: int, tail: ArrayLike) -> NDArray[np.float64]:
    """How many standard errors away Student's distribution leaves a `tail`'s share: 4.30 of three, 2.5 % each side."""
    from scipy.special import stdtrit

    return -np.asarray(stdtrit(trainings - 1, tail))
