"""What attention gains over the baseline against source length: the paired difference, which two curves do not show."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from lookback.evaluation import ENOUGH, FEW, LEVEL, Measure, differs, label, measure_of
from lookback.report.charts.buckets import TITLES, Places
from lookback.report.charts.chart_words import band_words, capital, line_chart_description, score_signature, span
from lookback.report.charts.charts import (
    INK,
    Point,
    Runs,
    axis_end,
    color_and_shape,
    dash,
    data_chart,
    is_crowded,
    layer_chart,
    length_axis,
    limit_layers,
    runs_of,
    scored_arms,
)
from lookback.report.charts.marks import ArmMarks, bucket_tooltip, in_lines, labelled_height, outside_lines
from lookback.report.charts.points import pieces
from lookback.report.evidence.contrasts import Contrast
from lookback.report.evidence.headline import these_differ


def difference_chart(contrasts: Sequence[Contrast], runs: Runs, measure: str = "bleu") -> alt.LayerChart:
    """Draw the contrasts (at least one) of scored `runs`, in the colours that the runs have in the length chart.

    A line is the paired difference, its band the 95 % interval, 0 the baseline. A point is filled where the difference
    is significant (under three seeds: where these trained models differ), else hollow. One of fewer than 50 sentences
    is joined with no other. `runs` may be arms where these are known.

    Raises `ValueError` where the contrasts are of another measure, or without numbers.
    """
    about = measure_of(measure)
    if others := sorted({contrast.difference.measure for contrast in contrasts} - {measure}):
        raise ValueError(f"contrasts of {', '.join(others)}, expected {measure}")
    compared = scored_arms(runs)
    drawn = _in_order(contrasts, list(compared))
    legend = {contrast.arm: _legend(contrast, about) for contrast in drawn}
    lines = {contrast.arm: _points(contrast, legend[contrast.arm]) for contrast in drawn}
    points = [point for line in lines.values() for point in line]
    if not points:
        raise ValueError(f"contrasts: none has a difference in {measure}")
    places = Places(drawn[0].difference.curve)
    lines = {name: line for name, line in lines.items() if line}
    domain, height = _domain(points, about, is_crowded(compared)), labelled_height(320, len(lines))

    color, shape = color_and_shape(compared, legend)
    marks = ArmMarks(
        x=length_axis(points, TITLES[places.buckets]),
        y=_difference_axis(domain, about, contrasts[0].pairs[0][1].recipe),
        color=color,
        shape=shape,
        dash=dash(compared, legend),
        tooltip=_tooltip(f"+{about.number}"),
        bounds=(alt.Y("low:Q"), alt.Y2("high:Q")),
    )
    layers = _layers(marks, points) + marks.end_labels(lines, "difference", domain, height)
    layers += limit_layers(runs_of(compared), axis_end(points), places.at)
    title = _title(drawn, about, marks.crowded)
    description = line_chart_description(str(title.text), lines, "difference", f"+{about.number}")
    return layer_chart(layers, title, description, height, labelled=True)


def _in_order(contrasts: Sequence[Contrast], names: Sequence[str]) -> list[Contrast]:
    """The contrasts that have a difference on the whole test set, in the order of the arms' names."""
    known = [contrast for contrast in contrasts if contrast.difference.whole["difference"] is not None]
    return [contrast for name in names for contrast in known if contrast.arm == name]


def _legend(contrast: Contrast, measure: Measure) -> str:
    return f"{contrast.arm} · {contrast.difference.whole['difference']:+{measure.number}}"


def _points(contrast: Contrast, legend: str) -> list[Point]:
    """A point for each bucket that has a difference. Points of one `piece` are joined (`pieces`)."""
    curve = contrast.difference.curve
    places = Places(curve)
    joined = [bucket["difference"] is not None and bucket["n"] >= ENOUGH for bucket in curve]
    return [
        {
            "arm": legend,
            "piece": piece,
            "bucket": label(bucket),
            **places.of(bucket),
            **_numbers(bucket),
        }
        for bucket, piece in zip(curve, pieces(joined), strict=True)
        if bucket["difference"] is not None
    ]


def _numbers(bucket: Mapping[str, Any]) -> Point:
    low, high = bucket["ci"]
    keys = ("n", "difference", "p_holm", "significant", "models_differ")
    return {"low": low, "high": high, **{key: bucket[key] for key in keys}}


