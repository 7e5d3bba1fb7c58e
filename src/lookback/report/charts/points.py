"""The points of a curve over buckets of source lengths: where each one stands, and with which others it is joined."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from lookback.evaluation import ENOUGH, label
from lookback.report.charts.buckets import Places
from lookback.report.charts.charts import Point

Curve = Sequence[Mapping[str, Any]]
"""Buckets `{"lo", "hi", "n", "score"}`, and `ci`, `[low, high]` or None, where an interval is known"""


def mean_points(
    arm: str, curves: Sequence[Curve], places: Places, key: str, intervals: Curve | None = None
) -> list[Point]:
    """A point for each bucket that has a score: under `key`, the mean over the `curves` of an arm's runs.

    Points of one `piece` are joined; `piece` is None for fewer than 50 sentences, and where a run has no score. `low`
    and `high` are the bounds in the curve `intervals`; without it, the lowest and the highest of the runs' own.
    """
    buckets = list(zip(*curves, strict=True))
    scored = [[bucket for bucket in of_runs if bucket["score"] is not None] for of_runs in buckets]
    enough = [len(of_runs) == len(curves) and min(bucket["n"] for bucket in of_runs) >= ENOUGH for of_runs in scored]
    points: list[Point] = []
    for index, (of_runs, piece) in enumerate(zip(scored, pieces(enough), strict=True)):
        if of_runs:
            first = of_runs[0]
            known = [intervals[index]] if intervals else of_runs
            bounds = [bucket["ci"] for bucket in known if bucket.get("ci")]
            points.append(
                {
                    "arm": arm,
                    "piece": piece,
                    "bucket": label(dict(first)),
                    **places.of(first),
                    "n": first["n"],
                    key: fmean(bucket["score"] for bucket in of_runs),
                    "low": min((low for low, _ in bounds), default=None),
                    "high": max((high for _, high in bounds), default=None),
                }
            )
    return points


def single_points(name: str, legend: str, curves: Sequence[Curve], places: Places, key: str) -> list[Point]:
    """The points of each of an arm's runs; none of a run alone, which is its own mean."""
    if len(curves) == 1:
        return []
    return [
        {**point, "run": f"{name} {index}"}
        for index, curve in enumerate(curves)
        for point in mean_points(legend, [curve], places, key)
    ]


def apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Places from 0 to 1, as near to the `wanted` ones (0 to 1) as can be with `gap` between any two of them.

    Their order is that of the wanted places. Where the gaps have no room, all are equally small. The sum of squared
    distances is the smallest one (isotonic regression, by pooling neighbours that are in each other's way).
    """
    gap = min(gap, 1 / max(1, len(wanted) - 1))
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    pools: list[list[float]] = []  # without the gaps below them
    for rank, index in enumerate(order):
        pools.append([wanted[index] - rank * gap])
        while len(pools) > 1 and fmean(pools[-2]) > fmean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    room = max(0.0, 1 - (len(wanted) - 1) * gap)
    starts = [min(room, max(0.0, fmean(pool))) for pool in pools for _ in pool]
    places = dict(zip(order, (start + rank * gap for rank, start in enumerate(starts)), strict=True))
    return [places[index] for index in range(len(wanted))]


def pieces(joined: Iterable[bool]) -> list[int | None]:
    """The piece of each point along a line: neighbours that are `joined` share a number, the others have None."""
    found: list[int | None] = []
    piece = 0
    for is_joined in joined:
        piece += not is_joined  # what follows a gap is a new piece
        found.append(piece if is_joined else None)
    return found
