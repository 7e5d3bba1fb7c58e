"""What attention gains over the baseline against source length: the paired difference, which two curves do not show."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from lookback.evaluation import ENOUGH, LEVEL, label, midpoint
from lookback.report.charts import INK, colors, dressed, edge, length_axis, limits, shapes
from lookback.report.contrasts import Contrast
from lookback.report.differences import arms
from lookback.report.runs import Run


def difference_chart(contrasts: Sequence[Contrast], runs: Sequence[Run]) -> alt.LayerChart:
    """Draw the contrasts (at least one) of scored `runs`, in the colours that the runs have in the length chart.

    A line is the paired difference, its band the 95 % interval, 0 the baseline. A point is filled where the difference
    is significant, hollow where it is not; one of fewer than 50 sentences is joined to no other.
    """
    names = list(arms([run for run in runs if run.bleu is not None]))
    drawn = [contrast for name in names for contrast in contrasts if contrast.arm == name]
    gains = {contrast.arm: contrast.difference.whole["difference"] for contrast in drawn}
    legend = {name: f"{name} · {gain:+.1f}" for name, gain in gains.items()}
    points = [point for contrast in drawn for point in _points(contrast, legend[contrast.arm])]
    color_of, shape_of = (dict(zip(names, marks, strict=True)) for marks in (colors(names), shapes(len(names))))

    bottom = 5 * math.floor(min(0, *(point["low"] for point in points)) / 5)
    top = 5 * math.ceil(max(1, *(point["high"] for point in points)) / 5)
    x = length_axis(points)
    y = alt.Y("difference:Q", title=f"BLEU more than {contrasts[0].pairs[0][1].attention}")
    y = y.scale(domain=[bottom, top]).axis(tickCount=6, labelExpr="datum.value ? format(datum.value, '+d') : '0'")
    order = list(legend.values())
    color = alt.Color("arm:N", title=None).scale(domain=order, range=[color_of[name] for name in legend])
    shape = alt.Shape("arm:N", title=None).scale(domain=order, range=[shape_of[name] for name in legend])
    band = (alt.Y("low:Q"), alt.Y2("high:Q"))
    hover = [
        alt.Tooltip("arm:N"),
        alt.Tooltip("bucket:N"),
        alt.Tooltip("n:Q"),
        alt.Tooltip("difference:Q", format="+.1f"),
        alt.Tooltip("low:Q", format="+.1f"),
        alt.Tooltip("high:Q", format="+.1f"),
        alt.Tooltip("p_holm:Q", format=".3f"),
    ]

    def having(chosen: Sequence[dict[str, Any]]) -> alt.Chart:
        return alt.Chart(alt.Data(values=list(chosen)))

    joined = having([point for point in points if point["piece"] is not None])
    alone = having([point for point in points if point["piece"] is None])
    filled = having([point for point in points if point["significant"]])
    hollow = having([point for point in points if not point["significant"]])
    layers: list[alt.Chart] = [
        having([{"zero": 0}]).mark_rule(color=INK, strokeWidth=1.2).encode(y="zero:Q"),
        joined.mark_area(opacity=0.14).encode(x, *band, color, detail="piece:N"),
        joined.mark_line(strokeWidth=2.6).encode(x, y, color, detail="piece:N"),
        alone.mark_rule(strokeWidth=1.4, opacity=0.7).encode(x, *band, color),
        filled.mark_point(size=62, filled=True, opacity=1).encode(x, y, color, shape, tooltip=hover),
        hollow.mark_point(size=62, fill="white", strokeWidth=2, opacity=1).encode(x, y, color, shape, tooltip=hover),
    ]
    layers += limits(runs, edge(points))
    chart = alt.LayerChart(layer=layers).properties(width=720, height=320, title=_title(drawn))
    return dressed(chart)


def _points(contrast: Contrast, name: str) -> list[dict[str, Any]]:
    """A point a bucket that has sentences. Points of one `piece` are joined; `piece` is None under 50 sentences."""
    points, piece = [], 0
    for bucket in contrast.difference.curve:
        enough = bucket["n"] >= ENOUGH
        piece += not enough  # whatever follows a gap is a new piece
        if bucket["n"]:
            points.append(
                {
                    "arm": name,
                    "piece": piece if enough else None,
                    "bucket": label(bucket),
                    "x": midpoint(bucket),
                    "hi": 2 * midpoint(bucket) - bucket["lo"],
                    "low": bucket["ci"][0],
                    "high": bucket["ci"][1],
                    **{key: bucket[key] for key in ("n", "difference", "p_holm", "significant")},
                }
            )
    return points


def _title(contrasts: Sequence[Contrast]) -> alt.TitleParams:
    """What is compared, on what, how the band is made, and the signature that BLEU is never shown without."""
    results = contrasts[0].pairs[0][0].results
    assert results is not None
    seeds = sorted({contrast.difference.seeds for contrast in contrasts})
    counted = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]}–{seeds[-1]}"
    if seeds[-1] == 1:
        how = "one seed, so training noise is not in it · band: 95 % paired bootstrap interval over sentences"
    else:
        few = " (fewer than three)" if seeds[0] < 3 else ""
        how = f"{counted} seeds{few} · band: 95 % paired bootstrap interval over trainings and sentences"
    sentences = contrasts[0].difference.whole["n"]
    subtitle = [
        f"data {results['data']}, {sentences:,} test sentences · beside each name: the difference over them all",
        how,
        f"filled: significant (Holm-corrected p < {LEVEL}, and 0 outside the interval) · hollow: not, or n < {ENOUGH}",
        results["signature"],
    ]
    baselines = " or ".join(dict.fromkeys(contrast.baseline for contrast in contrasts))
    return alt.TitleParams(text=f"BLEU gained over {baselines}, by source length", subtitle=subtitle)
