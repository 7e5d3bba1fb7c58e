"""The chart of the paired difference: band, zero, filled where significant, unconnected where sentences are few."""

import xml.etree.ElementTree as ElementTree

import pytest
import vl_convert

from lookback.evaluation import MEASURES, label
from lookback.report import length_chart, save_chart
from lookback.report.charts.difference_chart import difference_chart
from lookback.report.evidence.contrasts import CountedRuns, evidence
from lookback.runs import read_run

LENGTHS = [*(length for length in range(1, 31) for _ in range(6)), *range(61, 66)]


def points(layer):
    return layer["data"]["values"]


@pytest.fixture(scope="module")
def runs(make_run_at, tmp_path_factory):
    place = tmp_path_factory.mktemp("arms")
    slopes = {"none": 0.02, "bahdanau": 0.002, "dot": 0.0198}
    return [
        read_run(make_run_at(place / f"{name}{seed}", name, seed, slope=slope, lengths=LENGTHS))
        for name, slope in slopes.items()
        for seed in (1, 2)
    ]


@pytest.fixture(scope="module")
def counted(runs):
    return CountedRuns(runs)


@pytest.fixture(scope="module")
def contrasts(counted):
    return counted.evidence().contrasts


def test_line_band_and_zero_are_the_differences(runs, contrasts):
    zero, band, line, *_ = difference_chart(contrasts, runs).to_dict()["layer"]
    assert points(zero) == [{"zero": 0}]
    assert (band["mark"]["type"], line["mark"]["type"]) == ("area", "line")
    expected = next(contrast for contrast in contrasts if contrast.arm == "bahdanau").difference.curve[2]
    (drawn,) = (p for p in points(line) if p["arm"].startswith("bahdanau") and p["bucket"] == "21-30")
    assert (drawn["difference"], [drawn["low"], drawn["high"]]) == (expected["difference"], expected["ci"])
    low, high = line["encoding"]["y"]["scale"]["domain"]
    assert all(low <= point["low"] and point["high"] <= high for point in points(band))
    assert low <= 0


def test_points_are_filled_where_significant_and_hollow_elsewhere(runs, contrasts):
    _, _, line, alone, filled, hollow, *_ = difference_chart(contrasts, runs).to_dict()["layer"]
    assert all(point["models_differ"] for point in points(filled))
    assert not any(point["significant"] or point["models_differ"] for point in points(hollow))
    assert hollow["mark"]["fill"] == "white"
    assert {point["bucket"] for point in points(filled) if point["arm"].startswith("bahdanau")} >= {"11-20", "21-30"}
    assert {point["bucket"] for point in points(alone)} == {">60"}
    assert {point["bucket"] for point in points(hollow)} >= {">60"}
    assert ">60" not in {point["bucket"] for point in points(line)}
    assert "dot" in {point["arm"].split()[0] for point in points(hollow) if point["bucket"] != ">60"}


def test_an_attention_has_the_colour_and_mark_that_it_has_in_the_length_chart(runs, contrasts):
    def marks(chart, layer):
        encoding = chart.to_dict()["layer"][layer]["encoding"]
        scales = encoding["color"]["scale"], encoding["shape"]["scale"]
        return {
            name.split()[0]: pair
            for name, *pair in zip(scales[0]["domain"], scales[0]["range"], scales[1]["range"], strict=True)
        }

    ours, theirs = marks(difference_chart(contrasts, runs), 4), marks(length_chart(runs), 3)
    assert ours == {name: theirs[name] for name in ("bahdanau", "dot")}


def test_saved_with_its_words(runs, contrasts, tmp_path):
    paths = save_chart(difference_chart(contrasts, runs), tmp_path, "length_difference")
    tree = ElementTree.parse(paths[1])
    shown = " ".join("".join(text.itertext()) for text in tree.iter("{http://www.w3.org/2000/svg}text"))
    for text in (
        "BLEU gained over none",
        "BLEU more than none",
        f"bahdanau · {contrasts[0].difference.whole['difference']:+.1f}",
        "trained up to 30 words",
        "2 seeds (fewer than three)",
        "n = 60",
        "185 test sentences",
        runs[0].results["signature"],
    ):
        assert text in shown
    assert paths[3].stat().st_size > 20_000


def test_one_seed_is_named(runs):
    single = runs[0:3:2]
    title = difference_chart(evidence(single).contrasts, single).to_dict()["title"]
    how, verdict = title["subtitle"][1:3]
    assert how == "one seed, so training noise is not in it · band: 95 % paired bootstrap interval over sentences alone"
    assert "filled: these trained models differ on this test set" in verdict
    assert "not said of the attentions" in verdict


def test_of_three_seeds_a_filled_point_is_significant(make_run_at, tmp_path):
    slopes = {"none": 0.02, "bahdanau": 0.002}
    runs = [
        read_run(make_run_at(tmp_path / f"{name}{seed}", name, seed, slope=slope, lengths=LENGTHS))
        for name, slope in slopes.items()
        for seed in (1, 2, 3)
    ]
    chart = difference_chart(evidence(runs).contrasts, runs).to_dict()
    filled, hollow = chart["layer"][4:6]
    assert points(filled)
    assert all(point["significant"] for point in points(filled))
    assert not any(point["significant"] for point in points(hollow))
    assert chart["title"]["subtitle"][1:3] == [
        "3 seeds · band: 95 % interval of the paired difference, over trainings and sentences",
        "filled: significant, Holm-corrected p < 0.05 · hollow: not, or n < 50",
    ]


@pytest.mark.parametrize("buckets", ["width", "count"])
@pytest.mark.parametrize("measure", [key for key in MEASURES if key != "never_looked_at"])  # which none has not
def test_every_measure_in_either_kind_of_bucket(runs, counted, measure, buckets):
    contrasts = counted.evidence(measure=measure, buckets=buckets).contrasts
    chart = difference_chart(contrasts, runs, measure).to_dict()
    drawn = [point for layer in chart["layer"][4:6] for point in points(layer)]
    for contrast in contrasts:
        for bucket in contrast.difference.curve:
            if bucket["n"]:
                (point,) = (p for p in drawn if p["arm"].split()[0] == contrast.arm and p["bucket"] == label(bucket))
                assert (point["difference"], [point["low"], point["high"]]) == (bucket["difference"], bucket["ci"])
    line = chart["layer"][2]["encoding"]
    low, high = line["y"]["scale"]["domain"]
    assert low <= 0 < high
    assert all(low <= point["low"] and point["high"] <= high for point in drawn)
    assert "more than none" in line["y"]["title"]
    assert ("lower is better" in line["y"]["title"]) is (MEASURES[measure].better == -1)
    assert line["x"]["scale"]["domain"][1] == (6 if buckets == "count" else 70.5)
    assert "by source length: bahdanau " in chart["description"]
    ElementTree.fromstring(vl_convert.vegalite_to_svg(chart))


def test_contrasts_of_another_measure_are_refused(runs, contrasts):
    with pytest.raises(ValueError, match="contrasts of bleu, expected chrf"):
        difference_chart(contrasts, runs, "chrf")
