"""BLEU against source length: one Vega-Lite specification for pages and notebooks, SVG and PNG without a browser."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import altair as alt
import vl_convert

from lookback.evaluation import ENOUGH, atomic_write, label, midpoint
from lookback.report.differences import arm, differing
from lookback.report.runs import Run, training_limit

BASELINE = "#4d4d4d"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Okabe and Ito's colours, which colour-blind readers can tell apart; `none` is dark grey."""
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right")
FONT = "Roboto, Helvetica Neue, Helvetica, Arial, sans-serif"
INK, SOFT, FAINT = "#1f2328", "#59636e", "#e4e7eb"


def length_chart(runs: Sequence[Run]) -> alt.LayerChart:
    """Draw scored runs of one test set and signature; a single run is drawn the same way.

    An arm's thick line is the mean of its runs, thin lines are the runs, the band is the envelope of the runs'
    bootstrap intervals. A bucket with fewer than 50 sentences is a hollow point, joined to no other. The dashed rule is
    the longest sentence of training. Raises `ValueError` without a scored run.
    """
    runs = [run for run in runs if run.bleu is not None]
    if not runs:
        raise ValueError("runs: none is scored, expected at least one with test/results.json")
    keys = differing(runs)
    arms: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.attention != "none", arm(run, keys), run.seed or 0)):
        arms.setdefault(arm(run, keys), []).append(run)
    legend = {name: f"{name} · {fmean(run.bleu or 0.0 for run in of):.1f}" for name, of in arms.items()}

    means = [point for name, of in arms.items() for point in _mean_points(legend[name], of)]
    singles = [
        {**point, "run": f"{name} {index}"}
        for name, of in arms.items()
        if len(of) > 1
        for index, run in enumerate(of)
        for point in _mean_points(legend[name], [run])
    ]
    buckets = {point["x"]: point for point in means}
    edge = max(point["hi"] for point in means) + 0.5
    top = min(100, 10 * math.ceil(max(point["high"] for point in means) / 10) or 10)

    x = alt.X("x:Q", title="Source length in words, and test sentences of that length", axis=_length_axis(buckets))
    x = x.scale(domain=[0, edge], nice=False)
    y = alt.Y("bleu:Q", title="BLEU", scale=alt.Scale(domain=[0, top]), axis=alt.Axis(tickCount=6))
    color = alt.Color("arm:N", title=None, scale=alt.Scale(domain=list(legend.values()), range=_colors(list(arms))))
    shape = alt.Shape("arm:N", title=None, scale=alt.Scale(domain=list(legend.values()), range=_shapes(len(arms))))

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
    layers += _limits(runs, edge)
    chart = alt.LayerChart(layer=layers).properties(width=720, height=360, title=_title(runs, arms))
    return _dressed(chart)


def save_chart(chart: alt.LayerChart, out: Path, name: str) -> list[Path]:
    """Write `name`.vl.json, `name`.svg and `name`.png (twice the size, for slides) into `out`, each atomically."""
    specification = chart.to_json()
    contents = {
        "vl.json": (json.dumps(json.loads(specification), indent=1, ensure_ascii=False) + "\n").encode(),
        "svg": vl_convert.vegalite_to_svg(specification).encode(),
        "png": vl_convert.vegalite_to_png(specification, scale=2),
    }
    paths = [out / f"{name}.{suffix}" for suffix in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        with atomic_write(path) as file:
            file.write(content)
    return paths


def _mean_points(name: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """A point a bucket that has sentences. Points of one `piece` are joined; `piece` is None under 50 sentences."""
    points, piece = [], 0
    for buckets in zip(*(run.results["by_length"] for run in runs if run.results), strict=True):
        scored = [bucket for bucket in buckets if bucket["n"]]
        enough = len(scored) == len(buckets) and min(bucket["n"] for bucket in scored) >= ENOUGH
        piece += not enough  # whatever follows a gap is a new piece
        if scored:
            first = scored[0]
            points.append(
                {
                    "arm": name,
                    "piece": piece if enough else None,
                    "bucket": label(first),
                    "x": midpoint(first),
                    "hi": 2 * midpoint(first) - first["lo"],
                    "n": first["n"],
                    "bleu": fmean(bucket["bleu"] for bucket in scored),
                    "low": min(bucket["ci"][0] for bucket in scored),
                    "high": max(bucket["ci"][1] for bucket in scored),
                }
            )
    return points


def _length_axis(buckets: dict[float, dict[str, Any]]) -> alt.Axis:
    """A tick a bucket: its lengths, and how many sentences stand behind it."""
    texts = {str(x): [point["bucket"].replace("-", "–"), f"n = {point['n']:,}"] for x, point in buckets.items()}
    lookup = f"({json.dumps(texts, ensure_ascii=False)})[datum.value]"
    return alt.Axis(values=sorted(buckets), labelExpr=lookup, grid=False, labelLineHeight=15, labelFlush=False)


def _limits(runs: Sequence[Run], edge: float) -> list[alt.Chart]:
    limits = sorted({limit for run in runs if (limit := training_limit(run)) is not None and limit + 0.5 <= edge})
    if not limits:
        return []
    records = [{"x": limit + 0.5, "text": f"trained up to {limit} words"} for limit in limits]
    data = alt.Chart(alt.Data(values=records))
    side: Literal["left", "right"] = "right" if limits[-1] > edge / 2 else "left"
    return [
        data.mark_rule(strokeDash=[6, 4], strokeWidth=1.3, color=SOFT).encode(x="x:Q"),
        data.mark_text(color=SOFT, fontSize=12, align=side).encode(x="x:Q", y=alt.value(-9), text="text:N"),
    ]


def _title(runs: Sequence[Run], arms: dict[str, list[Run]]) -> alt.TitleParams:
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
        drawn = f"{counted} seeds{few}: thin lines, their mean thick · band: envelope of their 95 % bootstrap intervals"
    hollow = any(0 < bucket["n"] < ENOUGH for run in runs if run.results for bucket in run.results["by_length"])
    subtitle = [
        f"data {first['data']}, {sentences:,} test sentences · beside each name: BLEU of them all",
        drawn + (f" · hollow: n < {ENOUGH}" if hollow else ""),
        first["signature"],
    ]
    return alt.TitleParams(text=f"BLEU against source length: {names}", subtitle=subtitle)


def _colors(arms: Sequence[str]) -> list[str]:
    others = [name for name in arms if name != "none"]
    chosen = {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(others)} | {"none": BASELINE}
    return [chosen[name] for name in arms]


def _shapes(arms: int) -> list[str]:
    return [SHAPES[index % len(SHAPES)] for index in range(arms)]


def _dressed(chart: alt.LayerChart) -> alt.LayerChart:
    return (
        chart.configure(font=FONT, background="white", padding=18)
        .configure_view(stroke=None)
        .configure_title(
            anchor="start",
            frame="group",
            offset=26,
            fontSize=18,
            fontWeight=600,
            color=INK,
            subtitleFontSize=12,
            subtitleColor=SOFT,
            subtitleLineHeight=17,
            subtitlePadding=7,
        )
        .configure_axis(
            labelFontSize=12,
            labelColor=INK,
            titleFontSize=13,
            titleFontWeight=500,
            titleColor=INK,
            titlePadding=12,
            gridColor=FAINT,
            domainColor=SOFT,
            tickColor=SOFT,
        )
        .configure_legend(
            orient="right",
            offset=14,
            labelFontSize=13,
            labelColor=INK,
            labelLimit=400,
            rowPadding=7,
            symbolOpacity=1,
            symbolSize=90,
            symbolStrokeWidth=2,
        )
    )
