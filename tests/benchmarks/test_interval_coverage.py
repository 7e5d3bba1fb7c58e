"""Three seeds whose trainings differ by 2 BLEU: today's interval covers and gives few stars, the one before did not."""

import numpy as np
import pytest
from interval_coverage import Trainings, drawn_test_set, simulated


def test_the_interval_covers_and_nulls_are_rarely_starred():
    # fewer resamples could not find a p that is small enough for six buckets
    before, now = simulated(seeds=3, deviation=2.0, simulations=70, resamples=160)
    assert (before["method"], now["method"]) == ("before", "now")
    assert now["difference"] >= 0.92
    assert now["score"] >= 0.92
    assert now["star"] <= 0.08
    assert now["star_figure"] <= 0.08
    assert before["difference"] < 0.92
    assert before["star"] > 0.08
    assert before["star_figure"] > 0.15


@pytest.mark.parametrize("deviation", [0.0, 2.0])
def test_trainings_differ_by_the_bleu_that_was_asked_for(deviation):
    """BLEU of many trainings on one test set each: its deviation is the trainings', and some of the sentences'."""
    trainings, chance = Trainings.of(deviation), np.random.default_rng(0)
    scores = []
    for _ in range(8):
        runs = drawn_test_set(trainings, 10, chance)
        scores.append([100 * run.bleu_statistics[:, 0].sum() / run.bleu_statistics[:, 4].sum() for run in runs])
    within = np.std(scores, axis=1, ddof=1).mean()  # of words that are right, on the same sentences
    assert within == pytest.approx(0.27 if deviation == 0 else 1.19, rel=0.2)
    assert trainings.score == pytest.approx(61.8, abs=0.1)
