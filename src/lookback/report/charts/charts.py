"""What the charts share: colours, the length axis, the limit of training, type, and how they are saved."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import altair as alt
import vl_convert

from lookback.common.files import atomic_write
from lookback.report.charts.buckets import TITLES
from lookback.runs import Run
from lookback.runs.run import training_limit

BASELINE = "#4d4d4d"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Okabe and Ito's colours, which colour-blind readers can tell apart; `none` is dark grey."""
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right")
FONT = "Roboto, Helvetica Neue, Helvetica, Arial, sans-serif"
INK, SOFT, FAINT = "#1f2328", "#59636e", "#e4e7eb"


def save_chart(chart: alt.LayerChart, out: Path, name: str) -> list[Path]:
    """Write `name`.vl.json, `name`.svg, `name`.pdf (for papers) and `name`.png (twice the size, for slides) into `out`.

    Each atomically; returns the written paths.
    """
    specification = chart.to_json()
    svg = vl_convert.vegalite_to_svg(specification)
    if isinstance(description := chart.description, str):  # which Vega gives to a page, but not to a file
        svg = svg.replace("<svg ", f'<svg role="img" aria-label={quoteattr(description)} ', 1)
    contents = {
        "vl.json": (json.dumps(json.loads(specification), indent=1, ensure_ascii=False) + "\n").encode(),
        "svg": svg.encode(),
        "pdf": vl_convert.vegalite_to_pdf(specification),
        "png": vl_convert.vegalite_to_png(specification, scale=2),
    }
    paths = [out / f"{name}.{suffix}" for suffix in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        with atomic_write(path) as file:
            file.write(content)
    return paths


def length_axis(points: Sequence[Mapping[str, Any]], title: str = TITLES["width"]) -> alt.X:
    """Source lengths up to the end of the last bucket of `points`; a tick a bucket: its lengths, and its sentences."""
    texts = {str(p["x"]): [p["bucket"].replace("-", "–"), f"n = {p['n']:,}"] for p in points}
    lookup = f"({json.dumps(texts, ensure_ascii=False)})[datum.value]"
    ticks = sorted({point["x"] for point in points})
    axis = alt.Axis(values=ticks, labelExpr=lookup, grid=False, labelLineHeight=15, labelFlush=False)
    return alt.X("x:Q", title=title, axis=axis, scale=alt.Scale(domain=[0, edge(points)], nice=False))


def edge(points: Sequence[Mapping[str, Any]]) -> float:
    """Where the length axis ends: half a word behind the longest bucket."""
    return max(point["hi"] for point in points) + 0.5


def limits(runs: Sequence[Run], edge: float, place: Callable[[float], float] = float) -> list[alt.Chart]:
    """A dashed rule, with its words, at the longest sentence of training, where that is left of `edge`.

    `place` says where a length in words is on the axis.
    """
    known = sorted({limit for run in runs if (limit := training_limit(run)) is not None})
    records: list[dict[str, Any]] = [
        {"x": place(limit + 0.5), "text": f"trained up to {limit} words"} for limit in known
    ]
    found = [record for record in records if record["x"] <= edge]
    if not found:
        return []
    data = drawn_from(found)
    side: Literal["left", "right"] = "right" if found[-1]["x"] - 0.5 > edge / 2 else "left"
    return [
        data.mark_rule(strokeDash=[6, 4], strokeWidth=1.3, color=SOFT).encode(alt.X("x:Q")),
        data.mark_text(color=SOFT, fontSize=12, align=side).encode(alt.X("x:Q"), alt.YValue(-9), alt.Text("text:N")),
    ]


def colors(arms: Sequence[str]) -> list[str]:
    """A colour an arm, the same in every chart of the same arms."""
    others = [name for name in arms if name != "none"]
    chosen = {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(others)} | {"none": BASELINE}
    return [chosen[name] for name in arms]


def shapes(arms: int) -> list[str]:
    """A mark an arm, for readers and printers without colours."""
    return [SHAPES[index % len(SHAPES)] for index in range(arms)]


def told_apart(arms: Sequence[str], legend: Mapping[str, str]) -> tuple[alt.Color, alt.Shape]:
    """Colour and mark of the arms in `legend`, with their names there: what each has among all `arms`."""
    of_color, of_shape = (dict(zip(arms, marks, strict=True)) for marks in (colors(arms), shapes(len(arms))))
    domain = list(legend.values())
    return (
        alt.Color("arm:N", title=None, scale=alt.Scale(domain=domain, range=[of_color[name] for name in legend])),
        alt.Shape("arm:N", title=None, scale=alt.Scale(domain=domain, range=[of_shape[name] for name in legend])),
    )


def drawn_from(records: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """The base of a layer that draws these records."""
    # a tuple, because altair copies every list and dictionary inside a chart, and that several times
    return alt.Chart(alt.Data(values=tuple(records)))


def layered(
    layers: Sequence[alt.Chart],
    title: alt.TitleParams,
    description: str,
    height: int = 320,
    data: alt.typing.Optional[alt.Data] = alt.Undefined,
) -> alt.LayerChart:
    """The layers as one chart, 720 pixels wide, in the clothes of all: white, one typeface, quiet lines.

    `data` is for the layers that have none. All is said at once: altair copies a chart for each thing said later.
    """
    return alt.LayerChart(
        data=data, layer=layers, title=title, description=description, width=720, height=height, config=_CLOTHES
    )


_CLOTHES = alt.Config(
    font=FONT,
    background="white",
    padding=18,
    view=alt.ViewConfig(stroke=None),
    title=alt.TitleConfig(
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
    ),
    axis=alt.AxisConfig(
        labelFontSize=12,
        labelColor=INK,
        titleFontSize=13,
        titleFontWeight=500,
        titleColor=INK,
        titlePadding=12,
        gridColor=FAINT,
        domainColor=SOFT,
        tickColor=SOFT,
    ),
    legend=alt.LegendConfig(
        orient="right",
        offset=14,
        labelFontSize=13,
        labelColor=INK,
        labelLimit=400,
        rowPadding=7,
        symbolOpacity=1,
        symbolSize=90,
        symbolStrokeWidth=2,
    ),
)
