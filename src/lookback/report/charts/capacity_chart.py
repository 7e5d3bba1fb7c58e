"""How many words fit in a vector of n numbers: BLEU by source length and n as a heat map, and the law over it."""

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

import altair as alt
import numpy as np

from lookback.evaluation import label
from lookback.report.charts.chart_words import span
from lookback.report.charts.charts import PALETTE, drawn_from, layered
from lookback.report.evidence.capacity import THRESHOLD, Capacity, Held

LIGHTEST, DARKEST = "#f1f5fa", "#08306b"
"""BLEU 0 and 100"""
LINE = PALETTE[1]
POINTS = 40
"""Of the law's line, which is straight on neither axis"""


def capacity_chart(capacity: Capacity) -> alt.LayerChart:
    """Draw `capacity`: a row a size of the vector, a column a bucket of source lengths, darker for more BLEU.

    A point is where a size falls under BLEU 50, with its 95 % interval; the line is the law, where there is one. A size
    that falls there outside of the lengths that were tested has a row, and no point.
    """
    buckets = capacity.buckets
    first, last = buckets[0]["lo"] - 0.5, _end(buckets[-1])
    rows = _rows([size.numbers for size in capacity.held])
    cells = [
        {
            "from": bucket["lo"] - 0.5,
            "to": _end(bucket),
            "low": rows[size.numbers][0],
            "high": rows[size.numbers][1],
            "numbers": size.numbers,
            "bucket": label(bucket),
            "n": bucket["n"],
            "bleu": round(score, 2),
        }
        for size in capacity.held
        for bucket, score in zip(buckets, size.scores, strict=True)
        if score is not None
    ]
    points = [
        {"words": size.words, "numbers": size.numbers, "from": size.ci and size.ci[0], "to": size.ci and size.ci[1]}
        for size in capacity.held
        if size.words is not None
    ]
    bottom, top = rows[capacity.held[0].numbers][0], rows[capacity.held[-1].numbers][1]
    lengths = alt.Scale(domain=[first, last], nice=False)
    ticks = alt.Axis(values=[bucket["lo"] - 0.5 for bucket in buckets] + [last], labelExpr=_words, grid=False)
    y_scale = alt.Scale(type="log", domain=[bottom, top], nice=False)
    y_axis = alt.Axis(values=sorted(rows), format="d", grid=False, domain=False)
    x = alt.X("from:Q", title="Source length in words", scale=lengths, axis=ticks)
    y = alt.Y("low:Q", title="Numbers in the vector", scale=y_scale, axis=y_axis)
    shade = alt.Scale(domain=[0, 100], range=[LIGHTEST, DARKEST], interpolate="lab")
    color = alt.Color("bleu:Q", title="BLEU", scale=shade, legend=alt.Legend(gradientLength=180))
    hover = [alt.Tooltip("numbers:Q"), alt.Tooltip("bucket:N", title="words"), alt.Tooltip("n:Q")]
    hover.append(alt.Tooltip("bleu:Q", format=".1f"))
    heat = drawn_from(cells).mark_rect(stroke="#ffffff", strokeWidth=1)
    layers = [heat.encode(x, alt.X2("to:Q"), y, alt.Y2("high:Q"), color, tooltip=hover)]

    at, of = alt.X("words:Q", scale=lengths), alt.Y("numbers:Q", scale=y_scale)
    if capacity.law is not None:
        sizes = np.geomspace(bottom, top, POINTS)
        line = [{"words": capacity.law.words(size), "numbers": float(size)} for size in sizes]
        line = [place for place in line if first <= place["words"] <= last]
        drawn = drawn_from(line).mark_line(color=LINE, strokeWidth=2.6)
        layers.append(drawn.encode(at, of, alt.Order("numbers:Q")))
    if points:
        said = [alt.Tooltip("numbers:Q"), alt.Tooltip("words:Q", title=f"words at BLEU {THRESHOLD:.0f}", format=".1f")]
        sure = [point for point in points if point["from"] is not None]
        rule = drawn_from(sure).mark_rule(color=LINE, strokeWidth=2)
        dot = drawn_from(points).mark_point(size=80, filled=True, opacity=1, color=LINE, stroke="#ffffff")
        layers += [rule.encode(alt.X("from:Q", scale=lengths), alt.X2("to:Q"), of), dot.encode(at, of, tooltip=said)]
    return layered(layers, _title(capacity), _description(capacity), height=56 * len(rows))


_words = "format(datum.value + 0.5, 'd')"
"""An edge between two buckets is named by the length that begins there"""


def _end(bucket: dict[str, int | None]) -> float:
    """The right edge of a bucket; the open one is drawn ten words wide."""
    low, high = bucket["lo"], bucket["hi"]
    assert low is not None
    return (low + 9 if high is None else high) + 0.5


def _rows(numbers: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Lower and upper edge of each size's row: half way to its neighbours, on a logarithmic axis."""
    between = [sqrt(small * large) for small, large in pairwise(numbers)]
    edges = [numbers[0] ** 2 / between[0], *between, numbers[-1] ** 2 / between[-1]]
    return dict(zip(numbers, pairwise(edges), strict=True))


def _title(capacity: Capacity) -> alt.TitleParams:
    results = capacity.runs[0].results
    assert results is not None
    sentences = sum(bucket["n"] for bucket in capacity.buckets)
    seeds = sorted({size.seeds for size in capacity.held})
    counted = "one seed" if seeds == [1] else f"{span(seeds)} seeds"
    subtitle = [
        _fit(capacity),
        f"points: where BLEU falls under {THRESHOLD:.0f}, with 95 % intervals over sentences alone"
        + (f" · left out of the fit: {_missing(capacity.left_out)}" if capacity.left_out else ""),
        f"attention {capacity.runs[0].attention} · data {results['data']}, {sentences:,} test sentences · {counted}",
        str(results["signature"]),
    ]
    return alt.TitleParams(text="How many words fit in a vector", subtitle=subtitle)


def _fit(capacity: Capacity) -> str:
    """The law in a line, or that there is none."""
    law = capacity.law
    if law is None:
        return f"no fit: fewer than three sizes fall under BLEU {THRESHOLD:.0f} at a length that was tested"
    (low, high), (small, large) = law.exponent_ci, law.scale_ci
    return (
        f"line: words = {law.scale:.2f} · numbers ^ {law.exponent:.2f} "
        f"(95 % intervals {small:.2f} to {large:.2f}, and {low:.2f} to {high:.2f})"
    )


def _missing(sizes: Sequence[Held]) -> str:
    """`8 (shorter than tested), 128, 256 (longer than tested)`"""
    named = []
    for beyond in dict.fromkeys(size.beyond for size in sizes):
        if of := [f"{size.numbers}" for size in sizes if size.beyond == beyond]:
            named.append(f"{', '.join(of)} ({beyond})")
    return ", ".join(named)


def _description(capacity: Capacity) -> str:
    """The chart for those who do not see it."""
    held = [f"{size.numbers} numbers {size.words:.1f} words" for size in capacity.held if size.words is not None]
    found = f"BLEU {THRESHOLD:.0f} is kept up to: {'; '.join(held)}. " if held else ""
    fit = _fit(capacity)
    return f"Heat map of BLEU by source length and numbers in the vector. {found}{fit[0].upper()}{fit[1:]}."
