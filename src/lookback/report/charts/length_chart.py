"""A measure against source length: one Vega-Lite specification for pages, notebooks and files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import altair as alt

from lookback.evaluation import ENOUGH, IN_RESULTS, Buckets, Measure, measure_of
from lookback.report.charts.buckets import TITLES, Places
from lookback.report.charts.chart_words import (
    band_words,
    capital,
    hollow_note,
    line_chart_description,
    names_in_title,
    score_signature,
    span,
)
from lookback.report.charts.charts import (
    INK,
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
from lookback.report.charts.marks import ArmMarks, bucket_tooltip, labelled_height
from lookback.report.charts.points import Curve, mean_points, single_points
from lookback.report.evidence.contrasts import Evidence
from lookback.runs import Run


@dataclass(frozen=True)
class _Arm:
    """What is drawn of an arm."""

    runs: Sequence[Run]
    legend: str
    curves: Sequence[Curve]
    """Of each run"""
    mean: Curve | None
    """The runs' mean with its own intervals; None where only each run's are known"""

    @property
    def is_scored(self) -> bool:
        """Whether any bucket has a score."""
        return any(map(_is_scored, self.curves))


def length_chart(
    runs: Runs, evidence: Evidence | None = None, measure: str = "bleu", buckets: Buckets = "width"
) -> alt.LayerChart:
    """Draw scored runs of one test set and signature; a single run is drawn the same way.

    An arm's thick line is the mean of its runs, thin lines are the runs. The band is the mean's 95 % interval over
    trainings and sentences, from the `evidence` of these runs. Without evidence it is the envelope of the runs' own
    intervals, which only BLEU has. A bucket with fewer than 50 sentences is a hollow point, joined with no other. The
    dashed rule is the longest sentence of training.

    Args:
        runs: runs, or their arms where these are known (`scored_arms`).
        evidence: of the same runs, measure and buckets.
        measure: a key of `lookback.evaluation.MEASURES`.
        buckets: ten words wide, or with equally many sentences.

    Raises:
        ValueError: for evidence of another measure or other buckets, and where no run has the measure in such buckets,
            as runs of an earlier version may not without evidence.
    """
    about = measure_of(measure)
    if buckets not in IN_RESULTS:
        raise ValueError(f"buckets={buckets!r}: expected one of {', '.join(IN_RESULTS)}")
    if evidence and (evidence.measure, evidence.buckets) != (measure, buckets):
        raise ValueError(f"evidence of {evidence.measure} by {evidence.buckets}, expected {measure} by {buckets}")
    compared = scored_arms(runs)
    if not compared:
        raise ValueError("runs: none is scored, expected at least one with test/results.json")
    known = {name: _arm(name, members, evidence, about, buckets) for name, members in compared.items()}
    drawn = {name: arm for name, arm in known.items() if arm.is_scored}
    if not drawn:
        raise ValueError(f"runs: none has {measure} in {IN_RESULTS[buckets]} of its results.json, nor evidence of it")

    places = Places(next(iter(drawn.values())).curves[0])
    lines = {name: mean_points(arm.legend, arm.curves, places, measure, arm.mean) for name, arm in drawn.items()}
    means = [point for line in lines.values() for point in line]
    singles = [
        point for name, arm in drawn.items() for point in single_points(name, arm.legend, arm.curves, places, measure)
    ]
    domain, height = _domain(about, [*means, *singles]), labelled_height(360, len(lines))
    scale = alt.Scale(domain=domain)
    legend = {name: arm.legend for name, arm in drawn.items()}
    color, shape = color_and_shape(compared, legend)
    marks = ArmMarks(
        x=length_axis(means, TITLES[buckets]),
        y=alt.Y(f"{measure}:Q", title=about.title, scale=scale, axis=alt.Axis(tickCount=6)),
        color=color,
        shape=shape,
        dash=dash(compared, legend),
        tooltip=bucket_tooltip(alt.Tooltip(f"{measure}:Q", format=about.number)),
        # with the scale: otherwise the axis of an area begins at 0
        bounds=(alt.Y("low:Q", title=about.title, scale=scale), alt.Y2("high:Q")),
    )
    layers = marks.layers(means, singles) + marks.end_labels(lines, measure, domain, height)
    if about.key == "length_ratio":
        as_long = alt.Y("as_long:Q", title=about.title, scale=scale)
        layers.insert(0, data_chart([{"as_long": 1}]).mark_rule(color=INK, strokeWidth=1.2).encode(as_long))
    layers += limit_layers(runs_of(compared), axis_end(means), places.at)
    what = f"{about.title}, against source length in words"
    description = line_chart_description(what, lines, measure, about.number)
    return layer_chart(layers, _title(drawn, about, marks.crowded), description, height, labelled=True)


def run_curve(run: Run, measure: Measure, buckets: Buckets = "width") -> Curve:
    """The buckets of a run's own results; only BLEU has an interval there."""
    results: Mapping[str, Any] = run.results or {}
    found = results.get(IN_RESULTS[buckets]) or []
    return [
        {key: bucket[key] for key in ("lo", "hi", "n")}
        | {"score": bucket[measure.key], "ci": bucket["ci"] if measure.key == "bleu" else None}
        for bucket in found
    ]


