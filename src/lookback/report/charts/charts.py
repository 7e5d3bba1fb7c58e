"""What the charts share: arms, colours, the length axis, training limits, the style, and how they are saved."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import altair as alt
import vl_convert

from lookback.common.files import atomic_write
from lookback.common.visible_text import visible
from lookback.report.charts.buckets import TITLES
from lookback.report.evidence.differences import arms
from lookback.runs import Run
from lookback.runs.run import training_limit

Arms = Mapping[str, Sequence[Run]]
"""Runs by the name of their arm, as `lookback.report.evidence.differences.arms` sorts them"""
Runs = Sequence[Run] | Arms
"""What a chart is drawn from: runs, or their arms where these are known already"""

Point = dict[str, Any]
"""What a mark is drawn from: a field of the specification by its name"""

BASELINE = "#4d4d4d"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Okabe and Ito's colours, which colour-blind readers can tell apart; `none` is dark grey."""
DASHES = ([1, 0], [7, 3], [2, 2])
"""Of lines, where there are more arms than colours: those of a second round are dashed, of a third dotted."""
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right")
HIGHLIGHTED = "highlighted"
"""The parameter of a chart whose value is the `arm` that is brought forward; empty: every arm is drawn alike"""
FONT = "Roboto, Helvetica Neue, Helvetica, Arial, sans-serif"
INK, SOFT, FAINT = "#1f2328", "#59636e", "#e4e7eb"


class LayerChart(alt.LayerChart):
    """Altair's layered chart with `visible` text in its specification, whoever renders it.

    Words of a corpus and names of arms may hold any character, and some end the process inside vl-convert.
    """

    def to_dict(self, *args: Any, **kwargs: Any) -> Any:  # altair's signature
        return _visible(super().to_dict(*args, **kwargs))


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _visible(inside) for key, inside in value.items()}
    return [_visible(inside) for inside in value] if isinstance(value, list | tuple) else value


def lookup(texts: Any, index: str) -> str:
    """A Vega expression for the text that stands at `index` in a list or table of texts.

    The texts are made visible here, because inside the expression a control character is an escape sequence.
    """
    # Vega would take the text "if" for its function of that name; no other text is mistaken
    written = json.dumps(_visible(texts), ensure_ascii=False).replace('"if"', '"i"+"f"')
    return f"({written})[{index}]"


def scored_arms(runs: Runs) -> Arms:
    """The arms of the runs that have a BLEU score. Arms are returned as they are: a page computes them once."""
    return runs if isinstance(runs, Mapping) else arms([run for run in runs if run.bleu is not None])


def runs_of(arms: Arms) -> list[Run]:
    """The runs of all arms, one arm after the other."""
    return [run for members in arms.values() for run in members]


def save_chart(chart: alt.LayerChart, out: Path, name: str) -> list[Path]:
    """Write `name`.vl.json, `name`.svg, `name`.pdf (for papers) and `name`.png (twice the size, for slides) into `out`.

    Each file is written atomically. Returns the written paths.
    """
    specification = chart.to_json()
    svg = vl_convert.vegalite_to_svg(specification)
    if isinstance(description := chart.description, str):  # Vega adds it in a page, but not in a file
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
    """Source lengths up to the end of the last bucket of `points`; each tick has a bucket's lengths and its n."""
    labels = {p["x"]: (p["bucket"], f"n = {p['n']:,}") for p in points}
    scale = alt.Scale(domain=[0, axis_end(points)], nice=False)
    return alt.X("x:Q", title=title, axis=bucket_axis(labels), scale=scale)


def bucket_axis(labels: Mapping[float, tuple[str, str]]) -> alt.Axis:
    """Ticks at these places; below each one the bucket's label, and a second line."""
    texts = {str(x): [bucket.replace("-", "–"), below] for x, (bucket, below) in labels.items()}
    return alt.Axis(
        values=sorted(labels), labelExpr=lookup(texts, "datum.value"), grid=False, labelLineHeight=15, labelFlush=False
    )


def axis_end(points: Iterable[Mapping[str, Any]]) -> float:
    """Where the length axis ends: half a word after the longest bucket."""
    return max(point["hi"] for point in points) + 0.5


def training_limits(runs: Iterable[Run]) -> list[int]:
    """The longest sources that the runs were trained on, in words, each once, the shortest first."""
    return sorted({limit for run in runs if (limit := training_limit(run)) is not None})


