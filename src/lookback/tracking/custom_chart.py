"""The project's own length chart as a W&B custom chart: the same specification, its points from each run's table."""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lookback.evaluation import BOUNDS, ENOUGH, MEASURES
from lookback.report import length_chart
from lookback.report.charts.charts import SOFT
from lookback.runs import Run

CHART, TABLE = "length_curve", "length_curve_table"
"""Keys under which a run logs the chart, and the table that it reads: W&B adds the ending by itself"""
COLUMNS = ("part", "arm", "run", "piece", "bucket", "x", "hi", "n", "bleu", "low", "high", "text")
"""Of that table. `part` is point or limit; the others are those of the points and the limits that the chart draws."""

Spec = dict[str, Any]


def chart_rows(run: Run, name: str) -> list[dict[str, Any]]:
    """What the length chart draws of a scored run, as rows of the table. `name` is the run's own, in every table."""
    assert run.results is not None
    drawn = [row for layer in length_chart([run]).to_dict()["layer"] for row in layer["data"]["values"]]
    unique = {json.dumps(row, sort_keys=True): row for row in drawn}.values()
    buckets = [bucket for bucket in run.results["by_length"] if bucket["n"]]
    points = sorted((row for row in unique if "bucket" in row and "run" not in row), key=lambda row: row["x"])
    rows = [
        {**row, "part": "point", "arm": run.attention, "run": name, **{key: bucket[key] for key in MEASURES}}
        for row, bucket in zip(points, buckets, strict=True)
    ]
    rows += [{**row, "part": "limit"} for row in unique if "text" in row]
    return [{column: row.get(column) for column in dict.fromkeys((*COLUMNS, *MEASURES))} for row in rows]


def fields(measure: str) -> dict[str, str]:
    """Which column of the table each field of the chart shows. Only BLEU has intervals; others' bands are over runs."""
    names = {name: name for name in COLUMNS}
    return names if measure == "bleu" else names | dict.fromkeys(("bleu", "low", "high"), measure)


def strings(measure: str, subtitle: str) -> dict[str, str]:
    """The texts of the chart. BLEU is never shown without its signature: `subtitle` has it, or says where it is."""
    about = MEASURES[measure]
    return {"title": f"{about.name} against source length", "subtitle": subtitle, "y": about.title}


def length_curve_spec(attentions: Sequence[str]) -> Spec:
    """The length chart for W&B: Vega-Lite with W&B's placeholders, for any runs that logged their table.

    It is `length_chart`'s specification for two runs of each of `attentions`, which have its colours in this order,
    with these changes: all points come from the data that W&B calls ``wandb``, a filter says which are whose, and the
    means over the runs of an arm, and the envelope of their intervals, are taken there. n is drawn from the data.
    """
    chart = length_chart(_examples(attentions)).to_dict()
    layers = [_layer(old) for old in chart["layer"]]
    layers += [_frame(), _counts()]
    spec = {
        "$schema": chart["$schema"],
        "data": {"name": "wandb"},
        "title": {"text": "${string:title}", "subtitle": "${string:subtitle}"},
        "width": "container",
        "height": "container",
        "autosize": {"type": "fit", "contains": "padding"},
        "layer": layers,
        "config": chart["config"],
    }
    return _with_placeholders(spec)


def preset_name(spec: Spec) -> str:
    """A name that changes with what it names: W&B keeps a preset as it was first made."""
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()
    return f"lookback-length-curve-{digest[:8]}"


def _examples(attentions: Sequence[str]) -> list[Run]:
    """Runs of no importance, with all that the chart can show: seeds, a thin bucket, a limit of training."""
    lows = [1, *(bound + 1 for bound in BOUNDS)]
    curve = [
        {
            "lo": low,
            "hi": high,
            "n": ENOUGH - 1 if high is None else ENOUGH,
            "ci": [40.0, 60.0],
            **dict.fromkeys(MEASURES, 50.0),
            "truncated": 0,
        }
        for low, high in zip(lows, [*BOUNDS, None], strict=True)
    ]
    results = {"bleu": 50.0, "by_length": curve, "data": "", "signature": "", "data_fingerprint": ""}
    config = {"data": {"train_max_length": BOUNDS[0]}}
    return [
        Run(Path(), name, seed, "finished", None, {**results, "attention": name, "seed": seed}, config)
        for name in attentions
        for seed in (1, 2)
    ]


