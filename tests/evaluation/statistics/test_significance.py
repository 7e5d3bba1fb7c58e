"""Differences, intervals and p-values: against slow plain references, known answers, and what chance would do."""

from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.evaluation import (
    ENOUGH,
    Difference,
    Resamples,
    holm,
    resample,
)
from lookback.evaluation.statistics.intervals import p_values
from lookback.evaluation.statistics.resampling import sums_of_halves
from support.made_counts import LENGTHS, system, systems


def plain_bleu(counts) -> float:
    """BLEU of summed counts, one number at a time, for counts without a zero."""
    logs = [np.log(100 * counts[order] / counts[4 + order]) for order in range(4)]
    return float(np.exp(sum(logs) / 4) * np.exp(min(0.0, 1 - counts[9] / counts[8])))


def test_paired_bootstrap_and_randomisation_equal_a_plain_loop():
    first, second = system(0.8, LENGTHS, 1), system(0.8, LENGTHS, 2)
    a, b = first.bleu_statistics, second.bleu_statistics
    (found,) = Resamples([first, second], resamples=99, seed=3).differences([[(0, 1)]])
    drawn = resample(np.eye(240, dtype=np.int64), 99, (3, 0))
    resampled = []
    for times in drawn:
        rows = [row for row, n in enumerate(times) for _ in range(int(n))]
        resampled.append(plain_bleu(a[rows].sum(axis=0)) - plain_bleu(b[rows].sum(axis=0)))
    observed = plain_bleu(a.sum(axis=0)) - plain_bleu(b.sum(axis=0))
    assert found.whole["difference"] == pytest.approx(observed, abs=1e-9)
    assert found.whole["ci"] == pytest.approx(np.percentile(resampled, [2.5, 97.5]), abs=1e-9)
    extreme = 0
    for swap in sums_of_halves(np.eye(240, dtype=np.int64), 99, (3, 0)):
        one, other = np.where(swap[:, None] == 1, b, a), np.where(swap[:, None] == 1, a, b)
        extreme += abs(plain_bleu(one.sum(axis=0)) - plain_bleu(other.sum(axis=0))) >= abs(observed)
    assert 0 < extreme < 99
    assert found.whole["p"] == (extreme + 1) / 100


def test_three_trainings_equal_a_plain_loop_over_shared_sentences_and_students_interval():
    ours = [system(quality, LENGTHS, seed) for seed, quality in enumerate((0.8, 0.85, 0.75))]
    theirs = [system(0.7, LENGTHS, seed + 10) for seed in range(3)]
    pairs = [(0, 3), (1, 4), (2, 5)]
    resamples = Resamples([*ours, *theirs], resamples=80, seed=2)
    (found,) = resamples.differences([pairs])
    assert found.seeds == 3
    whole = [plain_bleu(run.bleu_statistics.sum(axis=0)) for run in [*ours, *theirs]]
    gains, resampled = [whole[one] - whole[other] for one, other in pairs], []
    for times in resample(np.eye(240, dtype=np.int64), 80, (2, 0)):
        scores = [plain_bleu(times @ run.bleu_statistics) for run in [*ours, *theirs]]
        resampled.append(fmean(scores[one] - scores[other] for one, other in pairs))
    low, high = np.percentile(resampled, [2.5, 97.5])
    reach = 4.302652729911275 * stdev(gains) / 3**0.5  # Student's, two degrees of freedom
    mean = fmean(gains)
    expected = [mean - ((mean - low) ** 2 + reach**2) ** 0.5, mean + ((high - mean) ** 2 + reach**2) ** 0.5]
    assert found.whole["ci"] == pytest.approx(expected, abs=1e-9)
    assert found.whole["difference"] == pytest.approx(mean, abs=1e-9)
    assert (found.whole["score"], found.whole["other"]) == pytest.approx((fmean(whole[:3]), fmean(whole[3:])))
    (p,) = p_values([mean], [low], [high], [stdev(gains) / 3**0.5], 3)
    assert found.whole["p"] == pytest.approx(p, rel=1e-6)


def test_a_difference_between_trainings_alone_is_not_called_significant():
    """Three pairs of runs say different things: their mean is no chance over sentences, over trainings it may be."""
    ours = [system(quality, LENGTHS, seed) for seed, quality in enumerate((0.95, 0.6, 0.9))]
    theirs = [system(quality, LENGTHS, seed + 9) for seed, quality in enumerate((0.7, 0.8, 0.7))]
    resamples = Resamples([*ours, *theirs])
    two, three = resamples.differences([[(0, 3), (1, 4)], [(0, 3), (1, 4), (2, 5)]])
    assert three.whole["ci"][0] < 0 < three.whole["ci"][1]
    assert three.whole["p"] > 0.05
    assert not three.whole["significant"]
    assert two.whole["p"] < 0.01  # of sentences alone
    assert two.whole["ci"][0] < 0 < two.whole["ci"][1]
    assert two.whole["models_differ"]


