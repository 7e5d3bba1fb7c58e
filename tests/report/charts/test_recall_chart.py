"""Where words are lost: the lines are the arms' recall, joined where it is known well enough, and said in words."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import vl_convert

from lookback.evaluation import FIFTH_NAMES, segments_of
from lookback.report import length_chart
from lookback.report.charts.recall_chart import bucket_key, has_enough, recall_chart
from lookback.report.evidence.contrasts import CountedRuns
from lookback.report.tables.recall_table import recall_rows
from lookback.runs import read_run

LENGTHS = [*(length for length in range(1, 41) for _ in range(6)), *range(41, 51)]


@pytest.fixture(scope="module")
def runs(make_run_at, tmp_path_factory):
    place = tmp_path_factory.mktemp("arms")
    return [
        read_run(make_run_at(place / f"{name}{seed}", name, seed, slope=slope, lengths=LENGTHS))
        for name, slope in (("none", 0.02), ("dot", 0.005))
        for seed in (1, 2)
    ]


@pytest.fixture(scope="module")
def found(runs):
    return CountedRuns(runs).recall


def layers(chart):
    return chart.to_dict()["layer"]


def points(layer):
    return layer["data"]["values"]


@pytest.mark.parametrize("bucket", ["all", "31-40"])
def test_lines_bands_and_chance_are_what_was_counted(runs, found, bucket):
    band, thin, chance, mean, marks, *_ = layers(recall_chart(runs, found, bucket))
    assert points(mean) == points(marks) == points(band) == points(chance)
    for name, arm in found.items():
        part = next(part for part in arm.mean if bucket_key(part) == bucket)
        drawn = [point for point in points(mean) if point["arm"] == name]
        assert [point["part"] for point in drawn] == list(FIFTH_NAMES)
        assert [point["x"] for point in drawn] == [1, 2, 3, 4, 5]
        assert [point["y"] for point in drawn] == part["recall"]
        assert [[point["low"], point["high"]] for point in drawn] == part["ci"]
        assert [point["chance"] for point in drawn] == part["chance"]
        for index, curve in enumerate(arm.runs):
            own = next(part for part in curve if bucket_key(part) == bucket)
            drawn = [point["y"] for point in points(thin) if (point["arm"], point["run"]) == (name, index)]
            assert drawn == own["recall"]
    assert chance["encoding"]["y"]["field"] == "chance"
    assert mean["encoding"]["y"]["scale"]["domain"] == [0, 1]
    assert thin["mark"]["strokeWidth"] < mean["mark"]["strokeWidth"]


def test_rows_for_the_csv_are_the_curves(found):
    written = recall_rows(found, 1)
    assert len(written) == sum(len(arm.mean) for arm in found.values()) * len(FIFTH_NAMES)
    for name, arm in found.items():
        for part in arm.mean:
            of = [row for row in written if (row["arm"], row["lo"]) == (name, part.get("lo"))]
            assert [row["part"] for row in of] == list(FIFTH_NAMES)
            assert [row["recall"] for row in of] == part["recall"]
            assert [[row["low"], row["high"]] for row in of] == [ci or [None, None] for ci in part["ci"]]
            assert [row["chance"] for row in of] == part["chance"]
            assert {(row["seeds"], row["n"], row["hi"], row["group"]) for row in of} == {
                (2, part["n"], part.get("hi"), 1)
            }


def test_it_is_the_plain_count_of_the_runs_sentences(runs, found):
    recall = []
    for run in runs[:2]:
        counts = segments_of(run).position_statistics
        recall.append(counts[:, 5:10].sum(axis=0) / counts[:, :5].sum(axis=0))
    assert found["none"].mean[0]["recall"] == pytest.approx(np.mean(recall, axis=0))
    assert found["none"].mean[0]["n"] == len(LENGTHS)


def test_few_sentences_are_hollow_and_joined_to_nothing(runs, found):
    *lines, rules, hollow, _, _, _ = layers(recall_chart(runs, found, "41-50"))
    assert hollow["mark"]["fill"] == "white"
    assert len(points(hollow)) == len(points(rules)) == 10
    assert not any(points(layer) for layer in lines)
    assert "hollow: n < 50" in str(recall_chart(runs, found, "41-50").to_dict()["title"])
    assert not has_enough(found["none"].mean[5])
    assert has_enough(found["none"].mean[4])


def test_colours_and_marks_are_the_length_charts(runs, found):
    def shown(chart):
        layer = next(layer for layer in layers(chart) if "shape" in layer["encoding"])
        scales = [layer["encoding"][channel]["scale"] for channel in ("color", "shape")]
        return {
            n.split()[0]: (c, s) for n, c, s in zip(scales[0]["domain"], *(s["range"] for s in scales), strict=True)
        }

    assert shown(recall_chart(runs, found)) == shown(length_chart(runs))
    alone = {"dot": found["dot"]}  # the other arm has no gold: nobody's colour changes
    assert shown(recall_chart(runs, alone)).items() < shown(length_chart(runs)).items()


def test_said_in_words_too(runs, found):
    chart = recall_chart(runs, found, "31-40").to_dict()
    recall = next(part for part in found["none"].mean if bucket_key(part) == "31-40")["recall"]
    assert f"none {', '.join(f'{share:.2f}' for share in recall)}; dot" in chart["description"]
    assert "sources of 31–40 words" in chart["description"]
    tree = ElementTree.fromstring(vl_convert.vegalite_to_svg(chart))
    texts = " ".join("".join(text.itertext()) for text in tree.iter("{http://www.w3.org/2000/svg}text"))
    for text in (
        "first",
        "last",
        "31–40 source words",
        "60 test sentences",
        "2 seeds: thin lines",
        "by chance",
        "none",
    ):
        assert text in texts


def test_what_is_not_there_is_refused(runs, found):
    with pytest.raises(ValueError, match=r"bucket='51': expected one of all, 1-10, 11-20"):
        recall_chart(runs, found, "51")
    with pytest.raises(ValueError, match="no arm"):
        recall_chart(runs, {})


def test_runs_without_gold_or_with_other_gold_have_no_part(runs, make_run):
    without = read_run(make_run("a", "general", lengths=LENGTHS, aligned=False))
    assert list(CountedRuns([*runs, without]).recall) == ["none", "dot"]
    assert CountedRuns([without]).recall == {}
    other = read_run(make_run("b", "general", lengths=LENGTHS))
    path = other.directory / "test" / "segments.npz"
    with np.load(path) as file:
        arrays = dict(file)
    arrays["position_statistics"][:, 0] *= 0.5
    np.savez(path, **arrays)
    counted = CountedRuns([*runs, other])
    assert counted.recall == {}
    assert any("different gold links" in note for note in counted.evidence().notes)
