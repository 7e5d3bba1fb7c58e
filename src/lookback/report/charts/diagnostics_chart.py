"""How the attentions look at the source, against its length: at few or many words, at all of them, in their order."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from lookback.report.charts.buckets import Places
from lookback.report.charts.chart_words import hollow_note, seeds_and_lines
from lookback.report.charts.charts import (
    SOFT,
    Arms,
    Point,
    Runs,
    axis_end,
    color_and_shape,
    dash,
    data_chart,
    layer_chart,
    length_axis,
    limit_layers,
    runs_of,
    scored_arms,
)
from lookback.report.charts.marks import ArmMarks, bucket_tooltip, labelled_height, outside_lines
from lookback.report.charts.points import Curve, mean_points, single_points
from lookback.runs import Run


class Diagnostic(NamedTuple):
    """A key of `attention_by_length`, and what a reader must know of it."""

    title: str
    meaning: str


DIAGNOSTICS = {
    "entropy": Diagnostic("Entropy of the attention, nats", "0: a look at one place · dotted: at all places alike"),
    "sharpness": Diagnostic("Sharpness of the attention", "largest weight of a target word · 1: a look at one place"),
    "coverage": Diagnostic(
        "Coverage of the source", "weight that a source word receives, at most 1 · 1: none left out"
    ),
    "monotonicity": Diagnostic("Monotonicity of the attention", "share of target words that do not look further back"),
    "diagonality": Diagnostic(
        "Diagonality of the attention", "1: at an even pace along the sentence · 0: never near it"
    ),
}
"""What can be drawn: see `lookback.evaluation.alignment.diagnostics` for the equations."""


def diagnostics_chart(runs: Runs, measure: str) -> alt.LayerChart | None:
    """Draw one of `DIAGNOSTICS` for scored runs of one test set; None where no run has it, as those of `none`.

    An arm's thick line is the mean of its runs, thin lines are the runs. Colours, marks and axis are those of the
    length chart. A bucket with fewer than 50 sentences is a hollow point, joined with no other. `runs` may be arms
    where these are known. Raises `ValueError` for an unknown measure.
    """
    if measure not in DIAGNOSTICS:
        raise ValueError(f"{measure=}: expected one of {', '.join(DIAGNOSTICS)}")
    compared = scored_arms(runs)
    curves = {name: found for name, members in compared.items() if (found := _curves(members, measure))}
    if not curves:
        return None
    places = Places(next(iter(curves.values()))[0])
    lines = {name: mean_points(name, found, places, "y") for name, found in curves.items()}
    means = [point for line in lines.values() for point in line]
    singles = [point for name, found in curves.items() for point in single_points(name, name, found, places, "y")]
    even = _even_look(axis_end(means)) if measure == "entropy" else []
    top = _top([*means, *singles, *even], measure)
    height = labelled_height(320, len(lines))
    color, shape = color_and_shape(compared, {name: name for name in curves})
    marks = ArmMarks(
        x=length_axis(means),
        y=_y(measure, top),
        color=color,
        shape=shape,
        dash=dash(compared, {name: name for name in curves}),
        tooltip=bucket_tooltip(alt.Tooltip("y:Q", format=".3f")),
    )
    layers = marks.layers(means, singles) + marks.end_labels(lines, "y", [0, top], height)
    if even:
        dotted = data_chart(even).mark_line(strokeDash=[2, 4], strokeWidth=1.3, color=SOFT)
        layers.append(dotted.encode(alt.X("x:Q"), alt.Y("y:Q")))
    layers += limit_layers(runs_of(compared), axis_end(means))
    title = _title(measure, compared, curves, bool(outside_lines(means)), marks.crowded)
    return layer_chart(layers, title, _description(measure, lines), height, labelled=True)


def _curves(runs: Sequence[Run], measure: str) -> list[Curve]:
    """The measure by source length, of each run that has it anywhere."""
    results: list[Mapping[str, Any]] = [run.results or {} for run in runs]
    found = [of_run.get("attention_by_length") or [] for of_run in results]
    curves = [
        [
            {**{key: bucket[key] for key in ("lo", "hi", "n")}, "score": bucket[measure] if bucket["n"] else None}
            for bucket in curve
        ]
        for curve in found
    ]
    return [curve for curve in curves if any(bucket["score"] is not None for bucket in curve)]


def _top(points: Sequence[Point], measure: str) -> int:
    """Where the axis ends: at 1, or for entropy at the next whole number."""
    return max(1, math.ceil(max(point["y"] for point in points))) if measure == "entropy" else 1


def _y(measure: str, top: int) -> alt.Y:
    scale = alt.Scale(domain=[0, top])
    return alt.Y("y:Q", title=DIAGNOSTICS[measure].title, axis=alt.Axis(tickCount=6), scale=scale)


def _even_look(end: float) -> list[Point]:
    """ln(places): the entropy of equal weights on every word and the end token, which grows with length alone."""
    return [{"x": words, "y": math.log(words + 1)} for words in range(1, math.floor(end) + 1)]


def _title(
    measure: str, compared: Arms, curves: Mapping[str, Sequence[Curve]], has_hollow: bool, crowded: bool
) -> alt.TitleParams:
    results = next(run.results for name in curves for run in compared[name])
    assert results is not None
    lines = seeds_and_lines((len(found) for found in curves.values()), crowded)
    subtitle = [
        DIAGNOSTICS[measure].meaning,
        f"data {results['data']}, made to write the references · {lines}{hollow_note(has_hollow)}",
        "attention is a soft alignment, not an explanation",
    ]
    return alt.TitleParams(text=f"{DIAGNOSTICS[measure].title}, by source length", subtitle=subtitle)


def _description(measure: str, lines: Mapping[str, Sequence[Point]]) -> str:
    """The chart for a reader who cannot see it."""
    moves = (
        f"{name} from {points[0]['y']:.2f} at {points[0]['bucket']} words to {points[-1]['y']:.2f} at "
        f"{points[-1]['bucket']}"
        for name, points in lines.items()
    )
    return f"Line chart. {DIAGNOSTICS[measure].title} against source length in words: {'; '.join(moves)}."