def _arm(name: str, runs: Sequence[Run], evidence: Evidence | None, measure: Measure, buckets: Buckets) -> _Arm:
    """From the evidence where all of the runs are in it, else from what each run's results.json says."""
    if evidence and name in evidence.arms and evidence.arms[name]["seeds"] == len(runs):
        sums = evidence.arms[name]
        legend = _legend(name, [sums["score"]], measure)
        return _Arm(runs, legend, evidence.curves[name], sums["by_length"])
    known = [(run, curve) for run in runs if _is_scored(curve := run_curve(run, measure, buckets))]
    results: list[Mapping[str, Any]] = [run.results or {} for run, _ in known]
    scores = [of_run.get(measure.key) for of_run in results]
    return _Arm([run for run, _ in known], _legend(name, scores, measure), [curve for _, curve in known], None)


def _legend(name: str, scores: Sequence[float | None], measure: Measure) -> str:
    """The arm's name, and the mean of its scores over the whole test set where all of them are known."""
    known = [score for score in scores if score is not None]
    return f"{name} · {fmean(known):{measure.number}}" if known and len(known) == len(scores) else name


def _is_scored(curve: Curve) -> bool:
    return any(bucket["score"] is not None for bucket in curve)


def _domain(measure: Measure, points: Sequence[Point]) -> list[float]:
    """From 0 to the next ten, BLEU and chrF not over 100; the length ratio in tenths around 1."""
    values = [point[key] for point in points for key in (measure.key, "low", "high") if point[key] is not None]
    if measure.key == "length_ratio":
        return [min(0.9, math.floor(10 * min(values)) / 10), max(1.1, math.ceil(10 * max(values)) / 10)]
    top = 10 * math.ceil(max(values) / 10) or 10
    return [0, min(100, top) if measure.better == 1 else top]


def _title(drawn: Mapping[str, _Arm], measure: Measure, crowded: bool) -> alt.TitleParams:
    """What is compared, on what, how the lines are made, and the signature that BLEU is never shown without."""
    runs = [run for arm in drawn.values() for run in arm.runs]
    results = runs[0].results
    assert results is not None
    names = names_in_title(dict.fromkeys(run.recipe for run in runs))
    sentences = sum(bucket["n"] for bucket in results["by_length"])
    few_sentences = (0 < bucket["n"] < ENOUGH for arm in drawn.values() for curve in arm.curves for bucket in curve)
    subtitle = [
        f"data {results['data']}, {sentences:,} test sentences · beside each name: {measure.name} of them all",
        _lines_and_band(drawn, measure, crowded) + hollow_note(any(few_sentences)),
        score_signature(measure, results["signature"]),
    ]
    return alt.TitleParams(text=f"{capital(measure.name)} against source length: {names}", subtitle=subtitle)


def _lines_and_band(drawn: Mapping[str, _Arm], measure: Measure, crowded: bool) -> str:
    """How many seeds the lines are of, and what the band is."""
    # what another system wrote has no seed
    seeds = sorted({len(arm.runs) for arm in drawn.values() if arm.runs[0].is_training})
    if not seeds or seeds[-1] == 1:
        lines = "one seed, so training noise is not shown" if seeds else "a line a system"
        band = "95 % bootstrap interval over sentences"
    else:
        few = " (fewer than three)" if seeds[0] < 3 else ""
        lines = f"{span(seeds)} seeds{few}: " + ("their means" if crowded else "thin lines, their mean thick")
        band = "envelope of their 95 % intervals"
        if all(arm.mean for arm in drawn.values()):
            band = "its 95 % interval over trainings and sentences"
    is_known = measure.key == "bleu" or any(arm.mean for arm in drawn.values())
    return f"{lines} · {band_words(band, crowded)}" if is_known else lines
