import pytest
import torch

from lookback.search import Hypothesis, LengthRule
from lookback.search.hypothesis import best_first


def hypothesis(score: float, truncated: bool = False, tokens: int = 1, source: int = 3) -> Hypothesis:
    rows = tokens + (not truncated)
    return Hypothesis(list(range(4, 4 + tokens)), score, score, torch.full((rows, source), 1 / source), truncated)


def test_the_limit_is_each_sentences_own():
    rule = LengthRule(limit_factor=1.5, limit_extra=2)
    assert rule.limits(torch.tensor([1, 2, 3, 11])) == [2, 3, 5, 17]  # of 0, 1, 2, 10 words


def test_the_score_is_the_log_probability_over_a_power_of_the_length():
    assert LengthRule(length_normalization=0).score(-6.0, 4) == -6
    assert LengthRule(length_normalization=1).score(-6.0, 4) == -1.5
    assert LengthRule(length_normalization=0.5).score(-6.0, 4) == -3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limit_factor": -1.0}, r"limit_factor=-1\.0: expected a number, 0 to 1"),
        ({"limit_extra": 0}, "limit_extra=0: expected a whole number, 1 to 10,000"),
        ({"length_normalization": -0.5}, r"length_normalization=-0\.5: expected a number, 0 to 1"),
    ],
)
def test_a_bad_rule_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        LengthRule(**arguments)


def test_complete_translations_stand_before_truncated_ones_then_the_better_score():
    a, b, c, d = hypothesis(-2.0), hypothesis(-1.0), hypothesis(-0.1, truncated=True), hypothesis(-0.2, truncated=True)
    assert best_first([d, c, a, b], 4) == [b, a, c, d]
    assert best_first([d, c, a, b], 1) == [b]
