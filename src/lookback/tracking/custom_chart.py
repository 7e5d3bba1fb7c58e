"""The length chart as a W&B custom chart: one specification, and a table of points that each run logs.

The specification has the same marks, axes and style as ``lookback.report.length_chart``. Only the source of the numbers
differs: W&B joins the tables of all runs, and Vega selects and averages their rows.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import altair as alt

from lookback.evaluation import BOUNDS, MEASURES, label, measure_of, midpoint
from lookback.report.charts.buckets import TITLES, Places
from lookback.report.charts.charts import SOFT, STYLE, axis_end, bucket_axis, colors, limit_marks, limit_points, shapes
from lookback.report.charts.length_chart import run_curve
from lookback.report.charts.marks import ArmMarks
from lookback.report.charts.points import mean_points
from lookback.runs import Run

CHART, TABLE = "length_curve", "length_curve_table"
"""Keys under which a run logs the chart, and the table that it reads. W&B adds the ending by itself."""
COLUMNS = ("part", "arm", "run", "piece", "bucket", "x", "hi", "n", "bleu", "low", "high", "text")
"""The columns of that table. ``part`` is point or limit; the others are the fields of points and training limits."""

Spec = dict[str, Any]


def chart_rows(run: Run, name: str) -> list[dict[str, Any]]:
    """What the length chart draws of a scored run, as rows of the table.

    Args:
        run: with its results.
        name: a name that no other run has.
    """
    assert run.results is not None
    buckets: Sequence[Mapping[str, Any]] = run.results["by_length"]
    places = Places(buckets)
    points = mean_points(run.arm, [run_curve(run, measure_of("bleu"))], places, "bleu")
    scores = [{key: bucket[key] for key in MEASURES} for bucket in buckets if bucket["n"]]
    rows = [{**point, "part": "point", "run": name, **measures} for point, measures in zip(points, scores, strict=True)]
    rows += [{**limit, "part": "limit"} for limit in limit_points([run], axis_end(points), places.at)]
    return [{column: row.get(column) for column in dict.fromkeys((*COLUMNS, *MEASURES))} for row in rows]


def fields(measure: str) -> dict[str, str]:
    """The column of the table that each field of the chart shows. Only BLEU has intervals for one run."""
    names = {name: name for name in COLUMNS}
    return names if measure == "bleu" else names | dict.fromkeys(("bleu", "low", "high"), measure)


def strings(measure: str, subtitle: str) -> dict[str, str]:
    """The texts of the chart. ``subtitle`` has the signature of BLEU, or says where it is."""
    about = MEASURES[measure]
    return {"title": f"{about.name} against source length", "subtitle": subtitle, "y": about.title}


def length_curve_spec(attentions: Sequence[str]) -> Spec:
    """The specification of the length chart, Vega-Lite with W&B's placeholders, for any runs that logged their table.

    Args:
        attentions: which have a colour and a mark each, as in a length chart of these attentions.
    """
    marks = _marks(sorted(attentions, key=lambda name: (name != "none", name)))
    joined, alone = _points(f"isValid({_datum('piece')})"), _points(f"!isValid({_datum('piece')})")
    means, lone_means = _means(joined), _means(alone)
    layers = [
        marks.bands(means),
        replace(marks, y=_y(_field("bleu"))).run_lines(joined),
        marks.mean_lines(means),
        marks.filled_points(means),
        marks.intervals(lone_means),
        marks.hollow_points(lone_means),
        *limit_marks(_limits(), "left", _field),
        _longest_bucket(),
        _counts(),
    ]
    chart = alt.LayerChart(
        data=alt.NamedData(name="wandb"),
        layer=layers,
        title=alt.TitleParams(text="${string:title}", subtitle="${string:subtitle}"),
        width="container",
        height="container",
        autosize=alt.AutoSizeParams(type="fit", contains="padding"),
        config=STYLE,
    )
    return chart.to_dict()


def preset_name(spec: Spec) -> str:
    """The name of the preset. It changes with the specification, because W&B does not change a preset."""
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()
    return f"lookback-length-curve-{digest[:8]}"


def _field(column: str) -> str:
    """W&B's placeholder for a field. A panel maps it to a column of its table, see ``fields``."""
    return f"${{field:{column}}}"


def _datum(column: str) -> str:
    """A Vega expression for the value of a field."""
    return f"datum['{_field(column)}']"


