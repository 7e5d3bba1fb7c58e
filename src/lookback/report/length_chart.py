"""BLEU against source length: one Vega-Lite specification for pages and notebooks, SVG and PNG without a browser."""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import altair as alt

from lookback.evaluation import ENOUGH, label, midpoint
from lookback.report.charts import colors, dressed, edge, length_axis, limits, shapes
from lookback.report.contrasts import Evidence
from lookback.report.differences import arms
from lookback.report.runs import Run


def length_chart(runs: Sequence[Run], evidence: Evidence | None = None) -> alt.LayerChart:
    """Draw scored runs of one test set and signature; a single run is drawn the same way.

    An arm's thick line is the mean of its runs, thin lines are the runs. The band is the mean's bootstrap interval over
    trainings and sentences, from the `evidence` of these runs; without it, the envelope of the runs' own intervals. A
    bucket with fewer than 50 sentences is a hollow point, joined to no other. The dashed rule is the longest sentence
    of training. Raises `ValueError` without a scored run.
    """
    runs = [run for run in runs if run.bleu is not None]
    if not runs:
        raise ValueError("runs: none is scored, expected at least one with test/results.json")
    compared = arms(runs)
    legend = {name: f"{name} · {fmean(run.bleu or 0.0 for run in of):.1f}" for name, of in compared.items()}

    sums = evidence.arms if evidence else {}
    counted = {name: sums[name] for name, of in compared.items() if name in sums and sums[name]["seeds"] == len(of)}
    curves = {name: arm["by_length"] for name, arm in counted.items()}
    means = [point for name, of in compared.items() for point in _mean_points(legend[name], of, curves.get(name))]
    singles = [
        {**point, "run": f"{name} {index}"}
        for name, of in compared.items()
        if len(of) > 1
        for index, run in enumerate(of)
        for point in _mean_points(legend[name], [run], None)
    ]
    top = min(100, 10 * math.ceil(max(point["high"] for point in means) / 10) or 10)

    x = length_axis(means)
    y = alt.Y("bleu:Q", title="BLEU", scale=alt.Scale(domain=[0, top]), axis=alt.Axis(tickCount=6))
    color = alt.Color("arm:N", title=None, scale=alt.Scale(domain=list(legend.values()), range=colors(list(compared))))
    shape = alt.Shape("arm:N", title=None, scale=alt.Scale(domain=list(legend.values()), range=shapes(len(compared))))

    joined = alt.Chart(alt.Data(values=[point for point in means if point["piece"] is not None]))
    thin = alt.Chart(alt.Data(values=[point for point in singles if point["piece"] is not None]))
    alone = alt.Chart(alt.Data(values=[point for point in means if point["piece"] is None]))
    hover = [alt.Tooltip("arm:N"), alt.Tooltip("bucket:N"), alt.Tooltip("n:Q"), alt.Tooltip("bleu:Q", format=".1f")]
    layers: list[alt.Chart] = [
        joined.mark_area(opacity=0.14).encode(x, alt.Y("low:Q"), alt.Y2("high:Q"), color, detail="piece:N"),
        thin.mark_line(strokeWidth=1, opacity=0.4).encode(x, y, color, detail=["run:N", "piece:N"]),
        joined.mark_line(strokeWidth=2.6).encode(x, y, color, detail="piece:N"),
        joined.mark_point(size=62, filled=True, opacity=1).encode(x, y, color, shape, tooltip=hover),
        alone.mark_rule(strokeWidth=1.4, opacity=0.7).encode(x, alt.Y("low:Q"), alt.Y2("high:Q"), color),
        alone.mark_point(size=62, fill="white", strokeWidth=2, opacity=1).encode(x, y, color, shape, tooltip=hover),
    ]
    layers += limits(runs, edge(means))
    chart = alt.LayerChart(layer=layers).properties(
        width=720, height=360, title=_title(runs, compared, len(curves) == len(compared))
    )
    return dressed(chart)


def _mean_points(name: str, runs: Sequence[Run], curve: Sequence[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """A point a bucket that has sentences. Points of one `piece` are joined; `piece` is None under 50 sentences.

    `curve` has the intervals of the runs' mean; without it, a point has the envelope of the runs' own.
    """
    points, piece = [], 0
    for place, buckets in enumerate(zip(*(run.results["by_length"] for run in runs if run.results), strict=True)):
        scored = [bucket for bucket in buckets if bucket["n"]]
        enough = len(scored) == len(buckets) and min(bucket["n"] for bucket in scored) >= ENOUGH
        piece += not enough  # whatever follows a gap is a new piece
        if scored:
            first = scored[0]
            bounds = [curve[place]["ci"]] if curve else [bucket["ci"] for bucket in scored]
            points.append(
                {
                    "arm": name,
                    "piece": piece if enough else None,
                    "bucket": label(first),
                    "x": midpoint(first),
                    "hi": 2 * midpoint(first) - first["lo"],
                    "n": first["n"],
                    "bleu": fmean(bucket["bleu"] for bucket in scored),
                    "low": min(low for low, _ in bounds),
                    "high": max(high for _, high in bounds),
                }
            )
    return points


def _title(runs: Sequence[Run], arms: dict[str, list[Run]], over_trainings: bool) -> alt.TitleParams:
    """What is compared, on what, how the lines are made, and the signature that BLEU is never shown without."""
    first = runs[0].results
    assert first is not None
    names = ", ".join(dict.fromkeys(run.attention for of in arms.values() for run in of))
    sentences = sum(bucket["n"] for bucket in first["by_length"])
    seeds = sorted({len(of) for of in arms.values()})
    counted = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]}–{seeds[-1]}"
    if seeds[-1] == 1:
        drawn = "one seed, so training noise is not shown · band: 95 % bootstrap interval over sentences"
    else:
        few = " (fewer than three)" if seeds[0] < 3 else ""
        band = (
            "its 95 % interval over trainings and sentences" if over_trainings else "envelope of their 95 % intervals"
        )
        drawn = f"{counted} seeds{few}: thin lines, their mean thick · band: {band}"
    hollow = any(0 < bucket["n"] < ENOUGH for run in runs if run.results for bucket in run.results["by_length"])
    subtitle = [
        f"data {first['data']}, {sentences:,} test sentences · beside each name: BLEU of them all",
        drawn + (f" · hollow: n < {ENOUGH}" if hollow else ""),
        first["signature"],
    ]
    return alt.TitleParams(text=f"BLEU against source length: {names}", subtitle=subtitle)
