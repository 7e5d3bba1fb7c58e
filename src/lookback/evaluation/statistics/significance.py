"""Is one system better than another on the same sentences, and from which source length on?

Two intervals that overlap are no test. What is asked here is asked of the difference itself:

- its interval over sentences, by the paired bootstrap (Koehn 2004, "Statistical Significance Tests for Machine
  Translation Evaluation"): both systems are scored on the same resampled sentences, and the percentiles of the
  difference are taken;
- its interval over trainings, by Student's t of the K paired differences on the sentences as they are;
- the two of them put together (`lookback.evaluation.statistics.intervals`): the 95 % interval of a difference, and its
  p-value, the level of the interval that ends at 0;
- Holm's correction of the p-values over all that a figure shows, the buckets of every arm in it. The arms' differences
  on the whole test set are corrected by themselves (Holm 1979, "A Simple Sequentially Rejective Multiple Test
  Procedure").

Under three trainings nobody knows how much they differ by chance. The p-value is then one of these trained models on
this test set, by paired approximate randomisation over sentences (Riezler and Maxwell 2005, "On Some Pitfalls in
Automatic Evaluation and Significance Testing for MT"): if the systems were alike, swapping their outputs of a sentence
would change nothing but by chance. No such difference is called significant, whatever its p: it is one of models, and
another training of the same two attentions may turn it round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.evaluation.length_curve import ENOUGH
from lookback.evaluation.scores.measures import Measure, measure_of
from lookback.evaluation.statistics.intervals import LEVEL, p_values
from lookback.evaluation.statistics.parts import Mean, Part, mean_of
from lookback.evaluation.statistics.resampling import sums_of_halves
from lookback.runs import Interval, LengthRange

FEW = 3
"""Trainings of an arm below which nobody knows how much they differ by chance: no difference is called significant."""
_ROUNDING = 1e-9
"""Of a score, lost in floating point, as in the tests against sacrebleu: trials so near are equally extreme."""

_TRIALS_A_TEST = 40
"""Of a family that Holm corrects: twice as many as the smallest p needs to be under 0.05 after it"""

Pair = tuple[int, int]
"""Places of two runs: the difference is the first one's score minus the second one's."""
Contrasts = Sequence[Sequence[Pair]]
"""The pairs of each contrast"""


class PairedDifference(TypedDict):
    """The difference between two arms on some sentences. Numbers are None where n = 0 or the measure does not exist."""

    n: int
    """Sentences"""
    score: float | None
    """Mean of the first arm's runs"""
    other: float | None
    """Mean of the second arm's runs"""
    difference: float | None
    ci: Interval | None
    """95 % interval of the difference over trainings and sentences; of one pair over sentences alone"""
    p: float | None
    """Two-sided: of three pairs and more over trainings and sentences, of fewer over sentences alone"""
    p_holm: float | None
    """Corrected over the family; None in a bucket with n < 50"""
    significant: bool
    """p_holm < 0.05, of three pairs and more"""
    models_differ: bool
    """p_holm < 0.05, of fewer: these trained models differ on this test set, whatever other trainings would do"""


class BucketDifference(LengthRange, PairedDifference):
    """The same in a bucket of source lengths."""


@dataclass(frozen=True)
class Difference:
    """What an arm gains over another one: on the whole test set, and in every bucket of source lengths.

    The buckets with n >= 50 of all contrasts that were tested together are one family of Holm's correction; their whole
    test sets are a family of their own.
    """

    measure: str
    """Key of the measure (`lookback.evaluation.MEASURES`)"""
    seeds: int
    """Pairs of runs that were compared; 1 where an arm has one output, which was compared with each run of the other"""
    whole: PairedDifference
    curve: list[BucketDifference]
    """Shortest bucket first, none left out"""

    def better_at(self) -> list[BucketDifference]:
        """The buckets that are significantly better; of fewer than three pairs, those where these models are better."""
        return self._decided(1)

    def worse_at(self) -> list[BucketDifference]:
        """The buckets that are significantly worse; of fewer than three pairs, those where these models are worse."""
        return self._decided(-1)

    def _decided(self, direction: int) -> list[BucketDifference]:
        sign = direction * measure_of(self.measure).better
        return [bucket for bucket in self.curve if differs(bucket) and sign * (bucket["difference"] or 0) > 0]


def trainings_of(pairs: Sequence[Pair]) -> int:
    """Of how many trainings a verdict may speak: those of the arm that has fewer runs in these pairs."""
    return min(len({pair[side] for pair in pairs}) for side in (0, 1))


def differs(tested: Mapping[str, Any]) -> bool:
    """Whether a `PairedDifference` has a verdict: of attentions, or under three pairs of these trained models."""
    return bool(tested["significant"] or tested["models_differ"])


def whole_differences(whole: Part, contrasts: Contrasts, measure: Measure, resamples: int) -> list[PairedDifference]:
    """Test every contrast on the whole test set: one family of Holm's correction."""
    wholes = _tested(whole, contrasts, measure, _trials(len(contrasts), resamples))
    _correct([(tested, trainings_of(pairs)) for tested, pairs in zip(wholes, contrasts, strict=True)])
    return wholes


