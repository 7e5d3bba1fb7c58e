"""Attention diagnostics against source length: means, on the length chart's axis, hollow where n is small."""

import json
import math
import xml.etree.ElementTree as ElementTree

import pytest

from lookback.report import length_chart, save_chart
from lookback.report.charts.diagnostics_chart import DIAGNOSTICS, diagnostics_chart
from lookback.runs import read_run

LENGTHS = [*(length for length in range(1, 61) for _ in range(6)), *range(61, 71)]


def look(run, entropy):
    """Give the run's results the diagnostics of an attention whose entropy grows with length by `entropy` a bucket."""
    path = run / "test" / "results.json"
    record = json.loads(path.read_text())
    record["attention_by_length"] = [
        {
            **{key: bucket[key] for key in ("lo", "hi", "n")},
            **{name: entropy * place if name == "entropy" else 0.9 - 0.1 * place for name in DIAGNOSTICS},
        }
        for place, bucket in enumerate(record["by_length"], 1)
    ]
    path.write_text(json.dumps(record))
    return run


@pytest.fixture(scope="module")
def runs(make_run_at, tmp_path_factory):
    place = tmp_path_factory.mktemp("arms")
    made = [read_run(make_run_at(place / "none1", "none", 1, slope=0.01, lengths=LENGTHS))]
    for attention, entropy in (("dot", 0.1), ("bahdanau", 0.3)):
        for seed in (1, 2):
            directory = make_run_at(place / f"{attention}{seed}", attention, seed, lengths=LENGTHS)
            made.append(read_run(look(directory, entropy * seed)))
    return made


def layers(chart):
    return chart.to_dict()["layer"]


def points(layer):
    return layer["data"]["values"]


def test_thick_lines_are_the_means_and_thin_lines_the_runs(runs):
    thin, mean, filled, *_ = layers(diagnostics_chart(runs, "entropy"))
    assert [p["y"] for p in points(mean) if p["arm"] == "dot"] == pytest.approx([0.15 * place for place in range(1, 7)])
    assert points(filled) == points(mean)
    assert {p["run"] for p in points(thin)} == {"dot 0", "dot 1", "bahdanau 0", "bahdanau 1"}
    assert thin["mark"]["strokeWidth"] < mean["mark"]["strokeWidth"]


def test_few_sentences_are_hollow_and_joined_to_nothing(runs):
    thin, mean, _, hollow, *_ = layers(diagnostics_chart(runs, "coverage"))
    assert {p["bucket"] for p in points(hollow)} == {">60"}
    assert hollow["mark"]["fill"] == "white"
    for layer in (thin, mean):
        assert ">60" not in {p["bucket"] for p in points(layer)}


def test_a_bucket_without_the_number_is_a_gap(runs, make_run):
    directory = look(make_run("a", "dot", lengths=LENGTHS), 0.1)
    path = directory / "test" / "results.json"
    record = json.loads(path.read_text())
    record["attention_by_length"][2]["monotonicity"] = None
    path.write_text(json.dumps(record))
    pieces = {
        p["bucket"]: p["piece"] for p in points(layers(diagnostics_chart([read_run(directory)], "monotonicity"))[1])
    }
    assert pieces["1-10"] == pieces["11-20"] != pieces["31-40"] == pieces["51-60"]
    assert "21-30" not in pieces


def test_axis_colours_and_marks_are_the_length_charts(runs):
    def shown(chart):
        layer = next(layer for layer in layers(chart) if "shape" in layer["encoding"])
        scales = [layer["encoding"][channel]["scale"] for channel in ("color", "shape")]
        marks = zip(scales[0]["domain"], scales[0]["range"], scales[1]["range"], strict=True)
        return {name.split()[0]: pair for name, *pair in marks}, layer["encoding"]["x"]

    (ours, axis), (theirs, their_axis) = shown(diagnostics_chart(runs, "entropy")), shown(length_chart(runs))
    assert ours == {name: theirs[name] for name in ("dot", "bahdanau")}
    assert axis == their_axis


def test_entropy_is_drawn_beside_a_look_at_all_places_alike(runs):
    even = next(layer for layer in layers(diagnostics_chart(runs, "entropy")) if "strokeDash" in str(layer["mark"]))
    assert points(even)[29] == {"x": 30, "y": pytest.approx(math.log(31))}
    top = layers(diagnostics_chart(runs, "entropy"))[1]["encoding"]["y"]["scale"]["domain"][1]
    assert top >= max(p["y"] for p in points(even))
    assert len(layers(diagnostics_chart(runs, "sharpness"))) == len(layers(diagnostics_chart(runs, "entropy"))) - 1


def test_no_chart_where_nobody_looks(runs):
    assert diagnostics_chart(runs[:1], "entropy") is None
    assert diagnostics_chart([], "entropy") is None
    with pytest.raises(ValueError, match="measure='entrophy'"):
        diagnostics_chart(runs, "entrophy")


@pytest.mark.parametrize("measure", DIAGNOSTICS)
def test_said_in_words_too(runs, measure, tmp_path):
    chart = diagnostics_chart(runs, measure)
    assert "dot from" in chart.to_dict()["description"]
    paths = save_chart(chart, tmp_path, measure)
    tree = ElementTree.parse(next(path for path in paths if path.suffix == ".svg"))
    shown = " ".join("".join(text.itertext()) for text in tree.iter("{http://www.w3.org/2000/svg}text"))
    for text in (DIAGNOSTICS[measure].title, "not an explanation", "2 seeds: thin lines", "n = 60", "1–10", "bahdanau"):
        assert text in shown
