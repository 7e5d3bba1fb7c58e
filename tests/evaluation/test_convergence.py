"""Whether a training had stopped improving, from validations wherever they are."""

import pytest

from lookback.evaluation import convergence, rise_in_words
from lookback.runs import CONVERGENCE


def test_the_rise_is_counted_from_four_fifths_of_the_updates():
    bleu = [(20, 5.0), (40, 20.0), (60, 30.0), (80, 34.0), (100, 34.5)]
    perplexity = [(20, 9.0), (40, 3.0), (60, 1.9), (80, 1.7), (100, 1.8)]
    found = convergence(bleu, perplexity)
    assert set(found) == set(CONVERGENCE)
    assert found == {
        "validation_bleu": 34.5,
        "validation_perplexity": 1.7,
        "rise": pytest.approx(0.5),
        "since_update": 80,
        "updates": 100,
    }


@pytest.mark.parametrize(
    ("bleu", "rise"),
    [
        ([(70, 10.0), (90, 20.0), (100, 21.0)], 6.0),  # 15 at update 80
        ([(10, 10.0), (100, 28.0)], 4.0),  # 24 at update 80, on the one line that there is
        ([(79, 10.0), (81, 30.0), (99, 5.0), (100, 15.0)], -5.0),  # 20 at update 80; it fell
        ([(80, 10.0), (100, 10.0)], 0.0),
    ],
)
def test_validations_of_unequal_spacing_are_interpolated(bleu, rise):
    assert convergence(bleu, [])["rise"] == pytest.approx(rise)


@pytest.mark.parametrize("bleu", [[(100, 30.0)], [(81, 20.0), (100, 30.0)], [(1, 2.0)]])
def test_nothing_is_said_where_no_validation_is_early_enough(bleu):
    assert convergence(bleu, [])["rise"] is None


def test_the_last_fifth_is_that_of_what_was_validated():
    found = convergence([(4, 1.0), (9, 3.0)], [(4, 2.0)])
    assert (found["since_update"], found["updates"]) == (7, 9)
    assert found["rise"] == pytest.approx(0.8)


def test_without_a_validation_there_is_nothing_to_say():
    assert convergence([], []) is None
    assert convergence([(5, 1.0)], [])["validation_perplexity"] is None


@pytest.mark.parametrize(
    ("rise", "words"),
    [
        (0.34, "rose by 0.3"),
        (-2.06, "fell by 2.1"),
        (0.04, "stayed the same"),
        (-0.04, "stayed the same"),
        (0.0, "stayed the same"),
    ],
)
def test_a_rise_is_said_in_words(rise, words):
    assert rise_in_words(rise) == words
