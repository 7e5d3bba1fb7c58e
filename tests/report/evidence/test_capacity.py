"""The capacity law: runs of one attention and several sizes, the length that each holds, and a line through them."""

import json
import math
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest
import sacrebleu

from lookback.evaluation import label
from lookback.report import save_chart
from lookback.report.charts import capacity_chart as charts
from lookback.report.charts.capacity_chart import capacity_chart
from lookback.report.evidence.capacity import THRESHOLD, capacity, capacity_rows, fitted, length_bounds, lengths_held
from lookback.runs import read_predictions, read_run

LENGTHS = list(range(4, 31)) * 30
COUNTED = 6 * 27  # the counts of the others repeat theirs: what errors cost to count would be minutes


def of_size(make_run_at, place, size, seed=1, attention="none", direction="both", slope=None, **others):
    """A run whose encoder has `size` units a direction: twice the units, half the errors."""
    slope = 0.12 / size if slope is None else slope
    directory = make_run_at(place, attention, seed, slope=slope, lengths=LENGTHS, counted=COUNTED, **others)
    path = directory / ".hydra" / "config.yaml"
    text = path.read_text()
    assert "encoder:\n" in text
    path.write_text(text.replace("encoder:\n", f"encoder:\n  hidden_size: {size}\n  direction: {direction}\n"))
    return read_run(directory)


@pytest.fixture(scope="module")
def runs(make_run_at, tmp_path_factory):
    place = tmp_path_factory.mktemp("sizes")
    return [of_size(make_run_at, place / f"{size}-{seed}", size, seed) for seed in (1, 2) for size in (1, 4, 6, 8, 64)]


@pytest.fixture(scope="module")
def found(runs):
    return capacity(runs, resamples=200)


def test_a_size_holds_the_length_at_which_bleu_falls_under_fifty(runs, found):
    assert [size.numbers for size in found.held] == [2, 8, 12, 16, 128]  # two directions
    assert [bucket["lo"] for bucket in found.buckets] == [4, 7, 10, 13, 16, 19, 22, 25, 28]
    middles = [bucket["lo"] + 1 for bucket in found.buckets]
    for size, of in zip(found.held[1:4], (4, 6, 8), strict=True):
        members = [run for run in runs if run.settings["encoder.hidden_size"] == of]
        assert size.seeds == len(members) == 2
        curve = [np.mean([bucket_bleu(run, bucket["lo"], bucket["hi"]) for run in members]) for bucket in found.buckets]
        assert size.scores == pytest.approx(curve, abs=1e-9)
        behind = next(place for place, score in enumerate(curve) if score <= THRESHOLD)
        share = (curve[behind - 1] - THRESHOLD) / (curve[behind - 1] - curve[behind])
        assert size.words == pytest.approx(middles[behind - 1] + 3 * share)
        assert size.ci[0] < size.words < size.ci[1]


def bucket_bleu(run, low, high):
    counted = [*read_predictions(run.directory / "test" / "predictions.jsonl")][:COUNTED]
    inside = [p for p in counted if low <= p.source_length <= high]
    hypotheses, references = [p.hypothesis for p in inside], [[p.reference for p in inside]]
    return sacrebleu.corpus_bleu(hypotheses, references, tokenize="none", force=True).score


def test_rows_for_the_csv_are_the_sizes(found):
    written = capacity_rows(found, 1)
    assert [(row["numbers"], row["seeds"], row["words"]) for row in written] == [
        (size.numbers, size.seeds, size.words) for size in found.held
    ]
    for row, size in zip(written, found.held, strict=True):
        assert [row["low"], row["high"]] == (size.ci or [None, None])
        assert row["by_law"] == found.law.words(size.numbers)
        assert [score for key, score in row.items() if key.startswith("bleu ")] == size.scores
    assert [key for key in written[0] if key.startswith("bleu ")] == [f"bleu {label(b)}" for b in found.buckets]


def test_the_line_goes_through_the_sizes_that_have_a_length(found):
    known = [(size.numbers, size.words) for size in found.held if size.words is not None]
    exponent, logarithm = np.polyfit(*np.log(np.array(known).T), 1)
    assert found.law.exponent == pytest.approx(exponent)
    assert found.law.scale == pytest.approx(math.exp(logarithm))
    assert found.law.words(10) == pytest.approx(math.exp(logarithm) * 10**exponent)
    assert found.law.exponent_ci[0] < exponent < found.law.exponent_ci[1]
    assert [(size.numbers, size.beyond) for size in found.left_out] == [
        (2, "shorter than tested"),
        (128, "longer than tested"),
    ]
    assert all(size.ci is None for size in found.left_out)


def test_a_law_that_is_exact_is_found_again_and_a_length_that_is_open_takes_no_part():
    numbers = [4, 8, 16, 32]
    exact = np.array([3 * n**0.5 for n in numbers])
    open_end = np.where(np.arange(4) == 3, np.nan, exact)
    law = fitted(numbers, np.stack([exact, exact, open_end]))
    assert (law.scale, law.exponent) == (pytest.approx(3), pytest.approx(0.5))
    assert law.exponent_ci == pytest.approx([0.5, 0.5])
    assert law.scale_ci == pytest.approx([3, 3])
    # two points are no law: neither measured, nor in a resample
    two = np.where(np.arange(4) > 1, np.nan, exact)
    assert fitted(numbers, np.stack([two, exact])) is None
    assert fitted(numbers, np.stack([exact, two])) is None
    assert fitted(numbers, np.stack([exact, two, exact])).exponent_ci == pytest.approx([0.5, 0.5])


