"""The chart says what it compares, joins what may be joined, and renders without a browser."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

import pytest
import vl_convert

from lookback.evaluation import ENOUGH, MEASURES, label
from lookback.report import length_chart, save_chart
from lookback.report.charts.charts import BASELINE
from lookback.report.evidence.contrasts import CountedRuns, evidence
from lookback.runs import read_run

FULL = [length for length in range(1, 61) for _ in range(6)]


def layers(chart):
    return chart.to_dict()["layer"]


def points(layer):
    return layer["data"]["values"]


@pytest.fixture(scope="module")
def arms(make_run_at, tmp_path_factory):
    place = tmp_path_factory.mktemp("arms")
    sparse = [*FULL, *range(61, 71)]
    return [
        read_run(make_run_at(place / f"{attention}{seed}", attention, seed, slope=slope, lengths=sparse))
        for attention, slope in (("bahdanau", 0.002), ("none", 0.012))
        for seed in (1, 2)
    ]


def test_mean_thin_lines_and_band(arms):
    band, thin, mean, *_ = layers(length_chart(arms))
    first = [run.results["by_length"][0] for run in arms if run.attention == "none"]
    drawn = next(point for point in points(mean) if point["arm"].startswith("none"))
    assert drawn["bleu"] == pytest.approx(sum(bucket["bleu"] for bucket in first) / 2)
    assert drawn["low"] == min(bucket["ci"][0] for bucket in first)
    assert drawn["high"] == max(bucket["ci"][1] for bucket in first)
    assert {point["run"] for point in points(thin)} == {"none 0", "none 1", "bahdanau 0", "bahdanau 1"}
    assert band["mark"]["type"] == "area"
    assert mean["mark"]["strokeWidth"] > thin["mark"]["strokeWidth"]


def test_the_band_is_the_means_interval_over_trainings_and_sentences_where_there_is_evidence(arms):
    found = evidence(arms)
    chart = length_chart(arms, found)
    for point in points(layers(chart)[0]):
        name = point["arm"].split()[0]
        (bucket,) = (bucket for bucket in found.arms[name]["by_length"] if label(bucket) == point["bucket"])
        assert [point["low"], point["high"]] == bucket["ci"]
        assert point["bleu"] == pytest.approx(bucket["score"])
    assert "95 % interval over trainings and sentences" in " ".join(chart.to_dict()["title"]["subtitle"])
    assert "envelope" in " ".join(length_chart(arms).to_dict()["title"]["subtitle"])


def test_few_sentences_are_hollow_and_joined_to_nothing(arms):
    _, thin, mean, filled, _, hollow, *_ = layers(length_chart(arms))
    assert {point["bucket"] for point in points(hollow)} == {">60"}
    assert hollow["mark"]["fill"] == "white"
    for layer in (thin, mean, filled):
        assert ">60" not in {point["bucket"] for point in points(layer)}


def test_a_gap_is_not_bridged(make_run):
    lengths = [length for length in FULL if not 21 <= length <= 30] + [25] * 3
    mean = layers(length_chart([read_run(make_run("a", lengths=lengths))]))[2]
    pieces = {point["bucket"]: point["piece"] for point in points(mean)}
    assert pieces["1-10"] == pieces["11-20"] != pieces["31-40"] == pieces["51-60"]


def test_title_names_the_arms_the_data_the_seeds_and_the_signature(arms):
    title = length_chart(arms).to_dict()["title"]
    assert title["text"] == "BLEU against source length: none, bahdanau"
    said = " ".join(title["subtitle"])
    for text in ("grammar", "370 test sentences", "2 seeds (fewer than three)", arms[0].results["signature"]):
        assert text in said


def test_training_limit_is_ruled_where_it_is_on_the_axis(make_run):
    inside = layers(length_chart([read_run(make_run("a", lengths=FULL))]))
    assert [points(layer)[0]["text"] for layer in inside[-2:]] == ["trained up to 30 words"] * 2
    assert points(inside[-1])[0]["x"] == 30.5
    beyond = layers(length_chart([read_run(make_run("b", lengths=FULL, train_max_length=80))]))
    assert len(beyond) == len(inside) - 2


def test_none_is_grey_whatever_it_is_compared_with(arms):
    scale = layers(length_chart(arms))[2]["encoding"]["color"]["scale"]
    assert dict(zip([name.split()[0] for name in scale["domain"]], scale["range"], strict=True))["none"] == BASELINE


@pytest.mark.parametrize("single", [True, False])
def test_saved_as_specification_svg_pdf_and_png(arms, tmp_path, single):
    paths = save_chart(length_chart(arms[:1] if single else arms), tmp_path / "out", "length_curve")
    assert [path.name for path in paths] == [f"length_curve.{suffix}" for suffix in ("vl.json", "svg", "pdf", "png")]
    tree = ElementTree.parse(paths[1])
    shown = " ".join("".join(text.itertext()) for text in tree.iter("{http://www.w3.org/2000/svg}text"))
    for text in ("bahdanau", "n = 60", "n = 10", "1–10", ">60", "trained up to 30 words", "Source length in words"):
        assert text in shown
    assert ("none ·" in shown) is not single
    assert arms[0].results["signature"] in shown
    for path, magic in zip(paths[2:], (b"%PDF-", b"\x89PNG\r\n\x1a\n"), strict=True):
        assert path.read_bytes().startswith(magic)
        assert path.stat().st_size > 20_000
    assert b"/Font" in paths[2].read_bytes()  # text, not its outlines


def test_runs_without_scores_are_left_out_and_none_at_all_is_refused(arms, make_run):
    failed = read_run(make_run("failed", "dot", status="failed", scored=False))
    assert "dot" not in length_chart([*arms, failed]).to_json()
    with pytest.raises(ValueError, match="none is scored"):
        length_chart([failed])


@pytest.fixture(scope="module")
def counted(arms):
    return CountedRuns(arms)


@pytest.mark.parametrize("buckets", ["width", "count"])
@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_in_either_kind_of_bucket(arms, counted, measure, buckets):
    found = counted.evidence(measure=measure, buckets=buckets)
    chart = length_chart(arms, found, measure, buckets).to_dict()
    drawn = [point for layer in chart["layer"] for point in points(layer) if "bucket" in point and "run" not in point]
    for name, arm in found.arms.items():
        for bucket in arm["by_length"]:
            if bucket["n"] and bucket["score"] is not None:
                (point, *_) = (p for p in drawn if p["arm"].split()[0] == name and p["bucket"] == label(bucket))
                assert point[measure] == pytest.approx(bucket["score"])
                assert [point["low"], point["high"]] == bucket["ci"]
    lines = [layer for layer in chart["layer"] if layer["mark"]["type"] == "line"]
    assert lines[1]["encoding"]["y"]["field"] == measure
    low, high = lines[1]["encoding"]["y"]["scale"]["domain"]
    assert all(low <= point[key] <= high for point in drawn for key in (measure, "low", "high"))
    names = ["bahdanau"] if measure == "never_looked_at" else ["none", "bahdanau"]  # none looks at no word
    for name in names:  # thin lines: the runs
        own = [point for point in points(lines[0]) if point["run"] == f"{name} 1"]
        expected = [bucket for bucket in found.curves[name][1] if bucket["n"] >= ENOUGH]
        assert [point[measure] for point in own] == [bucket["score"] for bucket in expected]
    legend = lines[1]["encoding"]["color"]["scale"]["domain"]
    assert legend == [f"{n} · {found.arms[n]['score']:{MEASURES[measure].number}}" for n in names]
    ElementTree.fromstring(vl_convert.vegalite_to_svg(chart))


def test_the_length_ratio_has_a_rule_at_1_on_an_axis_around_it(arms, counted):
    found = counted.evidence(measure="length_ratio")
    rule, *_ = layers(length_chart(arms, found, "length_ratio"))
    assert (rule["mark"]["type"], points(rule)) == ("rule", [{"as_long": 1}])
    assert rule["encoding"]["y"]["scale"]["domain"] == [0.9, 1.1]  # fabricated translations are as long as asked for
    svg = vl_convert.vegalite_to_svg(length_chart(arms, found, "length_ratio").to_json())
    assert ">0.90<" in svg
    assert ">0.80<" not in svg  # no layer pulls the axis down to 0


def test_buckets_of_equal_counts_stand_side_by_side(arms, counted):
    chart = length_chart(arms, counted.evidence(buckets="count"), buckets="count")
    mean = [point for point in points(layers(chart)[2]) if point["arm"].startswith("none")]
    assert [point["x"] for point in mean] == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert [point["bucket"] for point in mean] == [label(bucket) for bucket in arms[0].results["by_equal_count"]]
    assert sum(point["n"] for point in mean) == len(FULL) + 10
    axis = layers(chart)[2]["encoding"]["x"]
    assert axis["scale"]["domain"] == [0, 6]
    assert "equal n" in axis["title"]
    for point in mean:
        assert point["bucket"].replace("-", "–") in axis["axis"]["labelExpr"]
        assert f"n = {point['n']}" in axis["axis"]["labelExpr"]
    place, bucket = next((i, b) for i, b in enumerate(arms[0].results["by_equal_count"]) if b["hi"] >= 30)
    (rule,) = points(layers(chart)[-1])
    assert rule["x"] == pytest.approx(place + (30 - bucket["lo"] + 1) / (bucket["hi"] - bucket["lo"] + 1))


def test_without_evidence_other_measures_have_no_band(arms):
    chart = length_chart(arms, measure="chrf", buckets="count")
    band, _, mean, *_ = layers(chart)
    assert points(band) == []
    drawn = next(point for point in points(mean) if point["arm"].startswith("none"))
    first = [run.results["by_equal_count"][0]["chrf"] for run in arms if run.attention == "none"]
    assert drawn["chrf"] == pytest.approx(fmean(first))
    assert "band" not in " ".join(chart.to_dict()["title"]["subtitle"])
    with pytest.raises(ValueError, match="evidence of bleu by width, expected chrf by width"):
        length_chart(arms, evidence(arms), "chrf")
    with pytest.raises(ValueError, match="buckets='length': expected one of width, count"):
        length_chart(arms, buckets="length")


def test_runs_of_an_earlier_version_are_drawn_from_evidence_or_left_out(arms, counted):
    old = [replace(run, results=run.results | {"by_equal_count": None}) for run in arms]
    found = counted.evidence(buckets="count")
    assert points(layers(length_chart(old, found, buckets="count"))[2])
    with pytest.raises(ValueError, match="none has bleu in by_equal_count"):
        length_chart(old, buckets="count")
    mixed = length_chart([*old[:2], *arms[2:]], buckets="count")
    assert {point["arm"].split()[0] for point in points(layers(mixed)[2])} == {"none"}
    scale = layers(mixed)[2]["encoding"]["color"]["scale"]
    assert [name.split()[0] for name in scale["domain"]] == ["none"]


def test_who_does_not_see_the_chart_is_told_what_it_shows(arms, tmp_path):
    chart = length_chart(arms)
    told = chart.to_dict()["description"]
    mean = points(layers(chart)[2])
    for name in ("none", "bahdanau"):
        first = next(point for point in mean if point["arm"].startswith(name))
        alone = next(p for p in points(layers(chart)[5]) if p["arm"].startswith(name))
        assert f"{name} {first['bleu']:.1f} at 1-10 words, {alone['bleu']:.1f} at >60" in told
    picture = ElementTree.parse(save_chart(chart, tmp_path, "length_curve")[1]).getroot()
    assert (picture.get("role"), picture.get("aria-label")) == ("img", told)


def test_a_signature_stands_under_every_measure(arms):
    signature = arms[0].results["signature"]
    for measure in ("bleu", "bleu_no_bp", "length_ratio", "omitted", "repeated"):
        assert length_chart(arms, measure=measure).to_dict()["title"]["subtitle"][-1] == signature
    version = signature.rpartition("|")[2]
    assert version.startswith("version:")
    said = length_chart(arms, measure="chrf").to_dict()["title"]["subtitle"][-1]
    assert said == f"chrF2 with sacrebleu's defaults · {version}"


@pytest.fixture(scope="module")
def thirteen(make_run_at, tmp_path_factory):
    """One run of each, with gaps between their lines."""
    place = tmp_path_factory.mktemp("thirteen")
    names = ["none", *(f"arm{number}" for number in range(12))]
    return [
        read_run(make_run_at(place / name, name, 1, slope=0.001 * (index + 1), lengths=FULL[:120]))
        for index, name in enumerate(names)
    ]


def test_more_arms_than_colours_are_told_apart_by_dashes_and_marks_and_no_band_hides_them(thirteen):
    chart = length_chart(thirteen)
    lines = [layer for layer in layers(chart) if layer["mark"]["type"] == "line"]
    assert chart.to_dict()["title"]["text"] == "BLEU against source length: 13 arms"
    marks = next(layer for layer in layers(chart) if layer["mark"]["type"] == "point")["encoding"]
    assert len(lines) == 2
    for layer in layers(chart):  # drawn only of the arm that is brought forward
        if layer["mark"]["type"] == "area" or (layer["mark"].get("strokeWidth") == 1 and layer.get("name") is None):
            assert layer["encoding"]["opacity"]["condition"][1] == {"test": "highlighted === ''", "value": 0}
    said = " ".join(chart.to_dict()["title"]["subtitle"])
    assert "band" not in said.replace("band of the arm brought forward: ", "")
    for line in lines:
        channels = [line["encoding"][name]["scale"] for name in ("color", "strokeDash")]
        assert len({tuple(scale["domain"]) for scale in (*channels, marks["shape"]["scale"])}) == 1
        looks = list(zip(channels[0]["range"], map(tuple, channels[1]["range"]), strict=True))
        assert len(set(looks)) == len(thirteen)
    points_of = list(zip(channels[0]["range"], marks["shape"]["scale"]["range"], strict=True))
    assert len(set(points_of)) == len(thirteen)


def test_few_arms_have_no_dashes(arms):
    assert all("strokeDash" not in layer.get("encoding", {}) for layer in layers(length_chart(arms)))


def test_thirteen_arms_are_drawn(thirteen, tmp_path):
    paths = save_chart(length_chart(thirteen), tmp_path, "length_curve")
    drawn = {element.get("stroke-dasharray") for element in ElementTree.parse(paths[1]).iter()} - {None}
    assert {"7,3"} <= drawn


def labels_of(chart, tmp_path):
    """The drawn names at the ends of the lines: text, left edge and middle, in pixels."""
    picture = ElementTree.parse(save_chart(chart, tmp_path, "length_curve")[1])
    found = next(group for group in picture.iter() if "label_text_marks" in group.get("class", ""))
    places = [re.findall(r"[-\d.]+", text.get("transform"))[:2] for text in found]
    return [(text.text, float(x), float(y)) for text, (x, y) in zip(found, places, strict=True)]


def test_each_arm_is_named_at_the_end_of_its_line_and_no_two_names_overlap(thirteen, arms, tmp_path):
    for runs in (thirteen, arms):
        chart = length_chart(runs)
        ends = {p["arm"]: p for layer in layers(chart) if layer["mark"]["type"] == "point" for p in points(layer)}
        found = labels_of(chart, tmp_path)
        assert {text for text, _, _ in found} == set(layers(chart)[2]["encoding"]["color"]["scale"]["domain"])
        assert len({x for _, x, _ in found}) == 1
        down = sorted(found, key=lambda label: label[2])
        assert all(below[2] - above[2] >= 15.9 for above, below in pairwise(down))
        scores = [ends[text]["bleu"] for text, _, _ in down]
        assert scores == sorted(scores, reverse=True)
        assert "legend" not in (tmp_path / "length_curve.svg").read_text()


def test_forty_arms_make_the_chart_higher(thirteen, tmp_path):
    many = [replace(run, arm=f"{run.arm}-{copy}") for run in thirteen for copy in range(3)]
    chart = length_chart(many)
    assert chart.to_dict()["height"] == 16 * 39
    down = sorted(y for _, _, y in labels_of(chart, tmp_path))
    assert min(below - above for above, below in pairwise(down)) >= 15.9


def test_an_arm_is_brought_forward_by_a_parameter(thirteen, arms):
    for runs in (thirteen, arms):
        chart = length_chart(runs).to_dict()
        (parameter,) = chart["params"]
        assert parameter == {"name": "highlighted", "value": ""}

        def opacities(svg):
            return {float(value) for value in re.findall(r' opacity="([\d.]+)"', svg)}

        alike = vl_convert.vegalite_to_svg(chart)
        parameter["value"] = layers(length_chart(runs))[2]["encoding"]["color"]["scale"]["domain"][1]
        forward = vl_convert.vegalite_to_svg(chart)
        assert 0.1 not in opacities(alike)
        assert {0.1, 0.14, 0} <= opacities(forward)