@pytest.mark.parametrize("seeds", [1, 2])
def test_under_three_seeds_models_differ_and_no_difference_is_significant(seeds):
    runs = [system(0.9 - 0.5 * (place >= seeds), LENGTHS, place) for place in range(2 * seeds)]
    (found,) = Resamples(runs).differences([[(seed, seeds + seed) for seed in range(seeds)]])
    full = [bucket for bucket in found.curve if bucket["n"]]
    for bucket in [found.whole, *full]:
        assert bucket["p"] == 1 / 1001
        assert (bucket["significant"], bucket["models_differ"]) == (False, True)
    assert found.better_at() == full
    assert found.worse_at() == []


def test_p_and_interval_never_contradict_each_other():
    """Three pairs that differ by chance: the uncorrected p is under 0.05 just where the interval leaves out 0."""
    seen = set()
    for trial in range(25):
        qualities = np.random.default_rng(trial).uniform(0.7, 0.75, 6) + np.repeat([trial / 200, 0], 3)
        runs = [system(quality, LENGTHS, 10 * trial + place) for place, quality in enumerate(qualities)]
        (found,) = Resamples(runs, resamples=100, seed=trial).differences([[(0, 3), (1, 4), (2, 5)]])
        for bucket in [found.whole, *found.curve[:4]]:
            low, high = bucket["ci"]
            assert (bucket["p"] < 0.05) == (not low <= 0 <= high)
            seen.add(bucket["p"] < 0.05)
    assert seen == {True, False}


def test_the_family_is_all_that_is_shown():
    """Buckets of all contrasts together, the whole test sets by themselves, and small buckets in neither."""
    lengths = [*LENGTHS, *[45] * (ENOUGH - 1)]
    qualities = [*[0.8, 0.805, 0.795], *[0.79, 0.8, 0.8], *[0.7, 0.7, 0.71]]
    resamples = Resamples([system(quality, lengths, seed) for seed, quality in enumerate(qualities)])
    contrasts = [[(one, one + arm) for one in range(3)] for arm in (3, 6)]
    found = resamples.differences(contrasts)
    buckets = [bucket for difference in found for bucket in difference.curve if bucket["n"] >= ENOUGH]
    assert len(buckets) == 8
    assert [b["p_holm"] for b in buckets] == pytest.approx(holm([b["p"] for b in buckets]).tolist())
    wholes = [difference.whole for difference in found]
    assert [w["p_holm"] for w in wholes] == pytest.approx(holm([w["p"] for w in wholes]).tolist())
    assert wholes == resamples.whole_differences(contrasts)
    assert max(w["p_holm"] / w["p"] for w in wholes) == pytest.approx(2)
    assert {difference.curve[4]["p_holm"] for difference in found} == {None}
    (alone,) = resamples.differences(contrasts[1:])
    assert alone.whole["p_holm"] == alone.whole["p"]


def test_identical_systems():
    run = system(0.8, LENGTHS, 1)
    (found,) = Resamples([run, run]).differences([[(0, 1)]])
    assert Resamples([run]).differences([]) == []
    for bucket in [found.whole, *found.curve[:4]]:
        assert (bucket["difference"], bucket["ci"], bucket["p"], bucket["p_holm"]) == (0.0, [0.0, 0.0], 1.0, 1.0)
        assert not bucket["significant"]
    assert found.better_at() == found.worse_at() == []


def test_a_clearly_better_system():
    runs = [system(quality, LENGTHS, seed) for seed, quality in enumerate((0.9, 0.9, 0.9, 0.4, 0.4, 0.4))]
    (found,) = Resamples(runs).differences([[(0, 3), (1, 4), (2, 5)]])
    full = [bucket for bucket in found.curve if bucket["n"]]
    for bucket in [found.whole, *full]:
        assert bucket["p"] <= bucket["p_holm"] < 0.05
        assert 0 < bucket["ci"][0] < bucket["difference"] < bucket["ci"][1]
        assert (bucket["significant"], bucket["models_differ"]) == (True, False)
    assert found.whole["p_holm"] == found.whole["p"]
    assert found.better_at() == full


