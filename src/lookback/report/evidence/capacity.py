"""How many words fit in a vector of n numbers: the length that each size holds, and a law fitted to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.evaluation import ENOUGH, RESAMPLES, bleu, label, resample
from lookback.evaluation.length_curve import cut
from lookback.evaluation.statistics.resampling import interval
from lookback.report.evidence.contrasts import Counts, counts_of
from lookback.report.evidence.differences import settings_but
from lookback.runs import Interval, LengthRange, Run, Segments

SIZE = "encoder.hidden_size"
"""The one setting, beside the seed, in which the runs differ"""
THRESHOLD = 50.0
"""BLEU of what still fits. Fixed, as half of a run's own best would exist for a vector too small for any sentence."""
SIZES = 3
"""Fewest sizes that make a law: a line through two points always fits"""
_WIDTHS, _BUCKETS, _LONGEST = (2, 3, 5, 10), 12, 60
_DIRECTIONS = {"both": 2, "forward": 1, "backward": 1}


class CountedBucket(LengthRange):
    """How many sentences a bucket has."""

    n: int


@dataclass(frozen=True)
class Held:
    """What runs of one size hold: a row of the heat map, and the point that the law is fitted to."""

    numbers: int
    """In the vector: encoder.hidden_size, a direction"""
    seeds: int
    """Runs, of which `scores` are the means"""
    scores: list[float | None]
    """BLEU of each bucket; None without a sentence"""
    words: float | None
    """Source length at which BLEU falls under `THRESHOLD`; None where it is outside of the lengths that were tested"""
    ci: Interval | None
    """95 % bootstrap interval of `words` over sentences alone, in those resamples that have it"""
    beyond: str | None
    """Why `words` is None: `shorter than tested`, `longer than tested`, or `not tested` at two lengths"""


@dataclass(frozen=True)
class Law:
    """words = scale · numbers ^ exponent, by least squares of the logarithms; a size without `words` is left out."""

    scale: float
    exponent: float
    scale_ci: Interval
    """95 % percentile bootstrap interval over sentences alone: it says nothing of other trainings"""
    exponent_ci: Interval

    def words(self, numbers: float) -> float:
        """The source length that a vector of so many numbers holds."""
        return self.scale * numbers**self.exponent


@dataclass(frozen=True)
class Capacity:
    """What the runs of one attention say, that differ in encoder.hidden_size and seed alone."""

    runs: list[Run]
    buckets: list[CountedBucket]
    """Shortest first; those with a sentence"""
    held: list[Held]
    """Fewest numbers first"""
    law: Law | None
    """None where fewer than three sizes have a length"""

    @property
    def left_out(self) -> list[Held]:
        """The sizes that have no length: the law is fitted without them."""
        return [size for size in self.held if size.words is None]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Names of columns, and a row of texts a size."""
        head = ["numbers in the vector", "seeds", f"words at BLEU {THRESHOLD:.0f}", "95 % over sentences", "by the law"]
        head += [f"BLEU {label(bucket)}" for bucket in self.buckets]
        rows = []
        for size in self.held:
            words = f"{size.words:.1f}" if size.words is not None else str(size.beyond)
            bounds = "–" if size.ci is None else f"{size.ci[0]:.1f} to {size.ci[1]:.1f}"
            by_law = "–" if self.law is None else f"{self.law.words(size.numbers):.1f}"
            scores = ["–" if score is None else f"{score:.1f}" for score in size.scores]
            rows.append([f"{size.numbers}", f"{size.seeds}", words, bounds, by_law, *scores])
        return head, rows


def capacity(
    runs: Sequence[Run], resamples: int = RESAMPLES, seed: int = 0, counts: Counts | None = None
) -> Capacity | None:
    """What the scored `runs` of one test set say; None where no attention has runs of at least three sizes.

    Taken are the runs that differ in `encoder.hidden_size` and the seed alone: of several such sets those of `none`,
    else the set with most sizes. Runs without segments.npz are left out. Without `counts` these files are read.
    """
    chosen = _alike(runs)
    if chosen is None:
        return None
    counts = counts_of(chosen) if counts is None else counts
    counted = [(run, segments) for run in chosen if (segments := counts[run.directory]) is not None]
    by_size: dict[int, list[int]] = {}
    for place, (run, _) in enumerate(counted):
        by_size.setdefault(numbers_of(run), []).append(place)
    if len(by_size) < SIZES:
        return None
    segments_of_runs = [segments for _, segments in counted]
    lengths = segments_of_runs[0].source_length
    parts = [(bucket, rows) for bucket, rows in cut(lengths, length_bounds(lengths)) if len(rows)]
    # (runs, 1 + resamples, buckets): the sentences as they are, then each resample
    scores = np.stack(
        [_scores(segments_of_runs, rows, resamples, (seed, bucket["lo"])) for bucket, rows in parts], axis=-1
    )
    full = [place for place, (_, rows) in enumerate(parts) if len(rows) >= ENOUGH]
    middles = [float(lengths[parts[place][1]].mean()) for place in full]
    held, words = [], []
    for numbers, places in sorted(by_size.items()):
        means = scores[places].mean(axis=0)  # (1 + resamples, buckets)
        falls = lengths_held(means[:, full], middles)
        words.append(falls)
        known = falls[1:][~np.isnan(falls[1:])]
        beyond = None
        if np.isnan(falls[0]):
            beyond = "shorter than tested" if full and means[0, full[0]] <= THRESHOLD else "longer than tested"
            beyond = "not tested" if len(full) < 2 else beyond
        held.append(
            Held(
                numbers,
                len(places),
                [float(score) for score in means[0]],
                None if beyond else float(falls[0]),
                None if beyond or not len(known) else interval(known),
                beyond,
            )
        )
    buckets: list[CountedBucket] = [{**lengths, "n": len(rows)} for lengths, rows in parts]
    law = fitted([size.numbers for size in held], np.stack(words, axis=1))
    return Capacity([run for run, _ in counted], buckets, held, law)


def capacity_rows(capacity: Capacity, group: int) -> list[dict[str, object]]:
    """A row a size, for capacity.csv."""
    return [
        {
            "group": group,
            "numbers": size.numbers,
            "seeds": size.seeds,
            "words": size.words,
            "low": None if size.ci is None else size.ci[0],
            "high": None if size.ci is None else size.ci[1],
            "by_law": None if capacity.law is None else capacity.law.words(size.numbers),
            **{f"bleu {label(bucket)}": score for bucket, score in zip(capacity.buckets, size.scores, strict=True)},
        }
        for size in capacity.held
    ]


def numbers_of(run: Run) -> int:
    """How many numbers the encoder's final states have, those of both directions together."""
    return int(run.settings[SIZE]) * _DIRECTIONS.get(str(run.settings.get("encoder.direction")), 1)