def test_the_first_fall_under_the_threshold_counts():
    curves = [[90, 60, 40, 20], [90, 40, 70, 20], [90, 80, 70, 60], [40, 90, 30, 20], [50, 20, 10, 5], [60, 50, 9, 9]]
    held = lengths_held(curves, [5, 10, 15, 20])
    assert held[:2].tolist() == pytest.approx([12.5, 5 + 5 * 40 / 50])
    assert np.isnan(held[2:5]).all()
    assert held[5] == 10
    assert np.isnan(lengths_held([[60.0]], [5.0])).all()


def test_buckets_are_fine_for_short_sentences_and_no_more_than_a_dozen():
    widths = {24: 2, 30: 3, 36: 3, 40: 5, 60: 5, 200: 5}
    for longest, width in widths.items():
        bounds = length_bounds(np.arange(1, longest + 1))
        assert bounds[0] == width
        assert bounds[-1] >= min(longest, 60)
        assert len(bounds) <= 12


def test_only_runs_that_differ_in_size_and_seed_alone_make_a_law(runs, make_run_at, tmp_path):
    other = [of_size(make_run_at, tmp_path / f"{size}", size, cell="lstm") for size in (4, 6)]
    assert capacity([*runs, *other], 10).runs == runs
    assert capacity(other, 10) is None
    mixed = [*other, of_size(make_run_at, tmp_path / "gru", 8)]
    assert capacity(mixed, 10) is None
    assert capacity(runs[:2], 10) is None
    assert capacity([], 10) is None
    bahdanau = [
        of_size(make_run_at, tmp_path / f"b{size}", size, attention="bahdanau") for size in (4, 6, 8, 16, 32, 64)
    ]
    assert {run.attention for run in capacity([*bahdanau, *runs], 10).runs} == {"none"}  # fewer sizes, and the question
    assert {run.attention for run in capacity(bahdanau, 10).runs} == {"bahdanau"}


def test_one_direction_has_half_the_numbers(make_run_at, tmp_path):
    one_way = [of_size(make_run_at, tmp_path / f"{size}", size, direction="forward") for size in (4, 6, 8)]
    assert [size.numbers for size in capacity(one_way, 10).held] == [4, 6, 8]


def test_runs_without_counts_have_no_part(make_run_at, tmp_path):
    bare = [of_size(make_run_at, tmp_path / f"{size}", size) for size in (4, 6, 8, 16)]
    (bare[0].directory / "test" / "segments.npz").unlink()
    assert [size.numbers for size in capacity(bare, 10).held] == [12, 16, 32]
    (bare[1].directory / "test" / "segments.npz").unlink()
    assert capacity(bare, 10) is None


def test_the_chart_has_a_cell_for_each_size_and_bucket_the_line_and_the_points(found):
    chart = capacity_chart(found).to_dict()
    heat, line, intervals, points = chart["layer"]
    cells = heat["data"]["values"]
    assert [(cell["numbers"], cell["bleu"]) for cell in cells] == [
        (size.numbers, pytest.approx(score, abs=0.01)) for size in found.held for score in size.scores
    ]
    assert heat["encoding"]["color"]["scale"]["domain"] == [0, 100]
    assert heat["encoding"]["y"]["scale"]["type"] == "log"
    # rows and columns leave nothing out
    rows = sorted({(cell["low"], cell["high"]) for cell in cells})
    assert all(below[1] == pytest.approx(above[0]) for below, above in pairwise(rows))
    assert all(low < cell["numbers"] < high for cell in cells for low, high in [(cell["low"], cell["high"])])
    columns = sorted({(cell["from"], cell["to"]) for cell in cells})
    assert all(left[1] == right[0] for left, right in pairwise(columns))
    for place in line["data"]["values"]:
        assert place["words"] == pytest.approx(found.law.words(place["numbers"]))
        assert columns[0][0] <= place["words"] <= columns[-1][1]
    assert len(line["data"]["values"]) > 10
    for layer in (intervals, points):
        assert [point["numbers"] for point in layer["data"]["values"]] == [8, 12, 16]
    assert [point["words"] for point in points["data"]["values"]] == [size.words for size in found.held[1:4]]


def test_the_chart_says_the_fit_what_is_left_out_and_the_signature(runs, found, tmp_path):
    paths = save_chart(capacity_chart(found), tmp_path, "capacity")
    assert sorted(path.name for path in paths) == [f"capacity.{kind}" for kind in ("pdf", "png", "svg", "vl.json")]
    tree = ElementTree.parse(tmp_path / "capacity.svg")
    shown = " ".join("".join(text.itertext()) for text in tree.iter("{http://www.w3.org/2000/svg}text"))
    law = f"words = {found.law.scale:.2f} · numbers ^ {found.law.exponent:.2f}"
    for text in (law, "2 (shorter than tested), 128 (longer than tested)", "2 seeds", runs[0].results["signature"]):
        assert text in shown
    assert law in json.loads((tmp_path / "capacity.vl.json").read_text())["description"]


def test_without_three_lengths_there_is_a_chart_and_no_line(make_run_at, tmp_path):
    sizes = [of_size(make_run_at, tmp_path / f"{size}", size, slope=0.0) for size in (4, 8, 16)]
    flat = capacity(sizes, 10)
    assert flat.law is None
    assert [size.beyond for size in flat.held] == ["longer than tested"] * 3
    chart = capacity_chart(flat).to_dict()
    assert len(chart["layer"]) == 1
    assert "No fit: fewer than three sizes" in chart["description"]
    head, table = flat.table()
    assert table[0][:5] == ["8", "1", "longer than tested", "–", "–"]
    assert len(head) == len(table[0]) == 5 + len(flat.buckets)


def test_no_colour_of_the_map_is_one_that_the_page_exchanges():
    """In a scale's range the page's `var(--paper)` could not be mixed."""
    from lookback.report.page.page import _colors

    assert not {charts.LIGHTEST, charts.DARKEST, "#ffffff"} & set(_colors())
