"""BLEU against source length at moments of the trainings, one chart a moment: how each arm's curve rises."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from lookback.evaluation import ENOUGH, label, measure_of
from lookback.report.charts.buckets import Places
from lookback.report.charts.chart_words import described, span
from lookback.report.charts.charts import drawn_from, edge, layered, length_axis, limits, told_apart
from lookback.report.evidence.budgets import Scored
from lookback.report.evidence.contrasts import Evidence

Points = list[dict[str, Any]]


def budget_charts(scored: Scored) -> list[alt.LayerChart]:
    """Draw every moment of `scored`, the earliest first, all on one scale: what moves from one to the next is the arms.

    An arm's thick line is the mean of its runs, its band the interval of that mean, thin lines are the runs;
    colours, marks and axis are those of the length chart. A bucket with fewer than 50 sentences is a hollow point,
    joined to no other.
    """
    drawn = [_points(about) for about in scored.moments]
    heights = [p[key] for means, singles in drawn for p in [*means, *singles] for key in ("bleu", "high")]
    top = min(100, 10 * math.ceil(max(height for height in heights if height is not None) / 10) or 10)
    return [
        _chart(scored, moment, means, singles, alt.Scale(domain=[0, top]))
        for moment, (means, singles) in enumerate(drawn)
    ]


def _chart(scored: Scored, moment: int, means: Points, singles: Points, scale: alt.Scale) -> alt.LayerChart:
    whole = {name: arm["score"] for name, arm in scored.moments[moment].arms.items()}
    legend = {name: f"{name} · {score:.1f}" for name, score in whole.items()}
    means, singles = ([{**point, "arm": legend[point["arm"]]} for point in of] for of in (means, singles))
    color, shape = told_apart(scored.names, legend)
    x = length_axis(means)
    y = alt.Y("bleu:Q", title="BLEU", scale=scale, axis=alt.Axis(tickCount=6))
    between = (alt.Y("low:Q", title="BLEU", scale=scale), alt.Y2("high:Q"))
    hover = [alt.Tooltip("arm:N"), alt.Tooltip("bucket:N"), alt.Tooltip("n:Q"), alt.Tooltip("bleu:Q", format=".1f")]
    piece = alt.Detail("piece:N")

    def having(points: Points, joined: bool) -> alt.Chart:
        return drawn_from([point for point in points if (point["piece"] is not None) is joined])

    joined, alone = having(means, True), having(means, False)
    thin = having(singles, True).mark_line(strokeWidth=1, opacity=0.4)
    layers: list[alt.Chart] = [
        joined.mark_area(opacity=0.14).encode(x, *between, color, piece),
        thin.encode(x, y, color, detail=[alt.Detail("run:N"), piece]),
        joined.mark_line(strokeWidth=2.6).encode(x, y, color, piece),
        joined.mark_point(size=62, filled=True, opacity=1).encode(x, y, color, shape, tooltip=hover),
        alone.mark_rule(strokeWidth=1.4, opacity=0.7).encode(x, *between, color),
        alone.mark_point(size=62, fill="white", strokeWidth=2, opacity=1).encode(x, y, color, shape, tooltip=hover),
    ]
    layers += limits([run for of in scored.arms.values() for run in of], edge(means))
    lines = {name: [point for point in means if point["arm"] == legend[name]] for name in legend}
    said = f"BLEU after {scored.said(moment)}, against source length in words"
    title = _title(scored, moment, any(point["piece"] is None for point in means))
    return layered(layers, title, described(said, lines, "bleu", measure_of("bleu").number), height=360)


def _points(about: Evidence) -> tuple[Points, Points]:
    """A point an arm and bucket: the means, with their intervals; and the runs, of arms that have several.

    Points of one `piece` are joined; `piece` is None under 50 sentences.
    """
    means: Points = []
    singles: Points = []
    for name, arm in about.arms.items():
        curves = about.curves[name]
        means += _line(name, arm["by_length"])
        if len(curves) > 1:
            singles += [{**p, "run": f"{name} {run}"} for run, of in enumerate(curves) for p in _line(name, of)]
    return means, singles


def _line(name: str, curve: Sequence[dict[str, Any]]) -> Points:
    places, points, piece = Places(curve), [], 0
    for bucket in curve:
        enough = bucket["n"] >= ENOUGH
        piece += not enough  # whatever follows a gap is a new piece
        if bucket["score"] is not None:
            low, high = bucket.get("ci") or (None, None)
            about = {"arm": name, "piece": piece if enough else None, "bucket": label(bucket), "n": bucket["n"]}
            points.append({**about, **places.of(bucket), "bleu": bucket["score"], "low": low, "high": high})
    return points


def _title(scored: Scored, moment: int, hollow: bool) -> alt.TitleParams:
    """How far the trainings were, what was translated and how, and what a moment is not."""
    first = next(run.results for of in scored.arms.values() for run in of)
    assert first is not None
    seeds = sorted({arm["seeds"] for arm in scored.moments[moment].arms.values()})
    lines = "one seed" if seeds[-1] == 1 else f"{span(seeds)} seeds: thin lines, their mean thick"
    over = "sentences alone" if seeds[-1] == 1 else "trainings and sentences"
    of = sum(bucket["n"] for bucket in first["by_length"])
    out = f" · {scored.left_out} of the runs left out: not scored at these moments" if scored.left_out else ""
    return alt.TitleParams(
        text=f"BLEU against source length after {scored.said(moment)}",
        subtitle=[
            f"data {first['data']}, {scored.sentences:,} of {of:,} test sentences, the first of each length · "
            "beside each name: BLEU of these",
            "greedy search with the weights of that moment, so the last one is not the test's score",
            "at the earlier moments the learning rate was still high: a training that ended there, with a schedule of "
            "its own, may score far higher",
            f"{lines} · band: 95 % interval over {over}" + (f" · hollow: n < {ENOUGH}" if hollow else "") + out,
            first["signature"],
        ],
    )
