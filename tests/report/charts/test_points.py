"""Which points of a curve are joined, and what an arm's mean and interval are in each bucket."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.report.charts.buckets import Places
from lookback.report.charts.points import apart, mean_points, pieces, single_points

BOUNDS = [(1, 10), (11, 20), (21, 30), (31, None)]


def curve(scores, n=(60, 60, 60, 60), ci=None):
    buckets = zip(BOUNDS, scores, n, strict=True)
    return [{"lo": low, "hi": high, "n": count, "score": score, "ci": ci} for (low, high), score, count in buckets]


def test_neighbours_that_are_joined_share_a_piece_and_a_gap_begins_a_new_one():
    found = pieces([True, True, False, True, False, False, True])
    assert [piece is None for piece in found] == [False, False, True, False, True, True, False]
    assert found[0] == found[1]
    assert len({found[0], found[3], found[6]}) == 3
    assert pieces([]) == []


def test_a_point_is_the_mean_of_the_runs_and_the_envelope_of_their_intervals():
    curves = [curve([90, 70, 50, 30], ci=[20, 40]), curve([80, 60, 40, 20], ci=[10, 30])]
    points = mean_points("dot · 60.0", curves, Places(curves[0]), "bleu")
    assert [point["bleu"] for point in points] == [85, 65, 45, 25]
    assert {(point["low"], point["high"]) for point in points} == {(10, 40)}
    assert [(point["x"], point["hi"], point["bucket"]) for point in points] == [
        (5.5, 10, "1-10"),
        (15.5, 20, "11-20"),
        (25.5, 30, "21-30"),
        (35.5, 40, ">30"),
    ]
    of_mean = mean_points("dot", curves, Places(curves[0]), "bleu", curve([0, 0, 0, 0], ci=[1, 2]))
    assert {(point["low"], point["high"]) for point in of_mean} == {(1, 2)}
    assert [point["bleu"] for point in of_mean] == [85, 65, 45, 25]


@pytest.mark.parametrize(
    ("first", "second", "n", "joined"),
    [
        ([90, 70, 50, 30], [90, 70, 50, 30], (60, 60, 60, 49), ["1-10", "11-20", "21-30"]),
        ([90, None, 50, 30], [90, 70, 50, 30], (60, 60, 60, 60), ["1-10", "21-30", ">30"]),
    ],
)
def test_few_sentences_and_a_run_without_a_score_join_nothing(first, second, n, joined):
    points = mean_points("dot", [curve(first, n), curve(second, n)], Places(curve(first)), "bleu")
    assert len(points) == 4
    assert [point["bucket"] for point in points if point["piece"] is not None] == joined


def test_a_bucket_without_a_score_has_no_point():
    points = mean_points("dot", [curve([90, None, 50, 30])], Places(curve([0] * 4)), "y")
    assert [point["bucket"] for point in points] == ["1-10", "21-30", ">30"]
    assert points[0]["piece"] != points[1]["piece"] == points[2]["piece"]
    assert {(point["low"], point["high"]) for point in points} == {(None, None)}


def test_each_run_of_several_has_its_own_line():
    curves = [curve([90, 70, 50, 30]), curve([80, 60, 40, 20])]
    points = single_points("dot", "dot · 60.0", curves, Places(curves[0]), "bleu")
    assert [point["bleu"] for point in points if point["run"] == "dot 1"] == [80, 60, 40, 20]
    assert {(point["arm"], point["run"]) for point in points} == {("dot · 60.0", "dot 0"), ("dot · 60.0", "dot 1")}
    assert single_points("dot", "dot", curves[:1], Places(curves[0]), "bleu") == []


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0, 0.2))
def test_places_are_apart_in_the_order_of_the_wanted_ones_and_inside(wanted, gap):
    places = apart(wanted, gap)
    assert len(places) == len(wanted)
    room = min(gap, 1 / max(1, len(wanted) - 1))
    order = np.argsort(wanted, kind="stable")
    assert all(below - above >= room - 1e-9 for above, below in pairwise([places[index] for index in order]))
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)


def test_places_move_no_further_than_they_must():
    assert apart([0.2, 0.9, 0.5], 0.1) == pytest.approx([0.2, 0.9, 0.5])
    assert apart([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])
    assert apart([0.52, 0.5, 0.1], 0.1) == pytest.approx([0.56, 0.46, 0.1])
    assert apart([0, 0, 0], 0.1) == pytest.approx([0, 0.1, 0.2])  # none above the chart
    assert apart([1, 1], 0.1) == pytest.approx([0.9, 1])
    assert apart([0.5] * 5, 1) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
