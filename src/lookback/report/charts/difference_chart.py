"""What attention gains over the baseline against source length: the paired difference, which two curves do not show."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from lookback.evaluation import ENOUGH, FEW, LEVEL, Measure, differs, label, measure_of
from lookback.report.charts.buckets import TITLES, Places
from lookback.report.charts.chart_words import capital, described, signed, span
from lookback.report.charts.charts import INK, drawn_from, edge, layered, length_axis, limits, told_apart
from lookback.report.evidence.contrasts import Contrast
from lookback.report.evidence.differences import arms
from lookback.report.evidence.headline import MODELS_DIFFER
from lookback.runs import Run


def difference_chart(contrasts: Sequence[Contrast], runs: Sequence[Run], measure: str = "bleu") -> alt.LayerChart:
    """Draw the contrasts (at least one) of scored `runs`, in the colours that the runs have in the length chart.

    A line is the paired difference, its band the 95 % interval, 0 the baseline. A point is filled where the difference
    is significant (under three seeds: where these trained models differ), hollow where it is not; one of fewer than 50
    sentences is joined to no other. Raises `ValueError` where the contrasts are of another measure, or without numbers.
    """
    about = measure_of(measure)
    if others := sorted({contrast.difference.measure for contrast in contrasts} - {measure}):
        raise ValueError(f"contrasts of {', '.join(others)}, expected {measure}")
    names = list(arms([run for run in runs if run.bleu is not None]))
    drawn = [contrast for name in names for contrast in contrasts if contrast.arm == name]
    drawn = [contrast for contrast in drawn if contrast.difference.whole["difference"] is not None]
    form = f"+{about.number}"
    legend = {contrast.arm: f"{contrast.arm} · {contrast.difference.whole['difference']:{form}}" for contrast in drawn}
    points = [point for contrast in drawn for point in _points(contrast, legend[contrast.arm])]
    if not points:
        raise ValueError(f"contrasts: none has a difference in {measure}")
    places = Places(drawn[0].difference.curve)

    step, ticks = (0.05, "+.2f") if measure == "length_ratio" else (5, "+d")
    bottom = step * math.floor(min(0, *(point["low"] for point in points)) / step)
    top = step * math.ceil(max(step / 5, *(point["high"] for point in points)) / step)
    less = ", lower is better" if about.better == -1 else ""
    x = length_axis(points, TITLES[places.buckets])
    more = f"{capital(about.name)} more than {contrasts[0].pairs[0][1].attention}{less}"
    axis = alt.Axis(tickCount=6, labelExpr=f"datum.value ? format(datum.value, '{ticks}') : '0'")
    y = alt.Y("difference:Q", title=more, scale=alt.Scale(domain=[bottom, top]), axis=axis)
    color, shape = told_apart(names, legend)
    piece = alt.Detail("piece:N")
    band = (alt.Y("low:Q"), alt.Y2("high:Q"))
    hover = [
        alt.Tooltip("arm:N"),
        alt.Tooltip("bucket:N"),
        alt.Tooltip("n:Q"),
        alt.Tooltip("difference:Q", format=form),
        alt.Tooltip("low:Q", format=form),
        alt.Tooltip("high:Q", format=form),
        alt.Tooltip("p_holm:Q", format=".3f"),
    ]

    joined = drawn_from([point for point in points if point["piece"] is not None])
    alone = drawn_from([point for point in points if point["piece"] is None])
    filled = drawn_from([point for point in points if differs(point)])
    hollow = drawn_from([point for point in points if not differs(point)])
    layers: list[alt.Chart] = [
        drawn_from([{"zero": 0}]).mark_rule(color=INK, strokeWidth=1.2).encode(alt.Y("zero:Q")),
        joined.mark_area(opacity=0.14).encode(x, *band, color, piece),
        joined.mark_line(strokeWidth=2.6).encode(x, y, color, piece),
        alone.mark_rule(strokeWidth=1.4, opacity=0.7).encode(x, *band, color),
        filled.mark_point(size=62, filled=True, opacity=1).encode(x, y, color, shape, tooltip=hover),
        hollow.mark_point(size=62, fill="white", strokeWidth=2, opacity=1).encode(x, y, color, shape, tooltip=hover),
    ]
    layers += limits(runs, edge(points), places.at)
    lines = {name: [point for point in points if point["arm"] == entry] for name, entry in legend.items()}
    title = _title(drawn, about)
    return layered(layers, title, described(str(title.text), lines, "difference", form))


def _points(contrast: Contrast, name: str) -> list[dict[str, Any]]:
    """A point a bucket that has a difference. Points of one `piece` are joined; `piece` is None under 50 sentences."""
    points, piece, places = [], 0, Places(contrast.difference.curve)
    for bucket in contrast.difference.curve:
        scored = bucket["difference"] is not None
        enough = scored and bucket["n"] >= ENOUGH
        piece += not enough  # whatever follows a gap is a new piece
        if scored:
            points.append(
                {
                    "arm": name,
                    "piece": piece if enough else None,
                    "bucket": label(bucket),
                    **places.of(bucket),
                    "low": bucket["ci"][0],
                    "high": bucket["ci"][1],
                    **{key: bucket[key] for key in ("n", "difference", "p_holm", "significant", "models_differ")},
                }
            )
    return points


def _title(contrasts: Sequence[Contrast], measure: Measure) -> alt.TitleParams:
    """What is compared, on what, how the band is made, and the signature that BLEU is never shown without."""
    results = contrasts[0].pairs[0][0].results
    assert results is not None
    seeds = sorted({contrast.difference.seeds for contrast in contrasts})
    if seeds[-1] == 1:
        how = "one seed, so training noise is not in it · band: 95 % paired bootstrap interval over sentences alone"
    else:
        few = " (fewer than three)" if seeds[0] < FEW else ""
        how = f"{span(seeds)} seeds{few} · band: 95 % interval of the paired difference, over trainings and sentences"
    verdict = f"significant, Holm-corrected p < {LEVEL}"
    if seeds[0] < FEW:
        verdict = f"{MODELS_DIFFER} (p < {LEVEL} over sentences), which is not said of the attentions"
    sentences = contrasts[0].difference.whole["n"]
    subtitle = [
        f"data {results['data']}, {sentences:,} test sentences · beside each name: the difference over them all",
        how,
        f"filled: {verdict} · hollow: not, or n < {ENOUGH}",
        signed(measure, results["signature"]),
    ]
    gained = "gained over" if measure.better == 1 else "more than"
    baselines = " or ".join(dict.fromkeys(contrast.baseline for contrast in contrasts))
    return alt.TitleParams(text=f"{capital(measure.name)} {gained} {baselines}, by source length", subtitle=subtitle)
