"""BLEU against source length, the curve that the whole project is about.

Buckets are cut by the words of the raw source, a property of the test set alone: neither a system's own subwords nor
the length of the reference (a biased axis) moves a sentence into another bucket.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lookback.evaluation.bleu import HYPOTHESIS_LENGTH, REFERENCE_LENGTH, bleu, resample
from lookback.evaluation.segments import Segments

Bucket = dict[str, Any]

BOUNDS = (10, 20, 30, 40, 50, 60)
ENOUGH = 50
"""Sentences below which a bucket's BLEU is too uncertain to be connected with others or to found a summary number."""


def length_curve(
    segments: Segments, bounds: Sequence[int] = BOUNDS, resamples: int = 1000, seed: int = 0
) -> list[Bucket]:
    """Score each bucket of source lengths: corpus BLEU inside the bucket, never a mean of sentence scores.

    `bounds` are the buckets' last lengths, rising; one open bucket follows: 10, 20 gives 1-10, 11-20, >20. Every bucket
    is in the result, an empty one with n = 0 and null scores, so that all runs share one axis. A source without words
    is in no bucket.

    A bucket is `{"lo", "hi", "n", "bleu", "ci", "bleu_no_bp", "length_ratio", "truncated"}`: `hi` is None for the open
    one; `bleu` 0..100, over the n-gram orders that the bucket has (equal to sacrebleu's corpus BLEU wherever that is
    defined, 100 for perfect sentences of three words); `ci` the percentile interval [2.5 %, 97.5 %] of `resamples`
    bootstrap resamples of full size; `bleu_no_bp` without brevity penalty; `length_ratio` hypothesis over reference
    tokens; `truncated` a count of sentences.
    """
    if not bounds or bounds[0] < 1 or any(left >= right for left, right in pairwise(bounds)):
        raise ValueError(f"bounds={list(bounds)}: expected rising lengths of at least 1, such as {list(BOUNDS)}")
    place = np.where(segments.source_length > 0, np.searchsorted(bounds, segments.source_length), -1)
    lows, highs = [1, *(bound + 1 for bound in bounds)], [*bounds, None]
    return [
        {"lo": low, "hi": high, **_scores(segments[place == index], resamples, seed)}
        for index, (low, high) in enumerate(zip(lows, highs, strict=True))
    ]


def midpoint(bucket: Bucket) -> float:
    """Where a bucket stands on the length axis: its middle, in words; the open bucket is taken as 10 wide."""
    return (bucket["lo"] + (bucket["lo"] + 9 if bucket["hi"] is None else bucket["hi"])) / 2


def label(bucket: Bucket) -> str:
    """What a reader calls a bucket: `1-10`, or `>60` for the open one."""
    return f">{bucket['lo'] - 1}" if bucket["hi"] is None else f"{bucket['lo']}-{bucket['hi']}"


def retention(curve: Sequence[Bucket]) -> float | None:
    """BLEU of the longest bucket over BLEU of the best bucket, among those with n >= 50.

    None where fewer than two buckets have enough sentences, or where the best BLEU is 0.
    """
    scored = _enough(curve)
    best = max((bucket["bleu"] for bucket in scored), default=0.0)
    return scored[-1]["bleu"] / best if len(scored) > 1 and best > 0 else None


def half_length(curve: Sequence[Bucket]) -> float | None:
    """The source length in words where BLEU first falls to half of its best bucket, on the way to longer sentences.

    Interpolated linearly between the mid-points of neighbouring buckets with n >= 50. None where it never does.
    """
    scored = _enough(curve)
    if not scored:
        return None
    best = max(range(len(scored)), key=lambda index: scored[index]["bleu"])
    half = scored[best]["bleu"] / 2
    for left, right in pairwise(scored[best:]):
        if right["bleu"] <= half < left["bleu"]:
            fallen = (left["bleu"] - half) / (left["bleu"] - right["bleu"])
            return midpoint(left) + fallen * (midpoint(right) - midpoint(left))
    return None


def length_ratio(segments: Segments) -> float | None:
    """Hypothesis tokens over reference tokens, as BLEU's brevity penalty counts them; None without reference tokens."""
    sums = segments.bleu_statistics.sum(axis=0)
    return float(sums[HYPOTHESIS_LENGTH] / sums[REFERENCE_LENGTH]) if sums[REFERENCE_LENGTH] else None


def _enough(curve: Sequence[Bucket]) -> list[Bucket]:
    return [bucket for bucket in curve if bucket["n"] >= ENOUGH]


def _scores(segments: Segments, resamples: int, seed: int) -> Bucket:
    if not len(segments):
        return {"n": 0, "bleu": None, "ci": None, "bleu_no_bp": None, "length_ratio": None, "truncated": 0}
    total = segments.bleu_statistics.sum(axis=0)
    resampled = bleu(resample(segments.bleu_statistics, resamples, seed), effective_order=True)
    return {
        "n": len(segments),
        "bleu": float(bleu(total, effective_order=True)),
        "ci": [float(bound) for bound in np.percentile(resampled, [2.5, 97.5])],
        "bleu_no_bp": float(bleu(total, effective_order=True, brevity_penalty=False)),
        "length_ratio": length_ratio(segments),
        "truncated": int(segments.truncated.sum()),
    }
