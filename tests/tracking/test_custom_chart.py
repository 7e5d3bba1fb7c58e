"""The W&B custom chart draws what the length chart draws, mark for mark."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vl_convert

from lookback.evaluation import BOUNDS, MEASURES
from lookback.report import length_chart
from lookback.runs import Run
from lookback.tracking.custom_chart import chart_rows, fields, length_curve_spec, preset_name, strings

ATTENTIONS = ["none", "bahdanau", "dot"]
COUNTS = [60, 1530, 530, 529, 40, 520, 0]


def scored(attention: str, seed: int) -> Run:
    random = np.random.default_rng([seed, *attention.encode()])
    curve: list[dict[str, Any]] = []
    for low, high, n in zip([1, *(bound + 1 for bound in BOUNDS)], [*BOUNDS, None], COUNTS, strict=True):
        # between 21 and 97: the chart's own axis goes to the next ten, W&B's to the next round number
        bleu = float(random.uniform(25, 93)) if n else None
        scores = dict.fromkeys(MEASURES, bleu) | {"chrf": bleu and bleu / 2}
        ci = None if bleu is None else [bleu - 3, bleu + 4]
        curve.append({"lo": low, "hi": high, "n": n, **scores, "ci": ci, "truncated": 0})
    curve[1] |= {"bleu": 80.0, "ci": [70.0, 97.0]}
    results = {"by_length": curve, "data": "grammar", "signature": "", "attention": attention, "seed": seed}
    results |= {"data_fingerprint": "", **dict.fromkeys(MEASURES, 50.0)}
    return Run(Path(), attention, attention, seed, "finished", None, results, {"data": {"train_max_length": 30}})


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [scored(attention, seed) for attention in ATTENTIONS for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def spec() -> dict[str, Any]:
    return length_curve_spec(["none", "dot", "general", "bahdanau"])


def as_wandb_draws(spec: dict[str, Any], runs: list[Run], measure: str = "bleu") -> str:
    """The SVG: every placeholder replaced, as text, and the tables of all runs, one below the other, the data."""
    text = json.dumps(spec)
    for kind, given in (("field", fields(measure)), ("string", strings(measure, "a signature"))):
        for name, value in given.items():
            text = text.replace(f"${{{kind}:{name}}}", value)
    assert "${" not in text
    rows = [row for index, run in enumerate(runs) for row in chart_rows(run, f"run{index}")]
    filled = {**json.loads(text), "data": {"name": "wandb", "values": rows}, "width": 720, "height": 360}
    del filled["autosize"]
    return vl_convert.vegalite_to_svg(json.dumps(filled))


def marks(svg: str) -> list[tuple[str | None, ...]]:
    """Every mark: what it is, where, and how it looks. A mean taken in Vega may differ in its last digits."""
    svg = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.3f}", svg)
    found = [dict(re.findall(r'([\w-]+)="([^"]*)"', path)) for path in re.findall(r"<(?:path|line) ([^>]*)>", svg)]
    looks = (
        "aria-roledescription",
        "transform",
        "d",
        "x2",
        "y2",
        "fill",
        "stroke",
        "stroke-width",
        "opacity",
        "stroke-dasharray",
    )
    drawn = [path for path in found if path.get("aria-label") and path.get("opacity") != "0"]
    return sorted(tuple(path.get(look) for look in looks) for path in drawn)


def without_labels(chart: dict[str, Any]) -> dict[str, Any]:
    """The chart without the names at the ends of its lines: a panel has a legend, since it does not know the arms."""
    chart["layer"] = [layer for layer in chart["layer"] if not layer.get("name", "").startswith("label_")]
    return chart


def words(svg: str) -> list[str]:
    return re.findall(r"<t(?:ext|span)[^>]*>([^<]+)<", svg)


@pytest.mark.parametrize("known", [ATTENTIONS, ["none", "dot", "general", "bahdanau"]])
def test_marks_colours_and_axes_are_those_of_the_length_chart(runs: list[Run], known: list[str]) -> None:
    ours = marks(vl_convert.vegalite_to_svg(without_labels(length_chart(runs).to_dict())))
    assert {mark[0] for mark in ours} >= {"area mark", "line mark", "point", "rule mark"}
    assert {color for mark in ours for color in mark[5:7]} >= {"#4d4d4d", "#0072B2", "#D55E00"}
    theirs = as_wandb_draws(length_curve_spec(known), runs)
    assert marks(theirs) == ours
    assert set(ATTENTIONS) <= set(words(theirs))


def test_lengths_and_counts_are_under_the_axis(runs: list[Run], spec: dict[str, Any]) -> None:
    said = words(as_wandb_draws(spec, runs))
    for text in ("1–10", "51–60", "n = 60", "n = 1,530", "trained up to 30 words", "a signature"):
        assert text in said
    assert ">60" not in said
    assert "&gt;60" not in said


def test_another_measure_is_another_mapping_of_the_same_preset(runs: list[Run], spec: dict[str, Any]) -> None:
    drawn = as_wandb_draws(spec, runs, "chrf")
    assert MEASURES["chrf"].title in words(drawn)
    ours = marks(vl_convert.vegalite_to_svg(length_chart(runs, measure="chrf").to_json()))
    lines = [mark for mark in ours if mark[0] == "line mark"]
    assert lines
    assert [mark for mark in marks(drawn) if mark[0] == "line mark"] == lines


def test_an_attention_without_a_colour_is_drawn_all_the_same(spec: dict[str, Any]) -> None:
    svg = as_wandb_draws(spec, [scored("fifth", 1)])
    assert any(mark[0] == "line mark" and mark[6] == "#59636e" for mark in marks(svg))
    assert "arm: fifth" in svg


def test_all_its_data_are_wandbs(spec: dict[str, Any]) -> None:
    """Values inside a specification make W&B's page fail, and so do views side by side."""
    assert spec["data"] == {"name": "wandb"}
    assert "values" not in [key for layer in spec["layer"] for key in layer.get("data", {})]
    assert not any("data" in layer for layer in spec["layer"])
    assert not {"hconcat", "vconcat", "concat", "params"} & spec.keys()


def test_a_name_is_of_the_content(spec: dict[str, Any]) -> None:
    assert preset_name(spec) == preset_name(length_curve_spec(["none", "dot", "general", "bahdanau"]))
    assert preset_name(spec) != preset_name(length_curve_spec(ATTENTIONS))
    assert re.fullmatch(r"lookback-length-curve-[0-9a-f]{8}", preset_name(spec))
