"""What the trainings of an arm come to: intervals against slow plain references, and where their bounds can lie."""

from statistics import fmean

import numpy as np
import pytest

from lookback.evaluation import (
    MEASURES,
    Resamples,
    bleu,
    half_length,
    length_curve,
    resample,
    retention,
)
from lookback.evaluation.length_curve import half_lengths
from support.made_counts import LENGTHS, system


def test_trainings_that_differ_widen_the_interval():
    alike = Resamples([system(0.8, LENGTHS, seed) for seed in range(3)]).arm([0, 1, 2])
    apart = Resamples([system(0.7 + 0.1 * seed, LENGTHS, seed) for seed in range(3)]).arm([0, 1, 2])
    for one, other in ((alike, apart), (alike["by_length"][2], apart["by_length"][2])):
        assert other["ci"][1] - other["ci"][0] > 3 * (one["ci"][1] - one["ci"][0])


def test_no_bound_lies_where_no_score_can():
    """Two trainings, whose spread reaches 12.7 errors far."""
    runs = [system(quality, [5, 15] * 60, seed) for seed, quality in enumerate((0.5, 0.98))]
    arm = Resamples(runs).arm([0, 1])
    assert arm["ci"] == [0.0, 100.0]
    assert arm["retention_ci"][1] == 1.0
    assert Resamples(runs).arm([0, 1], "ter")["ci"][0] == 0.0


def test_intervals_of_retention_and_half_length_are_of_the_same_resamples():
    """Against dictionaries, one curve a resample, by the functions that results.json is made with."""
    lengths = [5, 15, 25, 35] * 60
    quality = np.array([0.95, 0.85, 0.75, 0.6])
    run = system(quality[np.arange(240) % 4], lengths, 1)
    arm = Resamples([run], resamples=60, seed=4).arm([0])
    drawn = [
        bleu(resample(run.bleu_statistics[index::4], 60, (4, 10 * index + 1)), effective_order=True)
        for index in range(4)
    ]
    template = length_curve(run, resamples=1)[:4]
    curves = [
        [{**bucket, "bleu": score} for bucket, score in zip(template, scores, strict=True)]
        for scores in zip(*drawn, strict=True)
    ]
    assert arm["retention_ci"] == pytest.approx(np.percentile([retention(curve) for curve in curves], [2.5, 97.5]))
    halves = sorted(half_length(curve) for curve in curves)
    assert arm["half_length_ci"] == [halves[1], halves[58]]  # 2.5 % of 59 steps: between the second and the third
    assert halves[1] < arm["half_length"] < halves[58]


def test_a_half_that_is_not_always_reached_has_an_open_interval():
    lengths = [5, 15] * 60
    qualities = np.array([0.9, 0.682])[np.arange(120) % 2]  # the second bucket is about half as good
    arm = Resamples([system(qualities, lengths, 3)]).arm([0])
    low, high = arm["half_length_ci"]
    assert low < 15.5
    assert high is None
    never = Resamples([system(0.9, lengths, 1)]).arm([0])
    assert (never["half_length"], never["half_length_ci"]) == (None, None)


def test_a_half_length_over_trainings_is_the_jackknifes_and_open_where_one_of_them_opens_it():
    lengths = [5, 15, 25] * 60
    steep, flat = np.array([0.95, 0.8, 0.45])[np.arange(180) % 3], 0.95
    falling = [system(steep - 0.02 * seed, lengths, seed) for seed in range(3)]
    resamples = Resamples([*falling, system(flat, lengths, 9)], resamples=200, seed=1)
    alone, arm = resamples.arm([1]), resamples.arm([0, 1, 2])
    curve = np.array([[bucket["score"] for bucket in resamples.curve(run)[:3]] for run in range(3)])
    middles = [5.5, 15.5, 25.5]
    without = [float(half_lengths((curve.sum(axis=0) - each) / 2, middles)) for each in curve]
    drawn = np.mean(
        [
            [bleu(resample(run.bleu_statistics[i::3], 200, (1, 10 * i + 1)), effective_order=True) for i in range(3)]
            for run in falling
        ],
        axis=0,
    )
    halves = np.sort(half_lengths(drawn.T, middles))
    low, high = halves[4], halves[195]  # bounds that were drawn, 2.5 % from either end
    reach = 4.302652729911275 * (2 / 3 * sum((each - fmean(without)) ** 2 for each in without)) ** 0.5
    half = arm["half_length"]
    expected = [half - np.hypot(half - low, reach), half + np.hypot(high - half, reach)]
    assert reach > 0.1
    kept = [each[2] / each[0] for each in (curve.sum(axis=0) - curve) / 2]
    bounds = np.percentile(drawn[2] / drawn[0], [2.5, 97.5])
    spread = 4.302652729911275 * (2 / 3 * sum((each - fmean(kept)) ** 2 for each in kept)) ** 0.5
    assert arm["retention_ci"][0] == pytest.approx(
        arm["retention"] - np.hypot(arm["retention"] - bounds[0], spread), abs=1e-6
    )
    assert arm["half_length_ci"] == pytest.approx(expected, abs=1e-6)
    assert alone["half_length_ci"][0] < alone["half_length"] < alone["half_length_ci"][1]
    mixed = resamples.arm([0, 1, 3])  # without either of the first two, the third holds the curve up
    assert mixed["half_length_ci"][1] is None
    assert middles[0] <= mixed["half_length_ci"][0] < 25.5
    assert resamples.arm([3, 3, 3])["half_length_ci"] is None


def test_what_length_does_is_summed_up_only_where_more_is_better():
    resamples = Resamples([system(0.8, LENGTHS, 1)])
    for measure, about in MEASURES.items():
        arm = resamples.arm([0], measure)
        assert (arm["retention"] is not None) is (about.better == 1)
        if about.better < 1:
            assert (arm["retention_ci"], arm["half_length"], arm["half_length_ci"]) == (None, None, None)
