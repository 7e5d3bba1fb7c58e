"""Resamples are full-size, seeded, shared by all systems, exact, and scored as sacrebleu would score them."""

import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from lookback.evaluation import bleu, resample, sentence_statistics
from lookback.evaluation.statistics import resampling
from lookback.evaluation.statistics.resampling import interval, sums_of_halves


def test_resamples_are_full_size_seeded_and_shared_between_systems():
    rows = np.arange(20).reshape(10, 2) + np.array([1000, 0])
    sums = resample(rows, 200, seed=(3,))
    assert sums.shape == (200, 2)
    assert (sums[:, 0] // 1000 == 10).all()
    assert (sums == resample(rows, 200, seed=(3,))).all()
    assert (resample(rows + 1, 200, seed=(3,)) - sums == 10).all()  # another system: the same sentences were drawn
    assert (sums != resample(rows, 200, seed=(4,))).any()


@pytest.mark.parametrize("draw", [resample, sums_of_halves])
def test_runs_together_are_the_runs_one_by_one(draw):
    runs = np.random.default_rng(0).integers(0, 50, size=(2, 3, 40, 10))
    together = draw(runs, 30, (1, 2))
    assert together.shape == (2, 3, 30, 10)
    for index in np.ndindex(2, 3):
        assert (together[index] == draw(runs[index], 30, (1, 2))).all()


@pytest.mark.parametrize("draw", [resample, sums_of_halves])
def test_blocks_draw_what_one_block_draws(draw, monkeypatch):
    rows = np.arange(70).reshape(35, 2)
    whole = draw(rows, 20, (0,))
    monkeypatch.setattr(resampling, "_BLOCK", 3 * 35)
    assert (draw(rows, 20, (0,)) == whole).all()


@pytest.mark.parametrize("largest", [3, 2**24 + 1])
def test_sums_are_exact_however_large(largest):
    rows = np.full((25, 1), largest)  # in float32, 2**24 + 1 is 2**24
    assert resample(rows, 5, (0,)).ravel().tolist() == [25 * largest] * 5


def test_a_half_holds_each_sentence_with_probability_one_half():
    chosen = sums_of_halves(np.eye(50, dtype=np.int64), 2000, (0,))
    assert set(np.unique(chosen)) == {0.0, 1.0}
    assert np.abs(chosen.mean(axis=0) - 0.5).max() < 0.06  # five deviations
    assert sums_of_halves(-np.eye(50, dtype=np.int64), 2000, (0,)).tolist() == (-chosen).tolist()


def test_a_resampled_corpus_is_scored_as_sacrebleu_scores_it():
    chance = random.Random(0)
    words = ["the", "house", "see", "not", "."]
    references = [" ".join(chance.choices(words, k=chance.randint(1, 12))) for _ in range(30)]
    hypotheses = [" ".join(word for word in text.split() if chance.random() < 0.8) for text in references]
    drawn = resample(np.eye(30, dtype=np.int64), 25, (7,)).astype(int)  # how often each sentence is in each resample
    scores = bleu(resample(sentence_statistics(hypotheses, references, "none"), 25, (7,)))
    metric = BLEU(tokenize="none", force=True)
    for times, score in zip(drawn, scores, strict=True):
        corpus = [
            [text for text, n in zip(side, times, strict=True) for _ in range(n)] for side in (hypotheses, references)
        ]
        assert len(corpus[0]) == 30
        assert score == pytest.approx(metric.corpus_score(corpus[0], [corpus[1]]).score, abs=1e-9)


def test_an_interval_has_a_fortieth_on_either_side():
    assert interval(np.arange(1001.0) ** 2) == [25.0**2, 975.0**2]  # asymmetric about the middle
