"""The chart says what it compares, joins what may be joined, and renders without a browser."""

import xml.etree.ElementTree as ElementTree

import pytest

from lookback.evaluation import label
from lookback.report import length_chart, read_run, save_chart
from lookback.report.charts import BASELINE
from lookback.report.contrasts import evidence

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
