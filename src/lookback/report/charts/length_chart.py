"""A measure against source length: one Vega-Lite specification for pages and notebooks, and files without a browser."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import altair as alt

from lookback.evaluation import ENOUGH, Measure, label, measure_of
from lookback.report.charts.buckets import IN_RESULTS, TITLES, Buckets, Places
from lookback.report.charts.chart_words import capital, described, signed, span
from lookback.report.charts.charts import INK, drawn_from, edge, layered, length_axis, limits, told_apart
from lookback.report.evidence.contrasts import Evidence
from lookback.report.evidence.differences import arms
from lookback.runs import Run

Curve = Sequence[Mapping[str, Any]]
"""Buckets `{"lo", "hi", "n", "score"}`, and `ci`, `[low, high]` or None, where a band is to be drawn from them"""


@dataclass(frozen=True)
class _Arm:
    """What is drawn of an arm."""

    runs: list[Run]
    legend: str
    curves: Sequence[Curve]
    """Of each run"""
    mean: Curve | None
    """The runs' mean with its own intervals; None where only each run's are known"""


def length_chart(
    runs: Sequence[Run], evidence: Evidence | None = None, measure: str = "bleu", buckets: Buckets = "width"
) -> alt.LayerChart:
    """Draw scored runs of one test set and signature; a single run is drawn the same way.

    An arm's thick line is the mean of its runs, thin lines are the runs. The band is the mean's 95 % interval over
    trainings and sentences, from the `evidence` of these runs; without it, the envelope of the runs' own intervals,
    which only BLEU has. A bucket with fewer than 50 sentences is a hollow point, joined to no other. The dashed rule is
    the longest sentence of training.

    `measure` is a key of `lookback.evaluation.MEASURES`; `buckets` are ten words wide, or hold equally many sentences.
    Raises `ValueError` for evidence of others, and where no run has the measure in such buckets, as runs of an
    earlier version may not without evidence.
    """
    about = measure_of(measure)
    if buckets not in IN_RESULTS:
        raise ValueError(f"buckets={buckets!r}: expected one of {', '.join(IN_RESULTS)}")
    if evidence and (evidence.measure, evidence.buckets) != (measure, buckets):
        raise ValueError(f"evidence of {evidence.measure} by {evidence.buckets}, expected {measure} by {buckets}")
    runs = [run for run in runs if run.bleu is not None]
    if not runs:
        raise ValueError("runs: none is scored, expected at least one with test/results.json")
    compared = arms(runs)
    known = {name: _arm(name, of, evidence, about, buckets) for name, of in compared.items()}
    drawn = {name: arm for name, arm in known.items() if any(map(_scored, arm.curves))}
    if not drawn:
        raise ValueError(f"runs: none has {measure} in {IN_RESULTS[buckets]} of its results.json, nor evidence of it")
    places = Places(next(curve for arm in drawn.values() for curve in arm.curves))
    means = [point for arm in drawn.values() for point in _points(arm.legend, arm.curves, arm.mean, places, measure)]
    singles = [
        {**point, "run": f"{name} {index}"}
        for name, arm in drawn.items()
        if len(arm.curves) > 1
        for index, curve in enumerate(arm.curves)
        for point in _points(arm.legend, [curve], None, places, measure)
    ]

    x = length_axis(means, TITLES[buckets])
    scale = alt.Scale(domain=_domain(about, [*means, *singles]))
    y = alt.Y(f"{measure}:Q", title=about.title, scale=scale, axis=alt.Axis(tickCount=6))
    color, shape = told_apart(list(compared), {name: arm.legend for name, arm in drawn.items()})

    def having(points: Sequence[dict[str, Any]], joined: bool, band: bool = False) -> alt.Chart:
        chosen = [point for point in points if (point["piece"] is not None) is joined]
        return drawn_from([point for point in chosen if point["low"] is not None or not band])

    joined, thin, alone = having(means, True), having(singles, True), having(means, False)
    hover = [alt.Tooltip("arm:N"), alt.Tooltip("bucket:N"), alt.Tooltip("n:Q")]
    hover.append(alt.Tooltip(f"{measure}:Q", format=about.number))
    # the scale here too: without it the axis of an area goes down to 0
    piece = alt.Detail("piece:N")
    between = (alt.Y("low:Q", title=about.title, scale=scale), alt.Y2("high:Q"))
    layers: list[alt.Chart] = [
        having(means, True, band=True).mark_area(opacity=0.14).encode(x, *between, color, piece),
        thin.mark_line(strokeWidth=1, opacity=0.4).encode(x, y, color, detail=[alt.Detail("run:N"), piece]),
        joined.mark_line(strokeWidth=2.6).encode(x, y, color, piece),
        joined.mark_point(size=62, filled=True, opacity=1).encode(x, y, color, shape, tooltip=hover),
        having(means, False, band=True).mark_rule(strokeWidth=1.4, opacity=0.7).encode(x, *between, color),
        alone.mark_point(size=62, fill="white", strokeWidth=2, opacity=1).encode(x, y, color, shape, tooltip=hover),
    ]
    if about.key == "length_ratio":
        as_long = drawn_from([{"as_long": 1}])
        even = alt.Y("as_long:Q", title=about.title, scale=scale)
        layers.insert(0, as_long.mark_rule(color=INK, strokeWidth=1.2).encode(even))
    layers += limits(runs, edge(means), places.at)
    lines = {name: [p for p in means if p["arm"] == arm.legend] for name, arm in drawn.items()}
    said = described(f"{about.title}, against source length in words", lines, measure, about.number)
    return layered(layers, _title(runs, drawn, about), said, height=360)


def _arm(name: str, runs: list[Run], evidence: Evidence | None, measure: Measure, buckets: Buckets) -> _Arm:
    """From the evidence where all of the runs are in it, else from what each run's results.json says."""
    if evidence and name in evidence.arms and evidence.arms[name]["seeds"] == len(runs):
        sums = evidence.arms[name]
        legend = _legend(name, [sums["score"]], measure)
        return _Arm(runs, legend, evidence.curves[name], sums["by_length"])
    known = [(run, curve) for run in runs if _scored(curve := _curve(run, measure, buckets))]
    whole = [(run.results or {}).get(measure.key) for run, _ in known]
    return _Arm([run for run, _ in known], _legend(name, whole, measure), [curve for _, curve in known], None)


