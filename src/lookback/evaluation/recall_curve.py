"""Recall of source words by their position, of one arm: for a chart, and for `position_recall` of results.json."""

from collections.abc import Sequence
from typing import Any

from lookback.evaluation.length_curve import Bucket
from lookback.evaluation.scores.measures import ALIGNED, CHANCE, RECALL
from lookback.evaluation.statistics.significance import Resamples


def recall_curve(resamples: Resamples, runs: Sequence[int]) -> list[Bucket]:
    """Recall by position of one arm, the runs at these places, which all have `Segments.position_statistics`.

    `{"n", "recall", "ci", "chance"}` of the whole test set, and then of each bucket of source lengths, with `lo` and
    `hi` besides: `n` sentences that have links; `recall`, five shares 0..1, of the first to the last fifth of the
    source, the mean over runs of what each has of the linked words; `ci`, their intervals as `Resamples.arm` makes
    them, inside 0..1; `chance`, the same of the translation of another sentence (`lookback.evaluation.scores.recall`). A
    number is None where nothing is linked.
    """
    recall, chance = ([_parts(resamples.arm(runs, measure.key)) for measure in family] for family in (RECALL, CHANCE))
    counted = _parts(resamples.arm(runs, ALIGNED.key))
    return [
        {
            **{key: part[key] for key in ("lo", "hi") if key in part},
            "n": round(part["score"] or 0),
            "recall": [fifth[place]["score"] for fifth in recall],
            "ci": [_of_shares(fifth[place]["ci"]) for fifth in recall],
            "chance": [fifth[place]["score"] for fifth in chance],
        }
        for place, part in enumerate(counted)
    ]


def _parts(arm: dict[str, Any]) -> list[Bucket]:
    """The whole test set and its buckets, of what `Resamples.arm` says of a measure."""
    return [{"score": arm["score"], "ci": arm["ci"]}, *arm["by_length"]]


def _of_shares(interval: list[float] | None) -> list[float] | None:
    """No bound lies where no share can."""
    return None if interval is None else [min(max(bound, 0.0), 1.0) for bound in interval]
