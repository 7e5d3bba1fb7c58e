"""Where a model looks: one sentence's soft alignment as a heat map, in one Vega-Lite specification."""

import json
from collections.abc import Iterable, Sequence
from typing import Literal

import altair as alt
import numpy as np
import vl_convert
from numpy.typing import NDArray

from lookback.report.charts.charts import FAINT, FONT, INK, SOFT

END = "end"
"""What stands for the end mark, the last word of both sides"""
LARGEST, SMALLEST, WIDTH = 24, 9, 720
"""Pixels: a cell's side at most and at least, and the width that a long sentence's cells are made to fit"""
VISIBLE = 0.004
"""Weights below it could not be told from white"""
DARKEST, GOLD = "#08306b", "#D55E00"


def alignment_chart(
    source: Sequence[str],
    target: Sequence[str],
    weights: NDArray[np.floating],
    title: str,
    sure: Iterable[tuple[int, int]] = (),
    possible: Iterable[tuple[int, int]] = (),
) -> alt.LayerChart:
    """Draw what each target word looked at: rows are target words, columns source words, darker is more.

    source, target: all of them, end marks too.
    weights: (target, source), 0..1. The scale is always 0 to 1, so that two charts can be compared.
    sure, possible: gold links (source word, target word), outlined; possible ones dashed.

    Raises ValueError where weights and words do not fit. A soft alignment is not an explanation.
    """
    rows, columns = list(target), list(source)
    if weights.shape != (len(rows), len(columns)):
        raise ValueError(
            f"weights: shape {weights.shape}, expected {(len(rows), len(columns))}, a row a target word and a column a "
            "source word, end marks too"
        )
    side = max(SMALLEST, min(LARGEST, WIDTH // len(columns)))
    size = max(7, min(12, side - 3))
    seen = np.argwhere(weights >= VISIBLE)  # nothing where a diverged model left NaN
    cells = {  # as columns: altair looks at every record that it is given
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
    hover = [alt.Tooltip("target:N"), alt.Tooltip("source:N"), alt.Tooltip("weight:Q", format=".3f")]
    heat = alt.Chart(alt.Data(values=[cells])).transform_flatten(list(cells))
    heat = heat.mark_rect().encode(x, y, color, tooltip=hover)
    layers = [heat]
    for links, dash in ((sure, [1, 0]), (possible, [4, 3])):
        if places := [{"row": row, "column": column} for column, row in links]:
            outline = alt.Chart(alt.Data(values=places))
            layers.append(outline.mark_rect(fillOpacity=0, stroke=GOLD, strokeWidth=2, strokeDash=dash).encode(x, y))
    chart = alt.LayerChart(layer=layers).properties(
        width=alt.Step(side),
        height=alt.Step(side),
        title=alt.TitleParams(title, anchor="start", frame="group", fontSize=13, color=INK, offset=10),
    )
    return (
        chart.configure(font=FONT, background="white", padding=10)
        .configure_view(stroke=FAINT)
        .configure_axis(labelColor=INK, labelPadding=4)
        .configure_legend(labelColor=SOFT, titleColor=SOFT)
    )


def alignment_png(chart: alt.LayerChart) -> bytes:
    """The chart as PNG, one pixel a pixel, drawn without a browser."""
    # checked as it was built: the schema is no second time worth half of what drawing takes
    return vl_convert.vegalite_to_png(chart.to_json(validate=False), scale=1)


def _axis(words: Sequence[str], size: int, side: Literal["top", "left"], angle: int) -> alt.Axis:
    """The words. They repeat, so cells are placed by number, and a number looks its word up; as JSON it stays text."""
    # Vega takes the text "if", alone of all, for its function of that name
    texts = json.dumps(list(words), ensure_ascii=False).replace('"if"', '"i"+"f"')
    lookup = f"({texts})[datum.value]"
    return alt.Axis(
        labelExpr=lookup,
        labelAngle=angle,
        labelFontSize=size,
        labelLimit=160,
        orient=side,
        ticks=False,
        domain=False,
    )


def _numbers(words: Sequence[str]) -> alt.Scale:
    """A place for each word, looked at or not."""
    return alt.Scale(domain=list(range(len(words))))
