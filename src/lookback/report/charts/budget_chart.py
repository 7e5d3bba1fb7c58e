"""BLEU against source length at moments of the trainings, one chart for each: how each arm's curve rises."""

import math

import altair as alt

from lookback.evaluation import measure_of
from lookback.report.charts.buckets import Places
from lookback.report.charts.chart_words import band_words, hollow_note, line_chart_description, seeds_and_lines
from lookback.report.charts.charts import (
    Point,
    axis_end,
    color_and_shape,
    dash,
    layer_chart,
    length_axis,
    limit_layers,
    runs_of,
)
from lookback.report.charts.marks import ArmMarks, bucket_tooltip, labelled_height, outside_lines
from lookback.report.charts.points import mean_points, single_points
from lookback.report.evidence.budgets import Scored
from lookback.report.evidence.contrasts import Evidence

Lines = dict[str, list[Point]]
"""The means' points by the names of their arms"""


def budget_charts(scored: Scored) -> list[alt.LayerChart]:
    """Draw every moment of `scored`, the earliest first, all on one scale, so that only the arms move between them.

    An arm's thick line is the mean of its runs, its band the interval of that mean, thin lines are the runs. Colours,
    marks and axis are those of the length chart. A bucket with fewer than 50 sentences is a hollow point, joined with
    no other.
    """
    drawn = [_points(evidence) for evidence in scored.moments]
    points = [point for lines, singles in drawn for point in [*_all(lines), *singles]]
    heights = [point[key] for point in points for key in ("bleu", "high") if point[key] is not None]
    top = min(100, 10 * math.ceil(max(heights) / 10) or 10)
    return [_chart(scored, moment, lines, singles, top) for moment, (lines, singles) in enumerate(drawn)]


def _chart(scored: Scored, moment: int, lines: Lines, singles: list[Point], top: int) -> alt.LayerChart:
    means, number = _all(lines), measure_of("bleu").number
    legend, height = _legend(scored.moments[moment]), labelled_height(360, len(lines))
    color, shape = color_and_shape(scored.names, legend)
    scale = alt.Scale(domain=[0, top])
    marks = ArmMarks(
        x=length_axis(means),
        y=alt.Y("bleu:Q", title="BLEU", scale=scale, axis=alt.Axis(tickCount=6)),
        color=color,
        shape=shape,
        dash=dash(scored.names, legend),
        tooltip=bucket_tooltip(alt.Tooltip("bleu:Q", format=number)),
        bounds=(alt.Y("low:Q", title="BLEU", scale=scale), alt.Y2("high:Q")),
    )
    layers = marks.layers(means, singles) + marks.end_labels(lines, "bleu", [0, top], height)
    layers += limit_layers(runs_of(scored.arms), axis_end(means))
    what = f"BLEU after {scored.said(moment)}, against source length in words"
    title = _title(scored, moment, bool(outside_lines(means)), marks.crowded)
    return layer_chart(layers, title, line_chart_description(what, lines, "bleu", number), height, labelled=True)


def _points(evidence: Evidence) -> tuple[Lines, list[Point]]:
    """The means of each arm with their intervals; and the runs of arms that have several."""
    lines: Lines = {}
    singles: list[Point] = []
    for name, legend in _legend(evidence).items():
        mean, curves = evidence.arms[name]["by_length"], evidence.curves[name]
        lines[name] = mean_points(legend, [mean], Places(mean), "bleu")
        singles += single_points(name, legend, curves, Places(mean), "bleu")
    return lines, singles


def _legend(evidence: Evidence) -> dict[str, str]:
    """The arms' names, each with its BLEU of all sentences."""
    return {name: f"{name} · {arm['score']:.1f}" for name, arm in evidence.arms.items()}


def _all(lines: Lines) -> list[Point]:
    return [point for line in lines.values() for point in line]


def _title(scored: Scored, moment: int, has_hollow: bool, crowded: bool) -> alt.TitleParams:
    """How long the trainings were, what was translated and how, and how far a moment can be trusted."""
    results = runs_of(scored.arms)[0].results
    assert results is not None
    seeds = {arm["seeds"] for arm in scored.moments[moment].arms.values()}
    over = "sentences alone" if seeds == {1} else "trainings and sentences"
    band = band_words(f"95 % interval over {over}", crowded)
    sentences = sum(bucket["n"] for bucket in results["by_length"])
    left_out = f" · {scored.left_out} of the runs left out: not scored at these moments" if scored.left_out else ""
    return alt.TitleParams(
        text=f"BLEU against source length after {scored.said(moment)}",
        subtitle=[
            f"data {results['data']}, {scored.sentences:,} of {sentences:,} test sentences, the first of each length · "
            "beside each name: BLEU of these",
            "greedy search with the weights of that moment, so the last one is not the test's score",
            "at the earlier moments the learning rate was still high: a training that ended there, with a schedule of "
            "its own, may score far higher",
            f"{seeds_and_lines(seeds, crowded)} · {band}{hollow_note(has_hollow)}{left_out}",
            results["signature"],
        ],
    )
