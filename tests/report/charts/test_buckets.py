"""Where buckets stand on the axis, and where a length in words is among them."""

import math

import pytest

from lookback.report.charts.buckets import Places

WIDE = [{"lo": 1, "hi": 10}, {"lo": 11, "hi": 20}, {"lo": 21, "hi": None}]
EVEN = [{"lo": 4, "hi": 8}, {"lo": 9, "hi": 9}, {"lo": 10, "hi": 29}]


def test_buckets_of_ten_words_are_on_an_axis_of_words():
    places = Places(WIDE)
    assert [places.of(bucket) for bucket in WIDE] == [
        {"x": 5.5, "hi": 10},
        {"x": 15.5, "hi": 20},
        {"x": 25.5, "hi": 30},
    ]
    assert places.at(17.5) == 17.5


def test_buckets_of_equal_counts_are_side_by_side_and_lengths_between_their_ends():
    places = Places(EVEN)
    assert [places.of(bucket)["x"] for bucket in EVEN] == [0.5, 1.5, 2.5]
    assert places.of(EVEN[-1])["hi"] + 0.5 == 3
    lengths = {1: 0, 3.5: 0, 6: 0.5, 8.5: 1, 9.5: 2, 19.5: 2.5, 29.5: 3, 30.5: math.inf}
    assert {length: places.at(length) for length in lengths} == pytest.approx(lengths)
