"""Is one system better than another on the same sentences, and from which source length on?

Two intervals that overlap are no test. What is asked here is asked of the difference itself:

- its interval, by the paired bootstrap (Koehn 2004, "Statistical Significance Tests for Machine Translation
  Evaluation"): both systems are scored on the same resampled sentences, and the percentiles of the difference are
  taken;
- its p-value, by paired approximate randomisation (Riezler and Maxwell 2005, "On Some Pitfalls in Automatic Evaluation
  and Significance Testing for MT"): if the systems were alike, swapping their outputs of a sentence would change
  nothing but by chance;
- Holm's correction of the p-values over the buckets of a curve (Holm 1979, "A Simple Sequentially Rejective Multiple
  Test Procedure").

BLEU, or any other of `lookback.evaluation.MEASURES`: what all of them are asked about are the same sentences, drawn and
swapped in the same way.

An arm of several trainings is scored by the mean of their scores. Its intervals come from a bootstrap of two levels: a
resample draws trainings, and then one set of sentences for all of them, because they were all tested on the same one.
The p-value is over sentences alone: with few trainings no test of theirs can reject anything (three pairs of runs have
eight ways to be swapped). So a difference is called significant only where its interval leaves out 0 as well.

Everything follows from one seed and from the order of the sentences. Another order of the test set draws other
resamples: scores and differences stay, intervals and p-values move within their sampling error.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.evaluation.bleu import ORDERS, REFERENCE_LENGTH
from lookback.evaluation.length_curve import BOUNDS, ENOUGH, Bucket, cut, half_lengths, midpoint, retentions
from lookback.evaluation.measures import Measure, measure_of
from lookback.evaluation.resampling import RESAMPLES, interval, resample, seed_weights, sums_of_halves
from lookback.evaluation.segments import Segments

LEVEL = 0.05
_ROUNDING = 1e-9
"""Of a score, lost in floating point, as in the tests against sacrebleu: trials so near are equally extreme."""

Pair = tuple[int, int]
"""Places of two runs: the difference is the first one's score minus the second one's."""


@dataclass(frozen=True)
class Difference:
    """What an arm gains over another one: on the whole test set, and in every bucket of source lengths.

    A bucket is `{"lo", "hi", "n", "score", "other", "difference", "ci", "p", "p_holm", "significant"}`: `score` and
    `other`, the means of the two arms' runs; `ci` the 95 % interval of `difference`; `p` two-sided; `p_holm` corrected
    over the curve's buckets with n >= 50, None in smaller ones, which are never `significant`. Numbers are None where
    n = 0, or where the measure does not exist. `whole` has neither `lo` nor `hi`, and is a family of its own.
    """

    measure: str
    """Key of the measure (`lookback.evaluation.MEASURES`)"""
    seeds: int
    """Pairs of runs behind it"""
    whole: Bucket
    curve: list[Bucket]
    """Shortest bucket first, none left out"""

    def better_from(self) -> list[Bucket]:
        """The buckets with n >= 50 from the first one on from which on all of them are significantly better."""
        sign = measure_of(self.measure).better
        better: list[Bucket] = []
        for bucket in reversed([bucket for bucket in self.curve if bucket["n"] >= ENOUGH]):
            if not (bucket["significant"] and sign * bucket["difference"] > 0):
                break
            better.insert(0, bucket)
        return better


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
        self._drawn: dict[int, NDArray[np.float64]] = {}
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
        `ci` by the bootstrap of two levels. `by_length` is the runs' mean curve, `{"lo", "hi", "n", "score", "ci"}` a
        bucket; `retention` and `half_length` are that curve's, where more of the measure is better. A length that a
        resample never falls to is beyond all that were tested: such a bound of `half_length_ci` is None. Without a
        sentence, and where a number does not exist, number and interval are None.
        """
        scored, weights = measure_of(measure), self._weights(len(runs))
        parts = (self._whole, *self._buckets)
        whole, *curve = (_weighted(part.scores(scored)[list(runs)], weights) for part in parts)
        full = [place for place, bucket in enumerate(self._buckets) if bucket.n >= ENOUGH and scored.better == 1]
        curves = np.stack([whole, *curve], axis=-1)[:, [1 + place for place in full]]  # (1 + resamples, buckets)
        kept = retentions(curves)  # (1 + resamples,)
        half = half_lengths(curves, [midpoint(self._buckets[place].about) for place in full])
        return {
            "seeds": len(runs),
            "n": self._whole.n,
            "score": _number(whole[0]),
            "ci": _interval(whole[1:]),
            "retention": _number(kept[0]),
            "retention_ci": _interval(kept[1:]),
            "half_length": _number(half[0]),
            "half_length_ci": _open_interval(half[1:]),
            "by_length": [
                {**bucket.about, "n": bucket.n, "score": _number(scores[0]), "ci": _interval(scores[1:])}
                for bucket, scores in zip(self._buckets, curve, strict=True)
            ],
        }

    def differences(self, contrasts: Sequence[Sequence[Pair]], measure: str = "bleu") -> list[Difference]:
        """Test every contrast: pairs of runs, one of each arm, that share a seed. All of them on the same resamples."""
        scored = measure_of(measure)
        wholes = self._tested(self._whole, contrasts, scored)
        curves = [self._tested(bucket, contrasts, scored) for bucket in self._buckets]
        differences = []
        for place, pairs in enumerate(contrasts):
            whole, curve = wholes[place], [bucket[place] for bucket in curves]
            _correct([whole])
            _correct([bucket for bucket in curve if bucket["n"] >= ENOUGH])
            differences.append(Difference(measure, len(pairs), whole, curve))
        return differences

    def _cut(self, bounds: Sequence[int], closed: bool) -> list["_Part"]:
        return [
            _Part(bucket, self._runs, chosen, True, self.resamples, (self.seed, bucket["lo"]))
            for bucket, chosen in cut(self._runs[0].source_length, bounds, closed=closed)
        ]

    def _tested(self, part: "_Part", contrasts: Sequence[Sequence[Pair]], measure: Measure) -> list[Bucket]:
        """One bucket of every contrast, its p-value not corrected yet."""
        nothing = dict.fromkeys(("score", "other", "difference", "ci", "p"))
        tested = []
        scores = part.scores(measure)
        p_values = part.randomisation(contrasts, measure)
        for pairs, p in zip(contrasts, p_values, strict=True):
            first, second = scores[[pair[0] for pair in pairs]], scores[[pair[1] for pair in pairs]]
            difference = _weighted(first - second, self._weights(len(pairs)))
            found = {
                "score": float(first[:, 0].mean()),
                "other": float(second[:, 0].mean()),
                "difference": float(difference[0]),
                "ci": _interval(difference[1:]),
                "p": p,
            }
            known = not np.isnan(difference[0])
            tested.append(
                {**part.about, "n": part.n, **(found if known else nothing), "p_holm": None, "significant": False}
            )
        return tested

    def _weights(self, seeds: int) -> NDArray[np.float64]:
        """Of an arm's runs, `(1 + resamples, seeds)`: as they are, then in each resample; in every bucket the same."""
        if seeds not in self._drawn:
            alike = np.full((1, seeds), 1 / seeds)
            self._drawn[seeds] = np.concatenate([alike, seed_weights(seeds, self.resamples, self.seed)])
        return self._drawn[seeds]


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
        self._sums: dict[tuple[str, Callable[..., Any]], NDArray[np.float64]] = {}

    def scores(self, measure: Measure) -> NDArray[np.float64]:
        """(runs, 1 + resamples): of the sentences as they are, then of each resample; NaN where it does not exist."""
        if measure.key not in self._scores:
            if self.n:
                scores = measure.score(self._summed(measure.statistics, resample), self._effective_order)
            else:
                scores = np.full((len(self._runs), 1 + self._resamples), np.nan)
            self._scores[measure.key] = scores
        return self._scores[measure.key]

    def randomisation(self, contrasts: Sequence[Sequence[Pair]], measure: Measure) -> list[float]:
        """p of each contrast: how often its difference is as large, either way, once the arms are swapped at random.

        A sentence is swapped in all pairs of runs or in none, since their outputs for it are no independent samples.
        The sentences as they are count as one of the trials (Riezler and Maxwell's (c + 1) / (R + 1)): p is never 0.
        """
        if not self.n:
            return [np.nan] * len(contrasts)
        first, second = np.array([pair for pairs in contrasts for pair in pairs], dtype=np.intp).reshape(-1, 2).T
        total = self._summed(measure.statistics, resample)[:, :1]  # (runs, 1, columns)
        swapped = self._summed(measure.statistics, sums_of_halves)
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

    def _summed(self, statistics: str, draw: Callable[..., NDArray[np.float64]]) -> NDArray[np.float64]:
        """(runs, 1 + resamples, columns): these statistics of the sentences as they are, then of each draw of them."""
        key = statistics, draw
        if key not in self._sums:
            counts = np.stack([getattr(run, statistics)[self._chosen] for run in self._runs])
            drawn = draw(counts, self._resamples, self._seed)
            self._sums[key] = np.concatenate([counts.sum(axis=1, keepdims=True), drawn], axis=1)
        return self._sums[key]


def _correct(family: Sequence[Bucket]) -> None:
    """Holm's correction, and the verdict, for the buckets of a family that have a p-value."""
    family = [bucket for bucket in family if bucket["p"] is not None]
    for bucket, p in zip(family, holm([bucket["p"] for bucket in family]), strict=True):
        low, high = bucket["ci"]
        bucket["p_holm"] = float(p)
        bucket["significant"] = bool(p < LEVEL and not low <= 0 <= high)


def _weighted(scores: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """`scores (seeds, 1 + resamples)`, each resample's trainings weighed: `(1 + resamples,)`."""
    return np.einsum("sr,rs->r", scores, weights)


def _interval(values: NDArray[np.float64]) -> list[float] | None:
    """The percentile interval of `values (resamples,)` that exist; None where none does."""
    values = values[~np.isnan(values)]
    return interval(values) if len(values) else None


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