def curve_differences(
    buckets: Sequence[Part], contrasts: Contrasts, measure: Measure, resamples: int
) -> list[list[BucketDifference]]:
    """Test every contrast in every bucket: one family of Holm's correction. A list of buckets a contrast."""
    trials = _trials(len(buckets) * len(contrasts), resamples)
    curves: list[list[BucketDifference]] = [[] for _ in contrasts]
    for bucket in buckets:
        for curve, tested in zip(curves, _tested(bucket, contrasts, measure, trials), strict=True):
            curve.append({**bucket.lengths, **tested})
    _correct(
        [
            (tested, trainings_of(pairs))
            for curve, pairs in zip(curves, contrasts, strict=True)
            for tested in curve
            if tested["n"] >= ENOUGH
        ]
    )
    return curves


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Correct the p-values `(tests,)` of one family for their number, step down (Holm 1979): `(tests,)`.

    The smallest of m is multiplied by m, the next one by m - 1, and so on; none gets below one that was smaller, nor
    over 1. The chance of any false rejection stays under the level, however the tests depend on each other.
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(stepped, 1)
    return corrected


def _trials(family: int, resamples: int) -> int:
    """How often to swap at random.

    p is never under 1 / (trials + 1), and Holm multiplies it: in a large family few trials could decide nothing.
    """
    return resamples if family < LEVEL * resamples else _TRIALS_A_TEST * family


def _tested(part: Part, contrasts: Contrasts, measure: Measure, trials: int) -> list[PairedDifference]:
    """Test every contrast on these sentences; the p-values are not corrected yet."""
    scores = part.scores(measure)  # (runs, 1 + resamples)
    sides = [[scores[[pair[side] for pair in pairs]] for side in (0, 1)] for pairs in contrasts]
    means = [mean_of(first - second) for first, second in sides]
    found: list[PairedDifference] = []
    for (first, second), mean, p in zip(sides, means, _p_values(part, contrasts, means, measure, trials), strict=True):
        found.append(
            {
                "n": part.n,
                "score": None if mean is None else float(first[:, 0].mean()),
                "other": None if mean is None else float(second[:, 0].mean()),
                "difference": None if mean is None else mean.value,
                "ci": None if mean is None else mean.interval(),
                "p": p,
                "p_holm": None,
                "significant": False,
                "models_differ": False,
            }
        )
    return found


def _p_values(
    part: Part, contrasts: Contrasts, means: Sequence[Mean | None], measure: Measure, trials: int
) -> list[float | None]:
    """p of each contrast, by the test that its number of trainings allows; None where there is no difference."""
    known = {place: mean for place, mean in enumerate(means) if mean is not None}
    found: dict[int, float] = {}
    few = [place for place, mean in known.items() if mean.trainings < FEW]
    found |= zip(few, randomisation(part, [contrasts[place] for place in few], measure, trials), strict=True)
    for trainings in sorted({mean.trainings for mean in known.values() if mean.trainings >= FEW}):
        alike = {place: mean for place, mean in known.items() if mean.trainings == trainings}
        values, low, high, errors = np.array([mean[:4] for mean in alike.values()]).T
        found |= zip(alike, p_values(values, low, high, errors, trainings), strict=True)
    return [found.get(place) for place in range(len(means))]


def randomisation(part: Part, contrasts: Contrasts, measure: Measure, trials: int) -> list[float]:
    """p of each contrast: how often its difference is as large, either way, once the arms are swapped at random.

    A sentence is swapped in all pairs of runs or in none, since their outputs for it are no independent samples. The
    sentences as they are count as one of the trials (Riezler and Maxwell's (c + 1) / (R + 1)): p is never 0.
    """
    if not contrasts:
        return []
    first, second = np.array([pair for pairs in contrasts for pair in pairs], dtype=np.intp).reshape(-1, 2).T
    total = part.resampled(measure)[:, :1]  # (runs, 1, columns)
    swapped = part.summed(measure, sums_of_halves, trials)
    moved = swapped[second] - swapped[first]  # (pairs, 1 + trials, columns)
    moved[:, 0] = 0
    differences = part.score(measure, total[first] + moved) - part.score(measure, total[second] - moved)
    p_values, start = [], 0
    for pairs in contrasts:
        size = np.abs(differences[start : start + len(pairs)].mean(axis=0))
        p_values.append(float(np.mean(size >= size[0] - _ROUNDING)))
        start += len(pairs)
    return p_values


def _correct(family: Sequence[tuple[PairedDifference, int]]) -> None:
    """Write Holm's correction and the verdict into those of a family that have a p-value; each with its trainings."""
    known = [(tested, trainings, p) for tested, trainings in family if (p := tested["p"]) is not None]
    for (tested, trainings, _), p in zip(known, holm([p for _, _, p in known]), strict=True):
        tested["p_holm"] = float(p)
        tested["significant" if trainings >= FEW else "models_differ"] = bool(p < LEVEL)
