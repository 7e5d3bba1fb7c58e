"""How many words fit in a vector of n numbers: BLEU by source length and n as a heat map, and the law over it."""

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

import altair as alt
import numpy as np

from lookback.evaluation import label
from lookback.report.charts.chart_words import span
from lookback.report.charts.charts import PALETTE, Point, data_chart, layer_chart
from lookback.report.evidence.capacity import THRESHOLD, Capacity, Held
from lookback.runs import LengthRange

LIGHTEST, DARKEST = "#f1f5fa", "#08306b"
"""BLEU 0 and 100"""
LINE = PALETTE[1]
POINTS = 40
"""Of the law's line, which is curved on these axes"""


def capacity_chart(capacity: Capacity) -> alt.LayerChart:
    """Draw `capacity`: a row for each size of the vector, a column for each bucket of lengths, darker for more BLEU.

    A point is where BLEU of a size falls below 50, with its 95 % interval; the line is the law, where there is one. A
    size whose BLEU does not fall there within the tested lengths has a row, and no point.
    """
    layers = [_heat_map(capacity), *_law(capacity), *_points(capacity)]
    return layer_chart(layers, _title(capacity), _description(capacity), height=56 * len(capacity.held))


def _heat_map(capacity: Capacity) -> alt.Chart:
    """A cell for each size and bucket that has a score."""
    rows = _rows(capacity)
    cells: list[Point] = [
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
        for bucket, score in zip(capacity.buckets, size.scores, strict=True)
        if score is not None
    ]
    edges = [*(bucket["lo"] - 0.5 for bucket in capacity.buckets), _end(capacity.buckets[-1])]
    x_axis = alt.Axis(values=edges, labelExpr=_FIRST_LENGTH, grid=False)
    y_axis = alt.Axis(values=sorted(rows), format="d", grid=False, domain=False)
    x = alt.X("from:Q", title="Source length in words", scale=_length_scale(capacity), axis=x_axis)
    y = alt.Y("low:Q", title="Numbers in the vector", scale=_size_scale(capacity), axis=y_axis)
    shade = alt.Scale(domain=[0, 100], range=[LIGHTEST, DARKEST], interpolate="lab")
    color = alt.Color("bleu:Q", title="BLEU", scale=shade, legend=alt.Legend(gradientLength=180))
    tooltip = [alt.Tooltip("numbers:Q"), alt.Tooltip("bucket:N", title="words"), alt.Tooltip("n:Q")]
    tooltip.append(alt.Tooltip("bleu:Q", format=".1f"))
    cell = data_chart(cells).mark_rect(stroke="#ffffff", strokeWidth=1)
    return cell.encode(x, alt.X2("to:Q"), y, alt.Y2("high:Q"), color, tooltip=tooltip)


def _law(capacity: Capacity) -> list[alt.Chart]:
    """The line of the law as far as it is on the axes; no layer without a law."""
    if capacity.law is None:
        return []
    first, last = _lengths(capacity)
    smallest, largest = _sizes(capacity)
    numbers = np.geomspace(smallest, largest, POINTS)
    line = [{"words": capacity.law.words(size), "numbers": float(size)} for size in numbers]
    drawn = data_chart([point for point in line if first <= point["words"] <= last])
    x, y = alt.X("words:Q", scale=_length_scale(capacity)), alt.Y("numbers:Q", scale=_size_scale(capacity))
    return [drawn.mark_line(color=LINE, strokeWidth=2.6).encode(x, y, alt.Order("numbers:Q"))]


def _points(capacity: Capacity) -> list[alt.Chart]:
    """The length that each size holds and its interval; no layer where none is known."""
    points: list[Point] = [
        {"words": size.words, "numbers": size.numbers, "from": size.ci and size.ci[0], "to": size.ci and size.ci[1]}
        for size in capacity.held
        if size.words is not None
    ]
    if not points:
        return []
    lengths, y = _length_scale(capacity), alt.Y("numbers:Q", scale=_size_scale(capacity))
    words = alt.Tooltip("words:Q", title=f"words at BLEU {THRESHOLD:.0f}", format=".1f")
    rule = data_chart([point for point in points if point["from"] is not None]).mark_rule(color=LINE, strokeWidth=2)
    dot = data_chart(points).mark_point(size=80, filled=True, opacity=1, color=LINE, stroke="#ffffff")
    return [
        rule.encode(alt.X("from:Q", scale=lengths), alt.X2("to:Q"), y),
        dot.encode(alt.X("words:Q", scale=lengths), y, tooltip=[alt.Tooltip("numbers:Q"), words]),
    ]


_FIRST_LENGTH = "format(datum.value + 0.5, 'd')"
"""Label of the edge between two buckets: the first length after it"""


def _end(bucket: LengthRange) -> float:
    """The right edge of a bucket; the open one is drawn ten words wide."""
    low, high = bucket["lo"], bucket["hi"]
    return (low + 9 if high is None else high) + 0.5


def _length_scale(capacity: Capacity) -> alt.Scale:
    return alt.Scale(domain=_lengths(capacity), nice=False)


def _size_scale(capacity: Capacity) -> alt.Scale:
    return alt.Scale(type="log", domain=_sizes(capacity), nice=False)


def _lengths(capacity: Capacity) -> list[float]:
    """The ends of the axis of lengths."""
    return [capacity.buckets[0]["lo"] - 0.5, _end(capacity.buckets[-1])]


def _sizes(capacity: Capacity) -> list[float]:
    """The ends of the axis of sizes."""
    rows = list(_rows(capacity).values())
    return [rows[0][0], rows[-1][1]]


def _rows(capacity: Capacity) -> dict[int, tuple[float, float]]:
    """Lower and upper edge of each size's row: half way to its neighbours on a logarithmic axis."""
    numbers = [size.numbers for size in capacity.held]
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
    numbers: dict[str | None, list[str]] = {}
    for size in sizes:
        numbers.setdefault(size.beyond, []).append(str(size.numbers))
    return ", ".join(f"{', '.join(of_reason)} ({reason})" for reason, of_reason in numbers.items())


def _description(capacity: Capacity) -> str:
    """The chart for a reader who cannot see it."""
    held = [f"{size.numbers} numbers {size.words:.1f} words" for size in capacity.held if size.words is not None]
    found = f"BLEU {THRESHOLD:.0f} is kept up to: {'; '.join(held)}. " if held else ""
    fit = _fit(capacity)
    return f"Heat map of BLEU by source length and numbers in the vector. {found}{fit[0].upper()}{fit[1:]}."
