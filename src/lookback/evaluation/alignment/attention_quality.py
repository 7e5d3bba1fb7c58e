"""How well and how sharply a model looks: its links against gold ones, and diagnostics of its weights by length."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookback.data.corpora.gold_alignment import Gold
from lookback.evaluation import BOUNDS, SHIFTS, Diagnostics, LinkCounts, count_links, diagnose, shifted_links
from lookback.evaluation.length_curve import cut
from lookback.runs.schema import Aer, AttentionBucket, Links, LookAer


class _Look(NamedTuple):
    source_length: int
    diagnostics: Diagnostics
    counts: dict[int, LinkCounts] | None
    """By shift; None where there is no gold"""


class AttentionQuality:
    """Collects sentences, each by its id: one that comes twice is counted once."""

    def __init__(self) -> None:
        self._looks: dict[int, _Look] = {}

    def add(self, id: int, source_length: int, weights: NDArray[np.floating], gold: Gold | None) -> None:
        """Take in ``weights (target words + 1, source words + 1)`` of a sentence, end marks last."""
        counts = None
        if gold is not None:
            counts = {shift: count_links(shifted_links(weights, shift), gold.sure, gold.possible) for shift in SHIFTS}
        self._looks[id] = _Look(source_length, diagnose(weights), counts)

    def aer(self) -> Aer | None:
        """``aer`` of results.json: over all sentences that have gold links; None where none has."""
        scored = [look.counts for look in self._looks.values() if look.counts is not None]
        if not scored:
            return None
        sums = {shift: sum((counts[shift] for counts in scored), LinkCounts()) for shift in SHIFTS}
        now, later = (Links(aer=total.aer, precision=total.precision, recall=total.recall) for total in sums.values())
        return {"sentences": len(scored), "shift_0": now, "shift_-1": later}

    def by_length(self) -> list[AttentionBucket]:
        """``attention_by_length`` of results.json: the sentences' mean diagnostics in each bucket of source lengths."""
        looks = [self._looks[id] for id in sorted(self._looks)]
        buckets = cut(np.array([look.source_length for look in looks], dtype=np.int64), BOUNDS)
        return [
            {**bucket, "n": len(chosen), **means([looks[place].diagnostics for place in chosen])}  # type: ignore[typeddict-item]
            for bucket, chosen in buckets
        ]

    def metrics(self) -> dict[str, float]:
        """What a logger takes: the mean diagnostics of all sentences and, where there is gold, AER at both shifts."""
        found = means([look.diagnostics for look in self._looks.values()])
        if (aer := self.aer()) is not None:
            found |= {"aer": aer["shift_0"]["aer"], "aer_shift_-1": aer["shift_-1"]["aer"]}
        return {f"attention/{name}": value for name, value in found.items() if value is not None}


def aer_by_look(looks: Mapping[str, AttentionQuality]) -> list[LookAer] | None:
    """``aer_by_look`` of results.json, from the sentences of each layer and head; None where there is one look, or no
    gold."""
    found = {name: quality.aer() for name, quality in looks.items()}
    scored = {name: aer for name, aer in found.items() if aer is not None}
    records: list[LookAer] = [
        {"look": name, "shift_0": aer["shift_0"]["aer"], "shift_-1": aer["shift_-1"]["aer"]}
        for name, aer in scored.items()
    ]
    return records or None


def gold_of(row: dict[str, Any], shape: tuple[int, ...]) -> Gold | None:
    """The gold links of a row of a corpus, whose weights have ``shape`` (target words + 1, source words + 1).

    None if the row has no gold links, or if they count other words than the weights' rows and columns: those of
    ``str.split()``, which are larger than a model's in a script without spaces.
    """
    if "alignment" not in row or shape != (len(row["target"].split()) + 1, len(row["source"].split()) + 1):
        return None
    sure, possible = ([(i, j) for i, j in row.get(name) or []] for name in ("alignment", "possible"))
    return Gold(sure, possible)


def means(diagnostics: Sequence[Diagnostics]) -> dict[str, float | None]:
    """The mean of each diagnostic over the sentences that have it; None where none has."""
    columns: dict[str, list[float]] = {name: [] for name in Diagnostics._fields}
    for each in diagnostics:
        for name, value in each._asdict().items():
            if value is not None:
                columns[name].append(value)
    return {name: float(np.mean(values)) if values else None for name, values in columns.items()}