def _legend(name: str, scores: Sequence[float | None], measure: Measure) -> str:
    """The arm's name, and the mean of its scores over the whole test set, if they are known."""
    known = [score for score in scores if score is not None]
    return f"{name} · {fmean(known):{measure.number}}" if known and len(known) == len(scores) else name


def _curve(run: Run, measure: Measure, buckets: Buckets) -> Curve:
    """The buckets of a run's own results; only BLEU has an interval there."""
    found = (run.results or {}).get(IN_RESULTS[buckets]) or []
    return [
        {key: bucket[key] for key in ("lo", "hi", "n")}
        | {"score": bucket[measure.key], "ci": bucket["ci"] if measure.key == "bleu" else None}
        for bucket in found
    ]


def _scored(curve: Curve) -> bool:
    return any(bucket["score"] is not None for bucket in curve)


def _points(
    name: str, curves: Sequence[Curve], mean: Curve | None, places: Places, measure: str
) -> list[dict[str, Any]]:
    """A point a bucket that has a score. Points of one `piece` are joined; `piece` is None under 50 sentences.

    `mean` has the intervals of the runs' mean; without it, a point has the envelope of the runs' own.
    """
    points, piece = [], 0
    for place, buckets in enumerate(zip(*curves, strict=True)):
        scored = [bucket for bucket in buckets if bucket["score"] is not None]
        enough = len(scored) == len(curves) and min(bucket["n"] for bucket in scored) >= ENOUGH
        piece += not enough  # whatever follows a gap is a new piece
        if scored:
            first = scored[0]
            bounds = [mean[place]["ci"]] if mean else [bucket["ci"] for bucket in scored if bucket.get("ci")]
            points.append(
                {
                    "arm": name,
                    "piece": piece if enough else None,
                    "bucket": label(dict(first)),
                    **places.of(first),
                    "n": first["n"],
                    measure: fmean(bucket["score"] for bucket in scored),
                    "low": min((low for low, _ in bounds), default=None),
                    "high": max((high for _, high in bounds), default=None),
                }
            )
    return points


def _domain(measure: Measure, points: Sequence[Mapping[str, Any]]) -> list[float]:
    """From 0 to the next ten, BLEU and chrF not over 100; the length ratio in tenths around 1."""
    values = [point[key] for point in points for key in (measure.key, "low", "high") if point[key] is not None]
    if measure.key == "length_ratio":
        return [min(0.9, math.floor(10 * min(values)) / 10), max(1.1, math.ceil(10 * max(values)) / 10)]
    top = 10 * math.ceil(max(values) / 10) or 10
    return [0, min(100, top) if measure.better == 1 else top]


def _title(runs: Sequence[Run], drawn: Mapping[str, _Arm], measure: Measure) -> alt.TitleParams:
    """What is compared, on what, how the lines are made, and the signature that BLEU is never shown without."""
    first = runs[0].results
    assert first is not None
    names = ", ".join(dict.fromkeys(run.attention for arm in drawn.values() for run in arm.runs))
    sentences = sum(bucket["n"] for bucket in first["by_length"])
    seeds = sorted({len(arm.runs) for arm in drawn.values()})
    banded = measure.key == "bleu" or any(arm.mean for arm in drawn.values())
    if seeds[-1] == 1:
        how = "one seed, so training noise is not shown"
        band = "95 % bootstrap interval over sentences"
    else:
        few = " (fewer than three)" if seeds[0] < 3 else ""
        how = f"{span(seeds)} seeds{few}: thin lines, their mean thick"
        over_trainings = all(arm.mean for arm in drawn.values())
        band = (
            "its 95 % interval over trainings and sentences" if over_trainings else "envelope of their 95 % intervals"
        )
    few_sentences = (0 < bucket["n"] < ENOUGH for arm in drawn.values() for curve in arm.curves for bucket in curve)
    subtitle = [
        f"data {first['data']}, {sentences:,} test sentences · beside each name: {measure.name} of them all",
        how + (f" · band: {band}" if banded else "") + (f" · hollow: n < {ENOUGH}" if any(few_sentences) else ""),
        signed(measure, first["signature"]),
    ]
    return alt.TitleParams(text=f"{capital(measure.name)} against source length: {names}", subtitle=subtitle)