def length_bounds(source_length: NDArray[np.int64]) -> list[int]:
    """Last lengths of buckets as fine as a dozen of them allow: of two words each, three, five or ten."""
    longest = min(int(source_length.max(initial=1)), _LONGEST)
    width = next((width for width in _WIDTHS if longest <= width * _BUCKETS), _WIDTHS[-1])
    return list(range(width, longest + width, width))


def lengths_held(scores: ArrayLike, lengths: Sequence[float], threshold: float = THRESHOLD) -> NDArray[np.float64]:
    """Where each curve in `scores (…, buckets)` first falls to `threshold`, on the way to longer sentences: `(…)`.

    Interpolated linearly between `lengths (buckets,)`. NaN where a curve begins at or under it, or never falls to it.
    """
    scores, places = np.asarray(scores, dtype=np.float64), np.asarray(lengths, dtype=np.float64)
    if scores.shape[-1] < 2:
        return np.full(scores.shape[:-1], np.nan)
    under = scores <= threshold
    first = under.argmax(axis=-1)
    found = under.any(axis=-1) & (first > 0)
    right = np.where(found, first, 1)[..., None]
    before, behind = (np.take_along_axis(scores, place, axis=-1)[..., 0] for place in (right - 1, right))
    share = np.where(found, (before - threshold) / np.where(found, before - behind, 1), 0)
    start, end = (places[place[..., 0]] for place in (right - 1, right))
    return np.where(found, start + share * (end - start), np.nan)


def fitted(numbers: Sequence[int], words: NDArray[np.float64]) -> Law | None:
    """The law of `words (1 + resamples, sizes)`, NaN where a size has none; None where under three have one.

    The first row is what was measured; the others are its resamples, those with fewer than three lengths left out.
    """
    lines = [line for row in words[1:] if (line := _line(numbers, row)) is not None]
    measured = _line(numbers, words[0])
    if measured is None or not lines:
        return None
    scales, exponents = np.array(lines).T
    return Law(*measured, interval(scales), interval(exponents))


def _line(numbers: Sequence[int], words: NDArray[np.float64]) -> tuple[float, float] | None:
    """(a, b) of log words = log a + b · log numbers."""
    known = ~np.isnan(words)
    if known.sum() < SIZES:
        return None
    x, y = np.log(np.asarray(numbers, dtype=np.float64)[known]), np.log(words[known])
    exponent, logarithm = np.polyfit(x, y, 1)
    return float(np.exp(logarithm)), float(exponent)


def _scores(
    segments: Sequence[Segments], rows: NDArray[np.int64], resamples: int, seed: Sequence[int]
) -> NDArray[np.float64]:
    """(runs, 1 + resamples): BLEU of these sentences, and of resamples of them, the same ones for every run."""
    counts = np.stack([of.bleu_statistics[rows] for of in segments])
    sums = np.concatenate([counts.sum(axis=1, keepdims=True), resample(counts, resamples, seed)], axis=1)
    return np.asarray(bleu(sums, effective_order=True), dtype=np.float64)


def _alike(runs: Sequence[Run]) -> list[Run] | None:
    """The runs, of at least three sizes, that are alike in all but size and seed."""
    sets: dict[tuple[Any, ...], list[Run]] = {}
    for run in runs:
        if run.bleu is not None and isinstance(run.settings.get(SIZE), int):
            sets.setdefault((run.attention, *settings_but(run, SIZE)), []).append(run)

    def sizes(of: Sequence[Run]) -> int:
        return len({run.settings[SIZE] for run in of})

    found = [of for of in sets.values() if sizes(of) >= SIZES]
    return max(found, key=lambda of: (of[0].attention == "none", sizes(of)), default=None)
