"""Scores against source length: the curve that this project is about.

Buckets are cut by the words of the raw source, a property of the test set alone: neither a system's own subwords nor
the length of the reference (a biased axis) moves a sentence into another bucket.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.evaluation.scores.bleu import HYPOTHESIS_LENGTH, REFERENCE_LENGTH, bleu, omitted
from lookback.evaluation.scores.chrf import chrf
from lookback.evaluation.scores.percent import percent
from lookback.evaluation.scores.ter import ter
from lookback.evaluation.statistics.resampling import RESAMPLES, interval, resample
from lookback.runs import Bucket, LengthRange, Segments

BOUNDS = (10, 20, 30, 40, 50, 60)
ENOUGH = 50
"""Fewest sentences that a bucket needs before its BLEU is joined by a line or enters a summary number."""

Buckets = Literal["width", "count"]
"""Ten words wide, on an axis of words; or with equally many sentences, side by side: some of these are so narrow that
their labels would overlap on an axis of words"""

IN_RESULTS: dict[Buckets, str] = {"width": "by_length", "count": "by_equal_count"}
"""The key of results.json under which a run's curve is"""


def length_curve(
    segments: Segments,
    bounds: Sequence[int] = BOUNDS,
    resamples: int = RESAMPLES,
    seed: int = 0,
    *,
    closed: bool = False,
) -> list[Bucket]:
    """Score each bucket of source lengths: corpus scores inside the bucket, never a mean of sentence scores.

    `bounds` and `closed` are those of `cut`. Every bucket is in the result, an empty one with n = 0 and null scores, so
    that all runs share one axis.

    `bleu` equals sacrebleu's corpus BLEU wherever that is defined, and is 100 for perfect sentences of three words.
    `ci` is the percentile interval [2.5 %, 97.5 %] of `resamples` bootstrap resamples of full size. `omitted` is None
    without words in the references, `repeated` without words in the translations, `repeated_trigrams`
    without three in a row, and `never_looked_at` where nothing looks at words.
    """
    return [
        _bucket(lengths, segments[chosen], resamples, (seed, lengths["lo"]))
        for lengths, chosen in cut(segments.source_length, bounds, closed=closed)
    ]


def cut(
    source_length: NDArray[np.int64], bounds: Sequence[int] = BOUNDS, *, closed: bool = False
) -> list[tuple[LengthRange, NDArray[np.int64]]]:
    """Cut `source_length (sentences,)` into buckets: the lengths of each, and the indices of its sentences.

    `bounds` are the buckets' last lengths, rising; one open bucket follows, `hi` None: 10, 20 gives 1-10, 11-20, >20.
    With `closed` there is no open bucket, and the first one begins at the shortest source (`equal_count_bounds`).
    Without bounds there is then no bucket at all. A source without words is in no bucket.
    """
    if not (bounds or closed) or any(left >= right for left, right in pairwise([0, *bounds])):
        raise ValueError(f"bounds={list(bounds)}: expected rising lengths of at least 1, such as {list(BOUNDS)}")
    place = np.where(source_length > 0, np.searchsorted(bounds, source_length), -1)
    first = int(source_length[source_length > 0].min(initial=bounds[0])) if closed and bounds else 1
    lows, highs = [first, *(bound + 1 for bound in bounds)], [*bounds, None]
    return [
        ({"lo": low, "hi": high}, np.flatnonzero(place == index))
        for index, (low, high) in enumerate(zip(lows, highs, strict=True))
        if high is not None or not closed
    ]


def equal_count_bounds(source_length: NDArray[np.int64], buckets: int = 6) -> tuple[int, ...]:
    """Bounds of closed buckets with as nearly as many sentences each as whole lengths allow, from the lengths alone.

    Of all ways to cut `source_length (sentences,)`, the one with the least sum of squared counts. The last bound is the
    longest source. There are fewer than `buckets` where there are fewer lengths, and none without a sentence that has
    words.
    """
    lengths, counts = np.unique(source_length[source_length > 0], return_counts=True)
    before = np.concatenate([[0], np.cumsum(counts)])
    inside = (before - before[:, None]).astype(np.float64)  # sentences from one place between lengths to another
    cost = np.where(np.arange(len(before)) > np.arange(len(before))[:, None], inside**2, np.inf)
    least, starts = cost[0], []
    for _ in range(min(buckets, len(lengths)) - 1):
        total = least[:, None] + cost
        starts.append(total.argmin(axis=0))
        least = total.min(axis=0)
    ends = [len(lengths)]
    for start in reversed(starts):
        ends.insert(0, int(start[ends[0]]))
    return tuple(int(lengths[end - 1]) for end in ends if end)


def midpoint(bucket: Mapping[str, Any]) -> float:
    """Where a bucket stands on the length axis: its middle, in words; the open bucket is taken as 10 wide."""
    return (bucket["lo"] + (bucket["lo"] + 9 if bucket["hi"] is None else bucket["hi"])) / 2