def test_a_large_family_has_trials_enough_to_be_decided():
    """Ten arms of one seed and seven buckets: 1 / 1001 times 70 would be over 0.05, however large the differences."""
    runs = [system(0.2, LENGTHS, 0), *(system(0.9, LENGTHS, seed) for seed in range(1, 11))]
    found = Resamples(runs).differences([[(arm, 0)] for arm in range(1, 11)])
    decided = [bucket for of in found for bucket in of.curve if bucket["n"] >= 50]
    assert len(decided) > 20
    assert all(bucket["models_differ"] for bucket in decided)
    assert max(bucket["p_holm"] for bucket in decided) < 0.05


def test_buckets_without_enough_sentences_are_tested_but_found_nothing():
    lengths = [5] * ENOUGH + [15] * (ENOUGH - 1)
    (found,) = Resamples([system(0.9, lengths, 1), system(0.4, lengths, 2)]).differences([[(0, 1)]])
    enough, few, none, *_ = found.curve
    assert enough["p_holm"] == enough["p"]  # a family of one
    assert (few["p"], few["p_holm"], few["significant"], few["models_differ"]) == (1 / 1001, None, False, False)
    assert none["n"] == 0
    assert {none[key] for key in ("score", "other", "difference", "ci", "p", "p_holm")} == {None}
    assert found.better_at() == [enough]


def curve_of(*verdicts: tuple[float, bool, int], measure: str = "bleu") -> Difference:
    curve = [
        {"lo": 10 * i + 1, "difference": d, "significant": s, "models_differ": False, "n": n}
        for i, (d, s, n) in enumerate(verdicts)
    ]
    return Difference(measure, 3, {}, curve)


def test_better_and_worse_are_what_the_verdicts_and_the_measure_say():
    yes, no, worse = (2.0, True, 99), (2.0, False, 99), (-2.0, True, 99)
    found = curve_of(yes, no, worse, yes)
    assert [bucket["lo"] for bucket in found.better_at()] == [1, 31]
    assert [bucket["lo"] for bucket in found.worse_at()] == [21]
    rate = curve_of(yes, worse, worse, measure="ter")
    assert [bucket["lo"] for bucket in rate.better_at()] == [11, 21]
    assert [bucket["lo"] for bucket in rate.worse_at()] == [1]
    ratio = curve_of(yes, worse, measure="length_ratio")  # neither direction is better
    assert ratio.better_at() == ratio.worse_at() == []


@given(systems)
def test_differences_are_antisymmetric(case):
    ours, theirs, seed, lengths = case
    runs = [system(ours, lengths, seed), system(theirs, lengths, seed + 100)]
    forth, back = Resamples(runs, resamples=50).differences([[(0, 1)], [(1, 0)]])
    for one, other in zip([forth.whole, *forth.curve], [back.whole, *back.curve], strict=True):
        if one["n"]:
            assert one["difference"] == -other["difference"]
            assert one["ci"] == pytest.approx([-bound for bound in other["ci"][::-1]], abs=1e-9)
            assert (one["p"], one["p_holm"]) == (other["p"], other["p_holm"])
            assert one["significant"] == other["significant"]


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_at_least_the_raw_value_monotone_and_no_more_than_bonferroni(p_values):
    corrected = holm(p_values)
    assert ((corrected >= p_values) & (corrected <= np.minimum(1, np.multiply(p_values, len(p_values))))).all()
    assert (np.diff(corrected[np.argsort(p_values, kind="stable")]) >= 0).all()


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


def test_p_values_are_uniform_where_there_is_no_difference_and_the_interval_covers_it():
    """300 test sets of two equally good systems: calibration, with a fixed seed."""
    lengths = [20] * 60
    p_values, covered = [], 0
    for trial in range(300):
        runs = [system(0.7, lengths, 2 * trial), system(0.7, lengths, 2 * trial + 1)]
        whole = Resamples(runs, bounds=[60], resamples=199, seed=trial).differences([[(0, 1)]])[0].whole
        p_values.append(whole["p"])
        covered += whole["ci"][0] <= 0 <= whole["ci"][1]
    steps = np.arange(1, 301) / 300
    assert np.abs(np.sort(p_values) - steps).max() < 0.094  # Kolmogorov and Smirnov's bound at 1 %: 1.63 / √300
    assert sum(p <= 0.05 for p in p_values) <= 26  # 15 expected; 26 is three deviations
    assert covered >= 274  # 285 expected