def limit_points(runs: Iterable[Run], end: float, place: Callable[[float], float] = float) -> list[Point]:
    """A point for each training limit that is on the axis, left of its `end`.

    `place` gives the place on the axis of a length in words.
    """
    points: list[Point] = [
        {"x": place(limit + 0.5), "text": f"trained up to {limit} words"} for limit in training_limits(runs)
    ]
    return [point for point in points if point["x"] <= end]


def limit_layers(runs: Iterable[Run], end: float, place: Callable[[float], float] = float) -> list[alt.Chart]:
    """A dashed rule with its text at each training limit; no layer where none is on the axis."""
    points = limit_points(runs, end, place)
    if not points:
        return []
    return limit_marks(data_chart(points), "right" if points[-1]["x"] - 0.5 > end / 2 else "left")


def limit_marks(base: alt.Chart, align: Literal["left", "right"], field: Callable[[str], str] = str) -> list[alt.Chart]:
    """The rule and the text; `field` names the columns `x` and `text` of the data."""
    x = alt.X(field=field("x"), type="quantitative")
    text = alt.Text(field=field("text"), type="nominal")
    return [
        base.mark_rule(strokeDash=[6, 4], strokeWidth=1.3, color=SOFT).encode(x),
        base.mark_text(color=SOFT, fontSize=12, align=align).encode(x, alt.YValue(-9), text),
    ]


def colors(arms: Sequence[str]) -> list[str]:
    """A colour for each arm, the same in every chart of the same arms."""
    others = [name for name in arms if name != "none"]
    chosen = {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(others)} | {"none": BASELINE}
    return [chosen[name] for name in arms]


def shapes(arms: int) -> list[str]:
    """A mark for each arm, for readers and printers without colours."""
    return [SHAPES[index % len(SHAPES)] for index in range(arms)]


def is_crowded(arms: Iterable[str]) -> bool:
    """Whether there are more arms than colours: their bands and the lines of single runs would hide each other."""
    return len([name for name in arms if name != "none"]) > len(PALETTE)


def dash(arms: Iterable[str], legend: Mapping[str, str]) -> alt.StrokeDash | None:
    """The channel that tells lines of one colour apart, for the arms in `legend`; None while colours suffice."""
    names = list(arms)
    if not is_crowded(names):
        return None
    others = [name for name in names if name != "none"]
    chosen = {name: DASHES[index // len(PALETTE) % len(DASHES)] for index, name in enumerate(others)}
    scale = alt.Scale(domain=list(legend.values()), range=[chosen.get(name, DASHES[0]) for name in legend])
    return alt.StrokeDash("arm:N", title=None, scale=scale)


def color_and_shape(arms: Iterable[str], legend: Mapping[str, str]) -> tuple[alt.Color, alt.Shape]:
    """The channels that tell arms apart: those in `legend`, under the names it gives them.

    The choice depends on all `arms`, so that an arm looks the same in a chart that lacks others.
    """
    names = list(arms)
    color_of = dict(zip(names, colors(names), strict=True))
    shape_of = dict(zip(names, shapes(len(names)), strict=True))
    domain = list(legend.values())
    return (
        alt.Color("arm:N", title=None, scale=alt.Scale(domain=domain, range=[color_of[name] for name in legend])),
        alt.Shape("arm:N", title=None, scale=alt.Scale(domain=domain, range=[shape_of[name] for name in legend])),
    )


def data_chart(points: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """The base of a layer that draws these points."""
    # a tuple: altair copies each list and dictionary inside a chart several times
    return alt.Chart(alt.Data(values=tuple(points)))


def layer_chart(
    layers: Sequence[alt.Chart],
    title: alt.TitleParams,
    description: str,
    height: int = 320,
    data: alt.typing.Optional[alt.Data] = alt.Undefined,
    labelled: bool = False,
) -> LayerChart:
    """The layers as one chart in the common `STYLE`, 720 pixels wide.

    `data` is for the layers that have none of their own. A chart of arms that are `labelled` at the ends of their lines
    (`ArmMarks.end_labels`) has no legend, and the parameter that brings one of them forward (`HIGHLIGHTED`).
    """
    # one call: altair would copy the chart for each property that is set later
    return LayerChart(
        data=data,
        layer=layers,
        title=title,
        description=description,
        width=720,
        height=height,
        config=_LABELLED_STYLE if labelled else STYLE,
        params=[alt.VariableParameter(name=HIGHLIGHTED, value="")] if labelled else alt.Undefined,
    )


STYLE = alt.Config(
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
"""White paper, one typeface, thin grey lines"""
_LABELLED_STYLE = STYLE.copy()
_LABELLED_STYLE.legend = alt.LegendConfig(**{**STYLE.legend.to_dict(), "disable": True})
