"""Intervals over trainings and sentences: by hand, against published quantiles, and against what chance would do."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lookback.evaluation.statistics.intervals import combined, jackknife_error, mean_error, p_values


def test_by_hand():
    """Three trainings: 3.92 over sentences and 4.303 over trainings, added as squares, to each side on its own."""
    low, high = combined(2.0, -1.92, 5.0, 1.0, 3)
    assert low == pytest.approx(2 - math.hypot(3.92, 4.3026527), abs=1e-6)
    assert high == pytest.approx(2 + math.hypot(3.0, 4.3026527), abs=1e-6)
    assert combined(2.0, 1.0, 2.5, 9.0, 1) == [1.0, 2.5]  # of one training nobody knows the error


@pytest.mark.parametrize(("trainings", "quantile"), [(2, 12.706), (3, 4.303), (5, 2.776), (10, 2.262)])
def test_trainings_alone_are_students(trainings, quantile):
    """Quantiles as in any table of the distribution, and its p at each of them."""
    assert combined(0.0, 0.0, 0.0, 1.0, trainings) == pytest.approx([-quantile, quantile], abs=1e-3)
    assert p_values([quantile], [quantile], [quantile], [1.0], trainings) == pytest.approx([0.05], abs=1e-4)


def test_sentences_alone_are_normal():
    assert p_values([1.959964, -2.575829], [0, -4.535793], [3.919928, -0.615865], [0, 0], 3) == pytest.approx(
        [0.05, 0.01]
    )
    assert p_values([0.0, 5.0], [0.0, 5.0], [0.0, 5.0], [0.0, 0.0], 3) == pytest.approx([1.0, 1e-12])


def test_a_bound_beyond_the_estimate_is_the_estimate():
    assert combined(2.0, 2.5, 3.0, 1.0, 3) == combined(2.0, 2.0, 3.0, 1.0, 3)


@given(st.floats(-9, 9), st.floats(0, 9), st.floats(0, 9), st.floats(0, 5), st.integers(2, 12))
def test_p_is_under_five_percent_just_where_the_interval_leaves_out_zero(estimate, below, above, error, trainings):
    low, high = combined(estimate, estimate - below, estimate + above, error, trainings)
    assume(min(abs(low), abs(high)) > 1e-6)
    (p,) = p_values([estimate], [estimate - below], [estimate + above], [error], trainings)
    assert (p < 0.05) == (not low <= 0 <= high)
    (mirrored,) = p_values([-estimate], [-estimate - above], [-estimate + below], [error], trainings)
    assert mirrored == p


def test_an_error_over_trainings_is_that_of_a_mean():
    values = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]])
    assert mean_error(values) == pytest.approx([math.sqrt(7) / math.sqrt(3), 0])
    without = (values.sum(axis=0) - values) / 2
    assert jackknife_error(values.mean(axis=0), without) == pytest.approx(mean_error(values))
    assert mean_error(values[:1]).tolist() == jackknife_error(values[0], values[:1]).tolist() == [0, 0]


@pytest.mark.parametrize("trainings", [3, 5, 10])
@pytest.mark.parametrize("ratio", [0.1, 1, 10])
def test_small_p_values_are_not_found_too_often(trainings, ratio):
    """A null with known errors: Satterthwaite's t finds a p under 0.003 several times too often at three trainings."""
    chance = np.random.default_rng(trainings)
    number, of_sentences = 8000, 1.0
    of_mean = ratio * of_sentences  # the deviation over trainings of a mean of them
    errors = of_mean * np.sqrt(chance.chisquare(trainings - 1, number) / (trainings - 1))
    estimates = chance.normal(0, math.hypot(of_mean, of_sentences), number)
    reach = 1.959964 * of_sentences
    found = np.array(p_values(estimates, estimates - reach, estimates + reach, errors, trainings))
    for level in (0.05, 0.003):
        assert (found < level).mean() <= level + 3 * math.sqrt(level / number)
