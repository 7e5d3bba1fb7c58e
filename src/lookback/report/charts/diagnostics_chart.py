"""How the attentions look against source length: spread or sharp, all of the source or some, in its order or across."""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

import altair as alt

from lookback.evaluation import ENOUGH, label, midpoint
from lookback.report.charts.chart_words import span
from lookback.report.charts.charts import SOFT, drawn_from, edge, layered, length_axis, limits, told_apart
from lookback.report.evidence.differences import arms
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


def diagnostics_chart(runs: Sequence[Run], measure: str) -> alt.LayerChart | None:
    """Draw one of `DIAGNOSTICS` for scored runs of one test set; None where no run has it (`none` looks nowhere).

    An arm's thick line is the mean of its runs, thin lines are the runs; colours, marks and axis are those of the
    length chart. A bucket with fewer than 50 sentences is a hollow point, joined to no other. Raises `ValueError`
    for a measure that is not known.
    """
    if measure not in DIAGNOSTICS:
        raise ValueError(f"{measure=}: expected one of {', '.join(DIAGNOSTICS)}")
    known = arms([run for run in runs if run.bleu is not None])
    looked = {name: [run for run in of if _curve(run, measure)] for name, of in known.items()}
    found = {name: points for name, of in looked.items() if (points := _points(name, of, measure))}
    if not found:
        return None
    means = [point for points in found.values() for point in points]
    singles = [
        {**point, "run": index}
        for name in found
        if len(looked[name]) > 1
        for index, run in enumerate(looked[name])
        for point in _points(name, [run], measure)
    ]

    color, shape = told_apart(list(known), {name: name for name in found})
    x = length_axis(means)
    even = _even_look(edge(means)) if measure == "entropy" else []
    top = math.ceil(max(point["y"] for point in [*means, *singles, *even])) if measure == "entropy" else 1
    scale = alt.Scale(domain=[0, top])
    y = alt.Y("y:Q", title=DIAGNOSTICS[measure].title, axis=alt.Axis(tickCount=6), scale=scale)
    hover = [alt.Tooltip("arm:N"), alt.Tooltip("bucket:N"), alt.Tooltip("n:Q"), alt.Tooltip("y:Q", format=".3f")]

    single, piece = alt.Detail("run:N"), alt.Detail("piece:N")

    def having(points: Sequence[dict[str, Any]], joined: bool) -> alt.Chart:
        return drawn_from([point for point in points if (point["piece"] is not None) is joined])

    layers: list[alt.Chart] = [
        having(singles, True).mark_line(strokeWidth=1, opacity=0.4).encode(x, y, color, detail=[single, piece]),
        having(means, True).mark_line(strokeWidth=2.6).encode(x, y, color, piece),
        having(means, True).mark_point(size=62, filled=True, opacity=1).encode(x, y, color, shape, tooltip=hover),
        having(means, False)
        .mark_point(size=62, fill="white", strokeWidth=2, opacity=1)
        .encode(x, y, color, shape, tooltip=hover),
    ]
    if even:
        dashed = drawn_from(even).mark_line(strokeDash=[2, 4], strokeWidth=1.3, color=SOFT)
        layers.append(dashed.encode(alt.X("x:Q"), alt.Y("y:Q")))
    layers += limits(runs, edge(means))
    title = _title(measure, {name: looked[name] for name in found}, means)
    return layered(layers, title, _description(measure, found))


def _curve(run: Run, measure: str) -> list[dict[str, Any]]:
    """The run's buckets that have the measure."""
    buckets = (run.results or {}).get("attention_by_length") or []
    return [bucket for bucket in buckets if bucket["n"] and bucket[measure] is not None]


def _points(name: str, runs: Sequence[Run], measure: str) -> list[dict[str, Any]]:
    """The runs' mean, a point a bucket. Points of one `piece` are joined; `piece` is None under 50 sentences."""
    buckets: dict[int, list[dict[str, Any]]] = {}
    for run in runs:
        for bucket in _curve(run, measure):
            buckets.setdefault(bucket["lo"], []).append(bucket)
    points: list[dict[str, Any]] = []
    piece, behind = 0, None
    for low, of in sorted(buckets.items()):
        enough = len(of) == len(runs) and min(bucket["n"] for bucket in of) >= ENOUGH
        piece += not enough or low != behind  # whatever follows a gap is a new piece
        behind = None if of[0]["hi"] is None else of[0]["hi"] + 1
        points.append(
            {
                "arm": name,
                "piece": piece if enough else None,
                "bucket": label(of[0]),
                "x": midpoint(of[0]),
                "hi": 2 * midpoint(of[0]) - low,
                "n": of[0]["n"],
                "y": fmean(bucket[measure] for bucket in of),
            }
        )
    return points


def _even_look(edge: float) -> list[dict[str, float]]:
    """ln(places), the entropy of a look at every word and the end mark alike: what length alone does to entropy."""
    return [{"x": words, "y": math.log(words + 1)} for words in range(1, math.floor(edge) + 1)]


def _title(measure: str, drawn: dict[str, list[Run]], means: Sequence[dict[str, Any]]) -> alt.TitleParams:
    results = next(run.results for of in drawn.values() for run in of)
    assert results is not None
    seeds = sorted({len(of) for of in drawn.values()})
    lines = "one seed" if seeds[-1] == 1 else f"{span(seeds)} seeds: thin lines, their mean thick"
    hollow = f" · hollow: n < {ENOUGH}" if any(point["piece"] is None for point in means) else ""
    subtitle = [
        DIAGNOSTICS[measure].meaning,
        f"data {results['data']}, made to write the references · {lines}{hollow}",
        "attention is a soft alignment, not an explanation",
    ]
    return alt.TitleParams(text=f"{DIAGNOSTICS[measure].title}, by source length", subtitle=subtitle)


def _description(measure: str, found: dict[str, list[dict[str, Any]]]) -> str:
    """The chart for those who do not see it."""
    moves = (
        f"{name} from {points[0]['y']:.2f} at {points[0]['bucket']} words to {points[-1]['y']:.2f} at "
        f"{points[-1]['bucket']}"
        for name, points in found.items()
    )
    return f"Line chart. {DIAGNOSTICS[measure].title} against source length in words: {'; '.join(moves)}."