def _marks(attentions: Sequence[str]) -> ArmMarks:
    """The marks of the length chart, for the means that ``_means`` computes."""
    arm = _field("arm")
    shape = alt.Scale(domain=list(attentions), range=shapes(len(attentions)))
    lows = [1, *(bound + 1 for bound in BOUNDS)]
    buckets = [{"lo": low, "hi": high} for low, high in zip(lows, [*BOUNDS, None], strict=True)]
    axis = bucket_axis({midpoint(bucket): (label(bucket), " ") for bucket in buckets})  # ``_counts`` draws n there
    x_scale = alt.Scale(zero=True, nice=False)
    return ArmMarks(
        x=alt.X(field=_field("x"), type="quantitative", title=TITLES["width"], axis=axis, scale=x_scale),
        y=_y("arm_bleu"),
        color=_literal_colors(attentions),
        shape=alt.Shape(field=arm, type="nominal", title=None, scale=shape),
        tooltip=[
            alt.Tooltip(field=arm, type="nominal", title="arm"),
            alt.Tooltip(field=_field("bucket"), type="nominal", title="bucket"),
            alt.Tooltip(field="arm_n", type="quantitative", title="n"),
            alt.Tooltip(field="arm_bleu", type="quantitative", format=measure_of("bleu").number, title="${string:y}"),
        ],
        bounds=(_y("arm_low", None), alt.Y2(field="arm_high")),
        piece=alt.Detail(field=_field("piece"), type="nominal"),
        run=alt.Detail(field=_field("run"), type="nominal"),
        arm=alt.Detail(field=arm, type="nominal"),
        highlights=False,
    )


def _y(field: str, ticks: int | None = 6) -> alt.Y:
    axis = alt.Undefined if ticks is None else alt.Axis(tickCount=ticks)
    scale = alt.Scale(zero=True, nice=True)
    return alt.Y(field=field, type="quantitative", title="${string:y}", axis=axis, scale=scale)


def _literal_colors(attentions: Sequence[str]) -> alt.ColorValue:
    """A colour for each arm, as conditions, because W&B's page may replace the colours of a scale by its own."""
    conditions = [
        {"test": f"{_datum('arm')} === {json.dumps(name)}", "value": color}
        for name, color in zip(attentions, colors(attentions), strict=True)
    ]
    return alt.ColorValue(SOFT, condition=conditions)


def _points(condition: str) -> alt.Chart:
    """The points of the runs for which a condition holds."""
    return alt.Chart().transform_filter(f"{_datum('part')} === 'point' && {condition}")


def _means(points: alt.Chart) -> alt.Chart:
    """The points of the arms: the mean of the runs, and the least and the greatest end of the runs' intervals.

    The length chart does the same if it has no evidence. The new names are not columns, so that no panel maps them.
    """
    operations: dict[str, Literal["mean", "min", "max"]] = {"bleu": "mean", "low": "min", "high": "max", "n": "max"}
    return points.transform_aggregate(
        [_aggregated(operation, name, f"arm_{name}") for name, operation in operations.items()],
        groupby=[_field(name) for name in ("arm", "piece", "bucket", "x")],
    )


def _limits() -> alt.Chart:
    """The training limits, each once."""
    limits = alt.Chart().transform_filter(f"{_datum('part')} === 'limit'")
    count = alt.AggregatedFieldDef(op="count", **{"as": "runs"})
    return limits.transform_aggregate([count], groupby=[_field("x"), _field("text")])


def _longest_bucket() -> alt.Chart:
    """An invisible point at the end of the longest bucket, so that the axis reaches it."""
    points = alt.Chart().transform_filter(f"{_datum('part')} === 'point'")
    longest = points.transform_aggregate([_aggregated("max", "hi", "longest")], groupby=[_field("part")])
    ended = longest.transform_calculate(edge="datum.longest + 0.5")
    return ended.mark_point(opacity=0).encode(alt.X(field="edge", type="quantitative"))


def _counts() -> alt.Chart:
    """The number of sentences under the axis. The length chart knows it beforehand and has it in the axis' labels."""
    points = alt.Chart().transform_filter(f"{_datum('part')} === 'point'")
    counts = points.transform_aggregate([_aggregated("max", "n", _field("n"))], groupby=[_field("x")])
    counted = counts.transform_calculate(counted=f"'n = ' + format({_datum('n')}, ',')")
    return counted.mark_text(baseline="top", dy=24, fontSize=12, color=SOFT).encode(
        alt.X(field=_field("x"), type="quantitative"),
        alt.YValue("height"),
        alt.Text(field="counted", type="nominal"),
    )


def _aggregated(operation: Literal["mean", "min", "max"], column: str, name: str) -> alt.AggregatedFieldDef:
    return alt.AggregatedFieldDef(op=operation, field=_field(column), **{"as": name})