def label(bucket: Mapping[str, Any]) -> str:
    """What a reader calls a bucket: `1-10`, `11` where it is of one length, or `>60` for the open one."""
    if bucket["lo"] == bucket["hi"]:
        return str(bucket["lo"])
    return f">{bucket['lo'] - 1}" if bucket["hi"] is None else f"{bucket['lo']}-{bucket['hi']}"


def retention(curve: Sequence[Bucket]) -> float | None:
    """BLEU of the longest bucket over BLEU of the best bucket, among those with n >= 50.

    None where fewer than two buckets have enough sentences, or where the best BLEU is 0.
    """
    return none_for_nan(retentions([score for score, _ in _enough(curve)]))


def half_length(curve: Sequence[Bucket]) -> float | None:
    """The source length in words where BLEU first falls to half of its best bucket, on the way to longer sentences.

    Interpolated linearly between the mid-points of neighbouring buckets with n >= 50. None where it never does.
    """
    scored = _enough(curve)
    return none_for_nan(half_lengths([score for score, _ in scored], [middle for _, middle in scored]))


def retentions(scores: ArrayLike) -> NDArray[np.float64]:
    """`retention` of every curve in `scores (…, buckets)`, BLEU, shortest bucket first; `(…)`, NaN where it is None."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape[-1] < 2:
        return np.full(scores.shape[:-1], np.nan)
    best = scores.max(axis=-1)
    return np.where(best > 0, scores[..., -1] / np.where(best > 0, best, 1), np.nan)


def half_lengths(scores: ArrayLike, midpoints: ArrayLike) -> NDArray[np.float64]:
    """`half_length` of every curve in `scores (…, buckets)` over `midpoints (buckets,)`; `(…)`, NaN for None."""
    scores, midpoints = np.asarray(scores, dtype=np.float64), np.asarray(midpoints, dtype=np.float64)
    if scores.shape[-1] < 2:
        return np.full(scores.shape[:-1], np.nan)
    half = scores.max(axis=-1, keepdims=True) / 2
    left, right = scores[..., :-1], scores[..., 1:]
    behind_best = np.arange(left.shape[-1]) >= scores.argmax(axis=-1)[..., None]
    falls = behind_best & (right <= half) & (half < left)
    fallen = np.where(falls, (left - half) / np.where(falls, left - right, 1), 0)
    lengths = midpoints[:-1] + fallen * np.diff(midpoints)
    first = falls.argmax(axis=-1)[..., None]
    return np.where(falls.any(axis=-1), np.take_along_axis(lengths, first, axis=-1)[..., 0], np.nan)


def length_ratio(segments: Segments) -> float | None:
    """Hypothesis tokens over reference tokens, as BLEU's brevity penalty counts them; None without reference tokens."""
    sums = segments.bleu_statistics.sum(axis=0)
    return float(sums[HYPOTHESIS_LENGTH] / sums[REFERENCE_LENGTH]) if sums[REFERENCE_LENGTH] else None


def none_for_nan(number: NDArray[np.float64] | np.float64) -> float | None:
    """A number for a file or a table, which have None where there is none."""
    return None if np.isnan(number) else float(number)


def _enough(curve: Sequence[Bucket]) -> list[tuple[float, float]]:
    """BLEU and mid-point of the buckets that have enough sentences."""
    return [
        (score, midpoint(bucket)) for bucket in curve if bucket["n"] >= ENOUGH and (score := bucket["bleu"]) is not None
    ]


def _bucket(lengths: LengthRange, segments: Segments, resamples: int, seed: Sequence[int]) -> Bucket:
    if not len(segments):
        return {
            **lengths,
            "n": 0,
            "bleu": None,
            "ci": None,
            "bleu_no_bp": None,
            "chrf": None,
            "ter": None,
            "length_ratio": None,
            "omitted": None,
            "repeated": None,
            "repeated_trigrams": None,
            "never_looked_at": None,
            "truncated": 0,
        }
    total = segments.bleu_statistics.sum(axis=0)
    resampled = np.asarray(bleu(resample(segments.bleu_statistics, resamples, seed), effective_order=True))
    return {
        **lengths,
        "n": len(segments),
        "bleu": float(bleu(total, effective_order=True)),
        "ci": interval(resampled),
        "bleu_no_bp": float(bleu(total, effective_order=True, brevity_penalty=False)),
        "chrf": float(chrf(segments.chrf_statistics.sum(axis=0))),
        "ter": float(ter(segments.ter_statistics.sum(axis=0))),
        "length_ratio": length_ratio(segments),
        "omitted": none_for_nan(omitted(total)),
        "repeated": none_for_nan(percent(segments.repetition_statistics.sum(axis=0))),
        "repeated_trigrams": none_for_nan(percent(segments.trigram_statistics.sum(axis=0))),
        "never_looked_at": none_for_nan(percent(segments.reading_statistics.sum(axis=0))),
        "truncated": int(segments.truncated.sum()),
    }
