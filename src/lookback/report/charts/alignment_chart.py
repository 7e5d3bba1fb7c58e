"""Where a model looks: one sentence's soft alignment as a heat map, in one Vega-Lite specification."""

from collections.abc import Iterable, Sequence
from typing import Literal

import altair as alt
import numpy as np
import vl_convert
from numpy.typing import NDArray

from lookback.report.charts.charts import FAINT, FONT, INK, SOFT, LayerChart, lookup

END = "end"
"""How the end token is shown, the last one of both sides"""
LARGEST, SMALLEST, WIDTH = 24, 9, 720
"""Pixels: the largest and the smallest side of a cell, and the width into which a long sentence's cells must fit"""
VISIBLE = 0.004
"""Smaller weights would look white"""
LONGEST_WORD, LONGEST_TITLE = 40, 200
"""Characters that are drawn of a word and of the title: Vega takes minutes to measure a text of 100,000"""
DARKEST, GOLD = "#08306b", "#D55E00"


def alignment_chart(
    source: Sequence[str],
    target: Sequence[str],
    weights: NDArray[np.floating],
    title: str,
    sure: Iterable[tuple[int, int]] = (),
    possible: Iterable[tuple[int, int]] = (),
) -> LayerChart:
    """Draw what each target word looked at: rows are target words, columns source words, darker is more.

    A soft alignment is not an explanation.

    Args:
        source: its words, the end token included.
        target: its words, the end token included.
        weights: (target, source), 0..1. The scale is always 0 to 1, so that two charts can be compared.
        title: of the chart.
        sure: gold links (source word, target word), outlined.
        possible: gold links that need not be found, with a dashed outline.

    Raises:
        ValueError: where the shape of the weights does not fit the words.
    """
    rows, columns = list(target), list(source)
    if weights.shape != (len(rows), len(columns)):
        raise ValueError(
            f"weights: shape {weights.shape}, expected {(len(rows), len(columns))}, a row a target word and a column a "
            "source word, end tokens too"
        )
    rows, columns = ([_shortened(word, LONGEST_WORD) for word in words] for words in (rows, columns))
    side = max(SMALLEST, min(LARGEST, WIDTH // len(columns)))
    size = max(7, min(12, side - 3))
    seen = np.argwhere(weights >= VISIBLE)  # NaN, from a model that diverged, is not seen
    cells = {  # a list for each field: altair would check every record
        "row": seen[:, 0].tolist(),
        "column": seen[:, 1].tolist(),
        "weight": [round(float(weights[row, column]), 4) for row, column in seen],
        "target": [rows[row] for row in seen[:, 0]],
        "source": [columns[column] for column in seen[:, 1]],
    }

    x = alt.X("column:O", title=None, axis=_axis(columns, size, "top", -60), scale=_numbers(columns))
    y = alt.Y("row:O", title=None, axis=_axis(rows, size, "left", 0), scale=_numbers(rows))
    shade = alt.Scale(domain=[0, 1], range=["white", DARKEST], interpolate="lab")
    color = alt.Color("weight:Q", title="weight", scale=shade)
    color = color.legend(gradientLength=90, values=[0, 0.5, 1], format=".1f", titleFontSize=11, labelFontSize=11)
    tooltip = [alt.Tooltip("target:N"), alt.Tooltip("source:N"), alt.Tooltip("weight:Q", format=".3f")]
    heat = alt.Chart(alt.Data(values=[cells])).transform_flatten(list(cells))
    heat = heat.mark_rect().encode(x, y, color, tooltip=tooltip)
    layers = [heat]
    for links, dash in ((sure, [1, 0]), (possible, [4, 3])):
        if places := [{"row": row, "column": column} for column, row in links]:
            outline = alt.Chart(alt.Data(values=places))
            layers.append(outline.mark_rect(fillOpacity=0, stroke=GOLD, strokeWidth=2, strokeDash=dash).encode(x, y))
    chart = LayerChart(layer=layers).properties(
        width=alt.Step(side),
        height=alt.Step(side),
        title=alt.TitleParams(
            _shortened(title, LONGEST_TITLE), anchor="start", frame="group", fontSize=13, color=INK, offset=10
        ),
    )
    return (
        chart.configure(font=FONT, background="white", padding=10)
        .configure_view(stroke=FAINT)
        .configure_axis(labelColor=INK, labelPadding=4)
        .configure_legend(labelColor=SOFT, titleColor=SOFT)
    )


def alignment_png(chart: alt.LayerChart) -> bytes:
    """The chart as PNG in its own size, drawn without a browser."""
    # altair checked each part as it was built; to check the whole takes half as long as drawing it
    return vl_convert.vegalite_to_png(chart.to_json(validate=False), scale=1)


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _axis(words: Sequence[str], size: int, side: Literal["top", "left"], angle: int) -> alt.Axis:
    """The words as labels. Cells are placed by number, since a word may repeat; the axis looks up the number's word."""
    return alt.Axis(
        labelExpr=lookup(list(words), "datum.value"),
        labelAngle=angle,
        labelFontSize=size,
        labelLimit=160,
        orient=side,
        ticks=False,
        domain=False,
    )


def _numbers(words: Sequence[str]) -> alt.Scale:
    """A place for each word, whether it was looked at or not."""
    return alt.Scale(domain=list(range(len(words))))