def _domain(points: Sequence[Point], measure: Measure, crowded: bool) -> list[float]:
    """From below the lowest interval to above the highest one, 0 included.

    Intervals of few sentences are wide; a crowded chart, which does not draw them all, leaves them out.
    """
    step = 0.05 if measure.key == "length_ratio" else 5
    shown = in_lines(points) if crowded else points
    values = [point["difference"] for point in points] + [point[end] for point in shown for end in ("low", "high")]
    bottom, top = (min(0, *values), max(step / 5, *values))
    return [step * math.floor(bottom / step), step * math.ceil(top / step)]


def _difference_axis(domain: Sequence[float], measure: Measure, baseline: str) -> alt.Y:
    """With a sign at each tick."""
    tick = "+.2f" if measure.key == "length_ratio" else "+d"
    axis = alt.Axis(tickCount=6, labelExpr=f"datum.value ? format(datum.value, '{tick}') : '0'")
    lower_is_better = ", lower is better" if measure.better == -1 else ""
    title = f"{capital(measure.name)} more than {baseline}{lower_is_better}"
    return alt.Y("difference:Q", title=title, scale=alt.Scale(domain=list(domain)), axis=axis)


def _tooltip(number: str) -> list[alt.Tooltip]:
    numbers = [alt.Tooltip(f"{key}:Q", format=number) for key in ("difference", "low", "high")]
    return [*bucket_tooltip(numbers[0]), *numbers[1:], alt.Tooltip("p_holm:Q", format=".3f")]


def _layers(marks: ArmMarks, points: Sequence[Point]) -> list[alt.Chart]:
    joined, alone = data_chart(in_lines(points)), data_chart(outside_lines(points))
    return [
        data_chart([{"zero": 0}]).mark_rule(color=INK, strokeWidth=1.2).encode(alt.Y("zero:Q")),
        marks.bands(joined),
        marks.mean_lines(joined),
        marks.intervals(alone),
        marks.filled_points(data_chart([point for point in points if differs(point)])),
        marks.hollow_points(data_chart([point for point in points if not differs(point)])),
    ]


def _title(contrasts: Sequence[Contrast], measure: Measure, crowded: bool) -> alt.TitleParams:
    """What is compared, on what, how the band is made, and the signature that BLEU is never shown without."""
    results = contrasts[0].pairs[0][0].results
    assert results is not None
    sentences = contrasts[0].difference.whole["n"]
    subtitle = [
        f"data {results['data']}, {sentences:,} test sentences · beside each name: the difference over them all",
        _seeds_and_band(contrasts, crowded),
        f"filled: {_meaning_of_filled(contrasts)} · hollow: not, or n < {ENOUGH}",
        score_signature(measure, results["signature"]),
    ]
    gained = "gained over" if measure.better == 1 else "more than"
    baselines = " or ".join(dict.fromkeys(contrast.baseline for contrast in contrasts))
    return alt.TitleParams(text=f"{capital(measure.name)} {gained} {baselines}, by source length", subtitle=subtitle)


def _seeds_and_band(contrasts: Sequence[Contrast], crowded: bool) -> str:
    seeds = _seeds(contrasts)
    if seeds[-1] == 1:
        trained = any(contrast.is_of_trainings for contrast in contrasts)
        about = ["one seed, so training noise is not in it"] if trained else []
        return " · ".join([*about, band_words("95 % paired bootstrap interval over sentences alone", crowded)])
    few = " (fewer than three)" if seeds[0] < FEW else ""
    counted = f"{span(seeds)} seeds{few}"
    band = band_words("95 % interval of the paired difference, over trainings and sentences", crowded)
    return f"{counted} · {band}"


def _meaning_of_filled(contrasts: Sequence[Contrast]) -> str:
    if _seeds(contrasts)[0] >= FEW:
        return f"significant, Holm-corrected p < {LEVEL}"
    trained = any(contrast.is_of_trainings for contrast in contrasts)
    not_said = ", which is not said of the attentions" if trained else ""
    return f"{these_differ(contrasts)} (p < {LEVEL} over sentences){not_said}"


def _seeds(contrasts: Sequence[Contrast]) -> list[int]:
    """The numbers of pairs, fewest first."""
    return sorted({contrast.difference.seeds for contrast in contrasts})
