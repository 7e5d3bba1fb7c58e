"""Learning curves: the runs thin, their mean thick and marked, the colours those of every chart, or no chart at all."""

import json
import math
import xml.etree.ElementTree as ElementTree

import pytest

from lookback.report import length_chart, save_chart
from lookback.report.charts.learning_chart import learning_chart
from lookback.report.evidence.learning import AXES, MEASURES, POINTS, learning_curve
from lookback.runs import read_run

UPDATES = 1000


def log(directory, attention, seed, speed):
    """A metrics.csv with a row every five updates, a validation every hundred, and a look at the attention too."""
    lines = ["step,epoch,attention/aer,attention/entropy,cost/seconds,cost/target_tokens,train/loss,validation/bleu"]
    lines[0] += ",validation/perplexity"
    for step in range(5, UPDATES + 1, 5):
        loss = 0.1 * seed + 5 * math.exp(-step / 200 * speed)
        bleu, perplexity = ("", "") if step % 100 else (90 * (1 - math.exp(-step / 400 * speed)), math.exp(loss))
        aer, entropy = ("", "") if step % 50 or attention == "none" else (math.exp(-step / 300), 2 - step / 900)
        lines.append(f"{step},0,{aer},{entropy},{step / 50 / speed},{step * 700},{loss},{bleu},{perplexity}")
    (directory / "metrics.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def runs(make_run_at, tmp_path_factory):
    place = tmp_path_factory.mktemp("arms")
    made = []
    for attention, speed in (("bahdanau", 2), ("none", 1)):
        for seed in (1, 2):
            directory = make_run_at(place / f"{attention}{seed}", attention, seed)
            log(directory, attention, seed, speed)
            made.append(read_run(directory))
    return made


def lines(chart):
    return chart.to_dict()["data"]["values"]


def named(chart, name, mean):
    return [line for line in lines(chart) if line["arm"].startswith(name) and line["mean"] is mean]


def test_thin_lines_are_the_runs_and_the_thick_line_is_their_mean(runs):
    chart = learning_chart(runs, "bleu")
    thin, thick, marked, *labels = chart.to_dict()["layer"]
    assert (thin["mark"]["type"], thick["mark"]["type"], marked["mark"]["type"]) == ("line", "line", "point")
    assert [layer["name"] for layer in labels] == ["label_line", "label_mark", "label_text"]
    assert thin["mark"]["strokeWidth"] < thick["mark"]["strokeWidth"]
    first, second = (learning_curve(run, "bleu") for run in runs if run.attention == "none")
    assert [line["y"] for line in named(chart, "none", False)] == [
        pytest.approx(curve[:, 1], rel=1e-4) for curve in (first, second)
    ]
    (mean,) = named(chart, "none", True)
    assert mean["x"] == list(range(100, UPDATES + 1, 100))
    assert mean["y"] == pytest.approx((first[:, 1] + second[:, 1]) / 2, rel=1e-4)
    assert sum(mean["mark"]) == 10


def test_a_long_line_is_thinned_and_marked_here_and_there(runs):
    chart = learning_chart(runs, "train_loss")
    for line in lines(chart):
        assert len(line["x"]) == len(line["y"]) == len(line["mark"]) == POINTS
        assert (line["x"][0], line["x"][-1]) == (5, UPDATES)
        assert sum(line["mark"]) == (12 if line["mean"] else 0)
    assert len(chart.to_json(indent=None)) < 16_000  # a page holds dozens of them


def test_the_mean_of_a_run_alone_is_the_run(runs):
    (line,) = lines(learning_chart(runs[:1], "bleu"))
    assert line["mean"]
    assert line["y"] == pytest.approx(learning_curve(runs[0], "bleu")[:, 1], rel=1e-4)


@pytest.mark.parametrize(("x", "end"), [("updates", 1000), ("target_tokens", 700_000), ("seconds", 10)])
def test_over_updates_tokens_or_seconds(runs, x, end):
    chart = learning_chart(runs, "train_loss", x)
    (mean,) = named(chart, "bahdanau", True)
    assert mean["x"][-1] == end
    for layer in chart.to_dict()["layer"][:4]:
        assert layer["encoding"]["x"]["title"] == AXES[x]


def test_an_arm_has_the_colour_and_mark_that_it_has_in_the_length_chart(runs):
    def marks(layer):
        scales = layer["encoding"]["color"]["scale"], layer["encoding"]["shape"]["scale"]
        return {
            name.split()[0]: pair
            for name, *pair in zip(scales[0]["domain"], scales[0]["range"], scales[1]["range"], strict=True)
        }

    theirs = next(layer for layer in length_chart(runs).to_dict()["layer"] if "shape" in layer["encoding"])
    assert marks(learning_chart(runs, "bleu").to_dict()["layer"][2]) == marks(theirs)
    # the fixed context looks nowhere; the other keeps its colour without it
    alone = marks(learning_chart(runs, "aer").to_dict()["layer"][2])
    assert alone == {"bahdanau": marks(theirs)["bahdanau"]}


def test_no_chart_where_nobody_logged_it(runs, make_run):
    assert learning_chart(runs, "aer_shift_-1") is None
    assert learning_chart([run for run in runs if run.attention == "none"], "entropy") is None
    assert learning_chart([read_run(make_run("bare"))], "train_loss") is None
    with pytest.raises(ValueError, match="measure='blue'"):
        learning_chart(runs, "blue")


def test_a_run_that_is_still_training_is_drawn_where_it_is_alone(runs, make_run):
    directory = make_run("running", "dot", status="running", scored=False)
    log(directory, "dot", 1, 2)
    running = read_run(directory)
    assert "dot" in learning_chart([running], "train_loss").to_json()
    assert "dot" not in learning_chart([*runs, running], "train_loss").to_json()


def test_a_name_stands_where_its_line_ends(runs):
    for measure in ("bleu", "perplexity"):
        chart = learning_chart(runs, measure).to_dict()
        axis, labels = chart["layer"][1]["encoding"]["y"]["scale"], chart["layer"][-1]["data"]["values"]
        low, high = (math.log(end) if axis.get("type") == "log" else end for end in axis["domain"])
        for label in labels:
            (mean,) = (line for line in chart["data"]["values"] if line["arm"] == label["arm"] and line["mean"])
            assert (label["x"], label["y"]) == (mean["x"][-1], mean["y"][-1])
            value = math.log(label["y"]) if axis.get("type") == "log" else label["y"]
            assert abs(label["place"] - (high - value) / (high - low)) < 0.06  # they are moved apart


def test_said_in_words_too(runs, tmp_path):
    specification = learning_chart(runs, "bleu", "seconds").to_dict()
    assert "Validation BLEU over seconds of training, up to 20" in specification["description"]
    assert "none from 19.9 to 82.6" in specification["description"]
    paths = save_chart(learning_chart(runs, "bleu", "seconds"), tmp_path, "learning")
    tree = ElementTree.parse(next(path for path in paths if path.suffix == ".svg"))
    shown = " ".join("".join(text.itertext()) for text in tree.iter("{http://www.w3.org/2000/svg}text"))
    for text in ("Validation BLEU while training", "2 seeds: thin lines", runs[0].results["signature"], "none · 82.6"):
        assert text in shown
    assert "not an explanation" in json.dumps(learning_chart(runs, "aer").to_dict()["title"])


@pytest.mark.parametrize("measure", MEASURES)
def test_shares_have_the_whole_scale_and_perplexity_a_logarithmic_one(runs, measure):
    if (chart := learning_chart(runs, measure)) is None:
        return
    scale = chart.to_dict()["layer"][1]["encoding"]["y"]["scale"]
    assert (scale.get("domain") == [0, 1]) is MEASURES[measure].share
    assert (scale.get("type") == "log") is (measure == "perplexity")
