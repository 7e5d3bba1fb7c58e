"""The sentence browser's data."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookback.common.errors import InputError
from lookback.evaluation import BOUNDS, bleu, label, segments_of
from lookback.evaluation.length_curve import cut
from lookback.report.evidence.rows import ranked
from lookback.report.page.payload import packed
from lookback.report.page.systems import names, opponent
from lookback.runs import Prediction, Run, Segments, read_predictions

Row = list[Any]
Indices = NDArray[np.int64]

BUDGET = 450_000
"""Characters that the browser may take in a page of `RUNS` runs"""
RUNS = 12
MORE = 35_000
"""Characters more for each run beyond"""
_TRIED = 300
"""Sentences that are compressed to know what all of them would take"""


def sentences(runs: Sequence[Run]) -> dict[str, Any] | None:
    """What the sentence browser shows of scored `runs` of one test set; None where there is nothing to show.

        systems       names of the runs, best arm first
        opponent      place of the system that the first one is compared with at the start
        total         sentences of the test set
        each          None where all of them are here, else the most that were taken from a bucket
        buckets       [label, longest source or None] of each bucket that has sentences
        sentences     [id, source words, source, reference, outputs, scores, truncated], by id: an output and a score a
                      system, and the places of the systems whose search met its limit

    A score is sentence BLEU over the n-gram orders that a sentence has, in tenths: 314 is 31.4.

    A page has to stay small (`BUDGET`). Where the sentences are too many, each bucket of source lengths gives equally
    many: half of them those on which the systems' scores differ most, half at regular distances in the test set.

    A run that lacks predictions.jsonl or segments.npz has no part in it. Raises `InputError` where runs have different
    numbers of sentences.
    """
    shown: list[Run] = []
    first: list[Prediction] = []
    outputs: list[list[str]] = []
    truncated: list[list[bool]] = []
    segments: list[Segments] = []
    for run in ranked(runs):
        path, counts = run.scored_in / "predictions.jsonl", segments_of(run)
        if counts is not None and path.exists():
            predictions = read_predictions(path)
            if not shown:
                first = predictions
            shown.append(run)
            segments.append(counts)
            # sources and references are the same in all runs: kept once, not once a run
            outputs.append([prediction.hypothesis for prediction in predictions])
            truncated.append([prediction.truncated for prediction in predictions])
    if not first:
        return None
    for run, of, counts in zip(shown, outputs, segments, strict=True):
        if not len(of) == len(counts) == len(first):
            raise InputError(
                f"{run.directory}: {len(of)} predictions and {len(counts)} rows of segments.npz; expected "
                f"{len(first)}, as {shown[0].directory} has"
            )
    scores = np.stack([np.rint(10 * bleu(counts.bleu_statistics, effective_order=True)) for counts in segments], axis=1)
    # a source without words stands with the shortest ones
    buckets = cut(np.maximum(segments[0].source_length, 1), BOUNDS)
    rows = [
        _row(prediction, list(of), list(map(int, tenths)), cut_off)
        for prediction, of, tenths, cut_off in zip(
            first, zip(*outputs, strict=True), scores, zip(*truncated, strict=True), strict=True
        )
    ]
    each, kept = _fitting(
        rows, [chosen for _, chosen in buckets], np.ptp(scores, axis=1), BUDGET + MORE * max(0, len(shown) - RUNS)
    )
    return {
        "systems": names(shown),
        "opponent": opponent(shown),
        "total": len(rows),
        "each": each,
        "buckets": [[label(bucket), bucket["hi"]] for bucket, chosen in buckets if len(chosen)],
        "sentences": [rows[index] for index in kept],
    }


def _row(of: Prediction, outputs: Sequence[str], tenths: Sequence[int], truncated: Sequence[bool]) -> Row:
    """One sentence as every system wrote it, side by side, so that compression sees what repeats."""
    places = [place for place, is_cut_off in enumerate(truncated) if is_cut_off]
    return [of.id, of.source_length, of.source, of.reference, outputs, tenths, places]


def _fitting(
    rows: Sequence[Row], buckets: Sequence[Indices], spread: NDArray[np.float64], budget: int
) -> tuple[int | None, Indices]:
    """How many sentences of a bucket fit into the budget, and which ones; None where all of them do."""
    tried = rows[:: -(-len(rows) // _TRIED)]
    lengths = np.array([sum(map(len, (row[2], row[3], *row[4]))) for row in rows]) + 1.0
    taken = lengths * len(packed(tried)) / lengths[:: -(-len(rows) // _TRIED)].sum()
    everything = np.arange(len(rows))
    if taken.sum() < 1.1 * budget and len(packed(rows)) <= budget:
        return None, everything
    sizes = range(1, max(map(len, buckets)))
    each = bisect_right(sizes, budget, key=lambda size: taken[_kept(buckets, spread, size)].sum())
    while each > 1:
        kept = _kept(buckets, spread, each)
        size = len(packed([rows[index] for index in kept]))
        if size <= budget:
            return each, kept
        each = min(each - 1, int(0.99 * each * budget / size))
    return 1, _kept(buckets, spread, 1)


def _kept(buckets: Sequence[Indices], spread: NDArray[np.float64], each: int) -> Indices:
    """At most `each` sentences of every bucket: half with the largest spread, the others at regular distances."""
    kept = []
    for bucket in buckets:
        if len(bucket) <= each:
            kept.append(bucket)
            continue
        widest = bucket[np.argsort(-spread[bucket], kind="stable")[: (each + 1) // 2]]
        others = np.setdiff1d(bucket, widest)
        regular = np.linspace(0, len(others) - 1, each // 2).round().astype(np.int64)
        kept += [widest, others[regular]]
    return np.sort(np.concatenate(kept))
