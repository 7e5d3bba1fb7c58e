"""Is one system better than another on the same sentences, and from which source length on?

Two intervals that overlap are no test. What is asked here is asked of the difference itself:

- its interval over sentences, by the paired bootstrap (Koehn 2004, "Statistical Significance Tests for Machine
  Translation Evaluation"): both systems are scored on the same resampled sentences, and the percentiles of the
  difference are taken;
- its interval over trainings, by Student's t of the K paired differences on the sentences as they are;
- the two of them put together (`lookback.evaluation.statistics.intervals`): the 95 % interval of a difference, and the level of
  the interval that ends at 0, its p-value;
- Holm's correction of the p-values over all that a figure shows, the buckets of every arm in it, and by themselves over
  the arms' differences on the whole test set (Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure").

Under three trainings nobody knows how much they differ by chance. The p-value is then one of these trained models on
this test set, by paired approximate randomisation over sentences (Riezler and Maxwell 2005, "On Some Pitfalls in
Automatic Evaluation and Significance Testing for MT"): if the systems were alike, swapping their outputs of a sentence
would change nothing but by chance. No such difference is called significant, whatever its p: it is one of models, and
another training of the same two attentions may turn it round.

BLEU, or any other of `lookback.evaluation.MEASURES`: what all of them are asked about are the same sentences, drawn and
swapped in the same way.

An arm of several trainings is scored by the mean of their scores, all on the same sentences. Its own intervals are made
like those of a difference. One training has the interval over sentences alone, which says nothing of another training;
two have one that is honest and of little use (Student's t with one degree of freedom reaches 12.7 errors far).

Everything follows from one seed and from the order of the sentences. Another order of the test set draws other
resamples: scores and differences stay, intervals and p-values move within their sampling error.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.evaluation.length_curve import BOUNDS, ENOUGH, Bucket, cut, half_lengths, midpoint, retentions
from lookback.evaluation.scores.bleu import ORDERS, REFERENCE_LENGTH
from lookback.evaluation.scores.measures import Measure, measure_of
from lookback.evaluation.statistics.intervals import LEVEL, combined, jackknife_error, mean_error, p_values
from lookback.evaluation.statistics.resampling import RESAMPLES, interval, resample, sums_of_halves
from lookback.runs import Segments

FEW = 3
"""Trainings of an arm below which nobody knows how much they differ by chance: no difference is called significant."""
_ROUNDING = 1e-9
"""Of a score, lost in floating point, as in the tests against sacrebleu: trials so near are equally extreme."""

_TRIALS_A_TEST = 40
"""Of a family that Holm corrects: twice as many as the smallest p needs to be under 0.05 after it"""

Pair = tuple[int, int]
"""Places of two runs: the difference is the first one's score minus the second one's."""


@dataclass(frozen=True)
class Difference:
    """What an arm gains over another one: on the whole test set, and in every bucket of source lengths.

    A bucket is `{"lo", "hi", "n", "score", "other", "difference", "ci", "p", "p_holm", "significant",
    "models_differ"}`: `score` and `other`, the means of the two arms' runs; `ci` the 95 % interval of `difference`,
    over trainings and sentences, of one pair over sentences alone; `p` two-sided, of three pairs and more over
    trainings and sentences, of fewer over sentences alone; `p_holm` corrected over the buckets with n >= 50 of all
    contrasts that were tested together, None in smaller ones. Where `p_holm` < 0.05, a difference of three pairs and
    more is `significant`, and of fewer `models_differ`: these trained models do on this test set, whatever other
    trainings would. Numbers are None where n = 0, or where the measure does not exist. `whole` has neither `lo` nor
    `hi`; the whole test sets of all contrasts are a family of their own.
    """

    measure: str
    """Key of the measure (`lookback.evaluation.MEASURES`)"""
    seeds: int
    """Pairs of runs behind it"""
    whole: Bucket
    curve: list[Bucket]
    """Shortest bucket first, none left out"""

    def better_at(self) -> list[Bucket]:
        """The buckets that are significantly better; of fewer than three pairs, those where these models are better."""
        return self._decided(1)

    def worse_at(self) -> list[Bucket]:
        """The buckets that are significantly worse; of fewer than three pairs, those where these models are worse."""
        return self._decided(-1)

    def _decided(self, direction: int) -> list[Bucket]:
        sign = direction * measure_of(self.measure).better
        return [bucket for bucket in self.curve if differs(bucket) and sign * bucket["difference"] > 0]


class Resamples:
    """Scores of several runs on one test set and on the same resamples of it, whole and in every bucket of lengths.

    Sentences are drawn when a measure first asks for them, and what was summed and scored is kept: arms, differences,
    baselines and measures that share statistics take no further matrix product.
    """

    def __init__(
        self,
        runs: Sequence[Segments],
        bounds: Sequence[int] = BOUNDS,
        resamples: int = RESAMPLES,
        seed: int = 0,
        *,
        closed: bool = False,
    ) -> None:
        """Take `runs` (at least one); `bounds` and `closed` are those of `lookback.evaluation.length_curve.cut`.

        Raises `ValueError` for runs that were not tested on the same sentences.
        """
        first = runs[0]
        for place, run in enumerate(runs):
            if not (np.array_equal(run.source_length, first.source_length) and _same_references(run, first)):
                raise ValueError(f"runs[{place}]: other sentences than runs[0], expected one test set")
        self.resamples, self.seed = resamples, seed
        self._runs = runs
        # as in results.json: 4-grams are expected of a test set that has them, and of a bucket what the bucket has
        short = not (first.bleu_statistics[:, REFERENCE_LENGTH] >= ORDERS).any()
        self._whole = _Part({}, runs, np.arange(len(first)), short, resamples, (seed, 0))
        self._buckets = self._cut(bounds, closed)

    def cut(self, bounds: Sequence[int], *, closed: bool = False) -> "Resamples":
        """The same runs in other buckets; the whole test set, and what was computed of it, is shared."""
        other = copy.copy(self)
        other._buckets = self._cut(bounds, closed)
        return other

    def curve(self, run: int, measure: str = "bleu") -> list[Bucket]:
        """The curve of the one run at this place, `{"lo", "hi", "n", "score"}` a bucket; None where there is none."""
        scored = measure_of(measure)
        return [
            {**bucket.about, "n": bucket.n, "score": _number(bucket.scores(scored)[run, 0])} for bucket in self._buckets
        ]

    def arm(self, runs: Sequence[int], measure: str = "bleu") -> Bucket:
        """Sum up one arm, the runs at these places: the mean of their scores, and what length does to it.

        `{"seeds", "n", "score", "ci", "retention", "retention_ci", "half_length", "half_length_ci", "by_length"}`, each
        `ci` over trainings and sentences, of one run over sentences alone. `by_length` is the runs' mean curve, `{"lo",
        "hi", "n", "score", "ci"}` a bucket; `retention` and `half_length` are that curve's, where more of the measure
        is better, and their error over trainings is the jackknife's. No bound lies where no score can: under 0, over
        100, over a retention of 1. A length that is beyond all that were tested is None as a bound of `half_length_ci`
        (`_half_interval`). Without a sentence, and where a number does not exist, number and interval are None.
        """
        scored = measure_of(measure)
        top = 100.0 if scored.better == 1 else np.inf
        parts = (self._whole, *self._buckets)
        of_runs = [part.scores(scored)[list(runs)] for part in parts]  # each (seeds, 1 + resamples)
        whole, *curve = (scores.mean(axis=0) for scores in of_runs)
        whole_ci, *curve_ci = (_score_interval(scores, top) for scores in of_runs)
        full = [place for place, bucket in enumerate(self._buckets) if bucket.n >= ENOUGH and scored.better == 1]
        middles = [midpoint(self._buckets[place].about) for place in full]
        curves = np.stack([whole, *curve], axis=-1)[:, [1 + place for place in full]]  # (1 + resamples, buckets)
        each = np.stack(of_runs, axis=-1)[:, 0, [1 + place for place in full]]  # (seeds, buckets)
        without = (each.sum(axis=0) - each) / max(1, len(runs) - 1)  # the mean curve without each of the runs
        kept, half = retentions(curves), half_lengths(curves, middles)  # (1 + resamples,)
        return {
            "seeds": len(runs),
            "n": self._whole.n,
            "score": _number(whole[0]),
            "ci": whole_ci,
            "retention": _number(kept[0]),
            "retention_ci": _retention_interval(kept, retentions(without)),
            "half_length": _number(half[0]),
            "half_length_ci": _half_interval(half, half_lengths(without, middles), middles),
            "by_length": [
                {**bucket.about, "n": bucket.n, "score": _number(scores[0]), "ci": bounds}
                for bucket, scores, bounds in zip(self._buckets, curve, curve_ci, strict=True)
            ],
        }

    def differences(self, contrasts: Sequence[Sequence[Pair]], measure: str = "bleu") -> list[Difference]:
        """Test every contrast: pairs of runs, one of each arm, that share a seed. All of them on the same resamples.

        Contrasts that are passed together are shown together: their buckets are one family of Holm's correction.
        """
        scored = measure_of(measure)
        wholes = self.whole_differences(contrasts, measure)
        curves = [self._tested(bucket, contrasts, scored, len(self._buckets)) for bucket in self._buckets]
        _correct(
            [
                (bucket, len(pairs))
                for of in curves
                for bucket, pairs in zip(of, contrasts, strict=True)
                if bucket["n"] >= ENOUGH
            ]
        )
        return [
            Difference(measure, len(pairs), whole, [bucket[place] for bucket in curves])
            for place, (pairs, whole) in enumerate(zip(contrasts, wholes, strict=True))
        ]

    def whole_differences(self, contrasts: Sequence[Sequence[Pair]], measure: str = "bleu") -> list[Bucket]:
        """The `whole` of each contrast's `Difference`: one family of Holm's correction."""
        wholes = self._tested(self._whole, contrasts, measure_of(measure), 1)
        _correct([(whole, len(pairs)) for whole, pairs in zip(wholes, contrasts, strict=True)])
        return wholes

    def _cut(self, bounds: Sequence[int], closed: bool) -> list["_Part"]:
        return [
            _Part(bucket, self._runs, chosen, True, self.resamples, (self.seed, bucket["lo"]))
            for bucket, chosen in cut(self._runs[0].source_length, bounds, closed=closed)
        ]

    def _tested(self, part: "_Part", contrasts: Sequence[Sequence[Pair]], measure: Measure, parts: int) -> list[Bucket]:
        """One bucket of every contrast, its p-value not corrected yet: `parts` of them make a family."""
        # p is never under 1 / (trials + 1), and Holm multiplies it: in a large family few trials could decide nothing
        family = parts * len(contrasts)
        trials = self.resamples if family < LEVEL * self.resamples else _TRIALS_A_TEST * family
        scores = part.scores(measure)
        nothing = dict.fromkeys(("score", "other", "difference", "ci", "p"))
        undecided = {"p_holm": None, "significant": False, "models_differ": False}
        tested: list[Bucket] = []
        known: dict[int, _Mean] = {}
        for place, pairs in enumerate(contrasts):
            first, second = scores[[pair[0] for pair in pairs]], scores[[pair[1] for pair in pairs]]
            found: Bucket = nothing
            if (difference := _mean(first - second)) is not None:
                known[place] = difference
                found = {
                    "score": float(first[:, 0].mean()),
                    "other": float(second[:, 0].mean()),
                    "difference": difference.value,
                    "ci": difference.interval(),
                    "p": None,
                }
            tested.append({**part.about, "n": part.n, **found, **undecided})
        few = [place for place in known if len(contrasts[place]) < FEW]
        found_p = part.randomisation([contrasts[place] for place in few], measure, trials)
        for place, p in zip(few, found_p, strict=True):
            tested[place]["p"] = p
        for trainings in sorted({mean.trainings for mean in known.values()} - set(range(FEW))):
            alike = {place: mean for place, mean in known.items() if mean.trainings == trainings}
            values, low, high, errors = np.array([mean[:4] for mean in alike.values()]).T
            for place, p in zip(alike, p_values(values, low, high, errors, trainings), strict=True):
                tested[place]["p"] = p
        return tested


def differs(bucket: Bucket) -> bool:
    """Whether a bucket of a `Difference` has a verdict: of attentions, or under three pairs of these trained models."""
    return bool(bucket["significant"] or bucket["models_differ"])


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


class _Part:
    """Sentences that are scored together: the whole test set, or a bucket of it."""

    def __init__(
        self,
        about: Bucket,
        runs: Sequence[Segments],
        chosen: NDArray[np.int64],
        effective_order: bool,
        resamples: int,
        seed: Sequence[int],
    ) -> None:
        self.about, self.n = about, len(chosen)
        self._runs, self._chosen, self._effective_order = runs, chosen, effective_order
        self._resamples, self._seed = resamples, seed
        self._scores: dict[str, NDArray[np.float64]] = {}
        self._sums: dict[tuple[str, Callable[..., Any], int], NDArray[np.float64]] = {}

    def scores(self, measure: Measure) -> NDArray[np.float64]:
        """(runs, 1 + resamples): of the sentences as they are, then of each resample; NaN where it does not exist."""
        if measure.key not in self._scores:
            if self.n:
                scores = measure.score(
                    self._summed(measure.statistics, resample, self._resamples), self._effective_order
                )
            else:
                scores = np.full((len(self._runs), 1 + self._resamples), np.nan)
            self._scores[measure.key] = scores
        return self._scores[measure.key]

    def randomisation(self, contrasts: Sequence[Sequence[Pair]], measure: Measure, trials: int) -> list[float]:
        """p of each contrast: how often its difference is as large, either way, once the arms are swapped at random.

        A sentence is swapped in all pairs of runs or in none, since their outputs for it are no independent samples.
        The sentences as they are count as one of the trials (Riezler and Maxwell's (c + 1) / (R + 1)): p is never 0.
        """
        if not contrasts:
            return []
        first, second = np.array([pair for pairs in contrasts for pair in pairs], dtype=np.intp).reshape(-1, 2).T
        total = self._summed(measure.statistics, resample, self._resamples)[:, :1]  # (runs, 1, columns)
        swapped = self._summed(measure.statistics, sums_of_halves, trials)
        moved = swapped[second] - swapped[first]  # (pairs, 1 + trials, columns)
        moved[:, 0] = 0

        def scored(sums: NDArray[np.float64]) -> NDArray[np.float64]:
            return measure.score(sums, self._effective_order)

        differences = scored(total[first] + moved) - scored(total[second] - moved)
        p_values, start = [], 0
        for pairs in contrasts:
            size = np.abs(differences[start : start + len(pairs)].mean(axis=0))
            p_values.append(float(np.mean(size >= size[0] - _ROUNDING)))
            start += len(pairs)
        return p_values

    def _summed(self, statistics: str, draw: Callable[..., NDArray[np.float64]], times: int) -> NDArray[np.float64]:
        """(runs, 1 + times, columns): these statistics of the sentences as they are, then of each draw of them."""
        key = statistics, draw, times
        if key not in self._sums:
            counts = np.stack([getattr(run, statistics)[self._chosen] for run in self._runs])
            drawn = draw(counts, times, self._seed)
            self._sums[key] = np.concatenate([counts.sum(axis=1, keepdims=True), drawn], axis=1)
        return self._sums[key]


class _Mean(NamedTuple):
    """The mean over trainings of a number that every resample has too."""

    value: float
    low: float
    """Of the 95 % percentile interval over sentences"""
    high: float
    error: float
    """Standard error over trainings"""
    trainings: int

    def interval(self) -> list[float]:
        """The 95 % interval over trainings and sentences."""
        return combined(self.value, self.low, self.high, self.error, self.trainings)


def _mean(values: NDArray[np.float64]) -> _Mean | None:
    """The mean of `values (trainings, 1 + resamples)`, and of each resample; None where it does not exist."""
    mean = values.mean(axis=0)
    resampled = mean[1:][~np.isnan(mean[1:])]
    if np.isnan(mean[0]) or not len(resampled):
        return None
    low, high = interval(resampled)
    return _Mean(float(mean[0]), low, high, float(mean_error(values[:, 0])), len(values))


def _correct(family: Sequence[tuple[Bucket, int]]) -> None:
    """Holm's correction, and the verdict, for the buckets of a family that have a p-value; each with its trainings."""
    family = [(bucket, trainings) for bucket, trainings in family if bucket["p"] is not None]
    corrected = holm([bucket["p"] for bucket, _ in family])
    for (bucket, trainings), p in zip(family, corrected, strict=True):
        bucket["p_holm"] = float(p)
        bucket["significant" if trainings >= FEW else "models_differ"] = bool(p < LEVEL)


def _score_interval(values: NDArray[np.float64], top: float) -> list[float] | None:
    """The interval of a mean score, `values (trainings, 1 + resamples)`, within 0 and `top`; None where none exists."""
    mean = _mean(values)
    return None if mean is None else [min(max(bound, 0.0), top) for bound in mean.interval()]


def _retention_interval(kept: NDArray[np.float64], without: NDArray[np.float64]) -> list[float] | None:
    """The interval of a retention, `kept (1 + resamples,)`, `without (trainings,)` each of them; within 0 and 1."""
    resampled = kept[1:][~np.isnan(kept[1:])]
    if np.isnan(kept[0]) or not len(resampled) or (len(without) > 1 and np.isnan(without).any()):
        return None
    low, high = interval(resampled)
    bounds = combined(float(kept[0]), low, high, float(jackknife_error(kept[0], without)), len(without))
    return [min(max(bound, 0.0), 1.0) for bound in bounds]


def _half_interval(
    half: NDArray[np.float64], without: NDArray[np.float64], middles: Sequence[float]
) -> list[float | None] | None:
    """The interval of a half length, `half (1 + resamples,)`, `without (trainings,)` each of them; NaN: never reached.

    What is never reached is beyond the last of `middles`, the mid-points of the curve: a bound there is None. For the
    error over trainings, and for an estimate that is itself beyond, it counts as that last mid-point, as near as it
    can be, which makes the low bound conservative. The high bound is None if leaving out any one training gives a
    curve that never falls to half. No bound is under the first mid-point. None where both would be beyond.
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


def _open_interval(lengths: NDArray[np.float64]) -> list[float | None] | None:
    """The percentile interval of `lengths (resamples,)` whose NaN are longer than all others; such a bound is None."""
    lengths = np.where(np.isnan(lengths), np.inf, lengths)
    # bounds that were drawn: between a length and infinity there is nothing to interpolate
    low = np.percentile(lengths, 2.5, method="lower")
    high = np.percentile(lengths, 97.5, method="higher")
    return None if np.isinf(low) else [float(low), None if np.isinf(high) else float(high)]


def _number(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def _same_references(one: Segments, other: Segments) -> bool:
    return np.array_equal(one.bleu_statistics[:, REFERENCE_LENGTH], other.bleu_statistics[:, REFERENCE_LENGTH])