def _layer(old: Spec) -> Spec:
    """A layer of the length chart with its data picked out of all runs' rows."""
    rows = old["data"]["values"]
    layer = {key: value for key, value in old.items() if key not in ("data", "name")}
    if any("text" in row for row in rows):
        aggregate: list[Spec] = [{"op": "count", "as": "runs"}]
        picked: list[Spec] = [
            {"filter": "datum.part === 'limit'"},
            {"aggregate": aggregate, "groupby": ["x", "text"]},
        ]
    else:
        joined = all(row["piece"] is not None for row in rows)
        picked = [{"filter": f"datum.part === 'point' && {'' if joined else '!'}isValid(datum.piece)"}]
        if not any("run" in row for row in rows):
            aggregate = [{"op": op, "field": name, "as": f"arm_{name}"} for name, op in _OVER_RUNS.items()]
            picked.append({"aggregate": aggregate, "groupby": ["arm", "piece", "bucket", "x"]})
            old = {**old, "encoding": _of_arms(old["encoding"])}
        layer["encoding"] = {channel: _channel(channel, about) for channel, about in old["encoding"].items()}
        detail = layer["encoding"].get("detail", [])  # a literal colour parts no lines
        detail = detail if isinstance(detail, list) else [detail]
        layer["encoding"]["detail"] = [*detail, {"field": "arm", "type": "nominal"}]
    return {**layer, "transform": [*picked, *old.get("transform", [])]}


_OVER_RUNS = {"bleu": "mean", "low": "min", "high": "max", "n": "max"}
"""How the rows of an arm's runs become its point: as in the length chart without evidence"""


def _of_arms(node: Any) -> Any:
    """An encoding of the arms' points: what is taken over runs has a name that no column has."""
    if isinstance(node, list):
        return [_of_arms(value) for value in node]
    if not isinstance(node, dict):
        return node
    if node.get("field") in _OVER_RUNS:
        return {**node, "field": f"arm_{node['field']}"}
    return {name: _of_arms(value) for name, value in node.items()}


def _channel(channel: str, about: Any) -> Any:
    if channel == "color":
        return _literal_colors(about)
    if channel == "shape":
        # its legend has no score beside a name: who is drawn is W&B's business
        return {**about, "scale": {**about["scale"], "domain": _names(about["scale"]["domain"])}}
    if channel == "tooltip":
        titles = {"arm_bleu": "${string:y}", "arm_n": "n"}
        return [{"title": titles.get(entry["field"], entry["field"]), **entry} for entry in about]
    if channel == "x":
        axis = about.get("axis", {})
        if "labelExpr" in axis:
            axis = {**axis, "labelExpr": re.sub(r'"n = [\d,]+"', '" "', axis["labelExpr"])}
        return {**about, "axis": axis, "scale": {"zero": True, "nice": False}}
    if channel == "y" and "scale" in about:
        return {**about, "title": "${string:y}", "scale": {"zero": True, "nice": True}}
    return about


def _literal_colors(about: Spec) -> Spec:
    """The scale's colours as a chain of conditions: W&B's page may put colours of its own in place of a scale's."""
    scale = about["scale"]
    return {
        "condition": [
            {"test": f"datum.arm === {json.dumps(name)}", "value": color}
            for name, color in zip(_names(scale["domain"]), scale["range"], strict=True)
        ],
        "value": SOFT,
    }


def _names(legend: Sequence[str]) -> list[str]:
    """`dot · 98.9` is dot."""
    return [entry.rpartition(" · ")[0] for entry in legend]


def _frame() -> Spec:
    """Nothing to see: it lets the axis go to the end of the longest bucket."""
    return {
        "mark": {"type": "point", "opacity": 0},
        "transform": [
            {"filter": "datum.part === 'point'"},
            {"aggregate": [{"op": "max", "field": "hi", "as": "longest"}], "groupby": ["part"]},
            {"calculate": "datum.longest + 0.5", "as": "edge"},
        ],
        "encoding": {"x": {"field": "edge", "type": "quantitative"}},
    }


def _counts() -> Spec:
    """n under the axis, where the length chart has it in its labels."""
    return {
        "mark": {"type": "text", "baseline": "top", "dy": 24, "fontSize": 12, "color": SOFT},
        "transform": [
            {"filter": "datum.part === 'point'"},
            {"aggregate": [{"op": "max", "field": "n", "as": "n"}], "groupby": ["x"]},
            {"calculate": "'n = ' + format(datum.n, ',')", "as": "counted"},
        ],
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "y": {"value": "height"},
            "text": {"field": "counted", "type": "nominal"},
        },
    }


def _with_placeholders(node: Any, key: str = "") -> Any:
    """Every name of a column as W&B's placeholder, which a panel maps to a column of its table."""
    if isinstance(node, dict):
        return {name: _with_placeholders(value, name) for name, value in node.items()}
    if isinstance(node, list):
        return [_with_placeholders(value, key) for value in node]
    if isinstance(node, str) and key in ("field", "groupby", "as", "detail") and node in COLUMNS:
        return f"${{field:{node}}}"
    if isinstance(node, str) and key in ("filter", "test", "calculate"):
        return re.sub(rf"datum\.({'|'.join(COLUMNS)})\b", r"datum['${field:\1}']", node)
    return node
