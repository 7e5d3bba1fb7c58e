"""Several runs on one test set: their scores, arms and differences, all on the same resampled sentences.

BLEU, or any other of `lookback.evaluation.MEASURES`: the sentences are drawn and swapped in the same way for all of
them. Everything follows from one seed and from the order of the sentences. Another order of the test set draws other
resamples: scores and differences stay, intervals and p-values move within their sampling error.
"""

import copy
from collections.abc import Sequence

import numpy as np

from lookback.evaluation.length_curve import BOUNDS, cut, none_for_nan
from lookback.evaluation.scores.bleu import ORDERS, REFERENCE_LENGTH
from lookback.evaluation.scores.measures import measure_of
from lookback.evaluation.statistics.arms import Arm, arm_of
from lookback.evaluation.statistics.parts import Part, ScoredBucket
from lookback.evaluation.statistics.resampling import RESAMPLES
from lookback.evaluation.statistics.significance import (
    Contrasts,
    Difference,
    PairedDifference,
    curve_differences,
    trainings_of,
    whole_differences,
)
from lookback.runs import Segments


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
        self._whole = Part(None, runs, np.arange(len(first)), short, resamples, (seed, 0))
        self._buckets = self._cut(bounds, closed)

    def cut(self, bounds: Sequence[int], *, closed: bool = False) -> "Resamples":
        """The same runs in other buckets; the whole test set, and what was computed of it, is shared."""
        other = copy.copy(self)
        other._buckets = self._cut(bounds, closed)
        return other

    def curve(self, run: int, measure: str = "bleu") -> list[ScoredBucket]:
        """The curve of the one run at this place, shortest bucket first."""
        scored = measure_of(measure)
        return [
            {**bucket.lengths, "n": bucket.n, "score": none_for_nan(bucket.scores(scored)[run, 0])}
            for bucket in self._buckets
        ]

    def arm(self, runs: Sequence[int], measure: str = "bleu") -> Arm:
        """Sum up one arm, the runs at these places: the mean of their scores, and what length does to it."""
        return arm_of(self._whole, self._buckets, runs, measure_of(measure))

    def differences(self, contrasts: Contrasts, measure: str = "bleu") -> list[Difference]:
        """Test every contrast: pairs of runs, one of each arm, that share a seed. All of them on the same resamples.

        Contrasts that are passed together are shown together: their buckets are one family of Holm's correction.
        """
        wholes = self.whole_differences(contrasts, measure)
        curves = curve_differences(self._buckets, contrasts, measure_of(measure), self.resamples)
        return [
            Difference(measure, trainings_of(pairs), whole, curve)
            for pairs, whole, curve in zip(contrasts, wholes, curves, strict=True)
        ]

    def whole_differences(self, contrasts: Contrasts, measure: str = "bleu") -> list[PairedDifference]:
        """The `whole` of each contrast's `Difference`: one family of Holm's correction."""
        return whole_differences(self._whole, contrasts, measure_of(measure), self.resamples)

    def _cut(self, bounds: Sequence[int], closed: bool) -> list[Part]:
        return [
            Part(lengths, self._runs, chosen, True, self.resamples, (self.seed, lengths["lo"]))
            for lengths, chosen in cut(self._runs[0].source_length, bounds, closed=closed)
        ]


def _same_references(one: Segments, other: Segments) -> bool:
    return np.array_equal(one.bleu_statistics[:, REFERENCE_LENGTH], other.bleu_statistics[:, REFERENCE_LENGTH])
