"""Recall of source words by their position, of one arm: for a chart, and for `position_recall` of results.json."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from lookback.evaluation.scores.measures import ALIGNED, CHANCE, RECALL
from lookback.evaluation.statistics.arms import Arm, ArmBucket
from lookback.evaluation.statistics.resamples import Resamples
from lookback.runs import Interval

FIFTH_NAMES = ("first fifth", "second fifth", "third fifth", "fourth fifth", "last fifth")
"""Of the source"""


class RecallPart(TypedDict):
    """Recall by position of the whole test set, or of a bucket: then with `lo` and `hi` (`lookback.runs.POSITION`)."""

    lo: NotRequired[int]
    hi: NotRequired[int | None]
    n: int
    """Sentences that have links"""
    recall: list[float | None]
    """Five shares 0..1, of the first to the last fifth of the source: what a run has of the linked words, their mean"""
    ci: list[Interval | None]
    """Their 95 % intervals over trainings and sentences, inside 0..1"""
    chance: list[float | None]
    """The same of the translation of another sentence (`lookback.evaluation.scores.recall`)"""


def recall_curve(resamples: Resamples, runs: Sequence[int]) -> list[RecallPart]:
    """Recall by position of one arm: of the whole test set, and then of each bucket of source lengths.

    `runs` are the places of its runs, which all have `Segments.position_statistics`. A number is None where nothing is
    linked.
    """
    recall, chance = ([resamples.arm(runs, measure.key) for measure in family] for family in (RECALL, CHANCE))
    aligned = resamples.arm(runs, ALIGNED.key)
    whole = _part(aligned["score"], recall, chance)
    buckets = zip(
        aligned["by_length"],
        zip(*(arm["by_length"] for arm in recall), strict=True),
        zip(*(arm["by_length"] for arm in chance), strict=True),
        strict=True,
    )
    curve: list[RecallPart] = [
        {"lo": bucket["lo"], "hi": bucket["hi"], **_part(bucket["score"], found, by_chance)}
        for bucket, found, by_chance in buckets
    ]
    return [whole, *curve]


def _part(
    aligned: float | None, recall: Sequence[Arm] | Sequence[ArmBucket], chance: Sequence[Arm] | Sequence[ArmBucket]
) -> RecallPart:
    return {
        "n": round(aligned or 0),
        "recall": [fifth["score"] for fifth in recall],
        "ci": [_of_shares(fifth["ci"]) for fifth in recall],
        "chance": [fifth["score"] for fifth in chance],
    }


def _of_shares(interval: Interval | None) -> Interval | None:
    """No bound lies where no share can."""
    return None if interval is None else [min(max(bound, 0.0), 1.0) for bound in interval]
