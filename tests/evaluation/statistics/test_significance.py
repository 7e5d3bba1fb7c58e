"""Differences, intervals and p-values: against slow plain references, known answers, and what chance would do."""

from dataclasses import fields, replace
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.evaluation import (
    ENOUGH,
    MEASURES,
    Difference,
    Resamples,
    bleu,
    chrf,
    equal_count_bounds,
    half_length,
    holm,
    length_curve,
    resample,
    retention,
)
from lookback.evaluation.length_curve import half_lengths
from lookback.evaluation.statistics import resampling
from lookback.evaluation.statistics.intervals import p_values
from lookback.evaluation.statistics.resampling import sums_of_halves
from lookback.runs import Segments


def system(quality, lengths, seed: int) -> Segments:
    """Counts of a system that finds n-grams with probability `quality ** n`; one quality for all or one a sentence."""
    chance = np.random.default_rng(seed)
    lengths = np.asarray(lengths, dtype=np.int64)
    totals = np.maximum(lengths[:, None] - np.arange(4), 0)
    found = chance.binomial(totals, np.asarray(quality)[..., None] ** np.arange(1, 5))
    return Segments(
        source_length=lengths,
        reference_length=lengths,
        hypothesis_length=lengths,
        truncated=np.zeros(len(lengths), dtype=bool),
        bleu_statistics=np.concatenate([found, totals, lengths[:, None], lengths[:, None]], axis=1),
        chrf_statistics=np.concatenate([np.repeat(lengths[:, None], 17, axis=1), found[:, :1]], axis=1),
        ter_statistics=np.stack([lengths - found[:, 0], lengths], axis=1),
        repetition_statistics=np.stack([found[:, 0] - found[:, 3], lengths], axis=1),
    )


LENGTHS = [5, 15, 25, 35] * 60


def plain_bleu(counts) -> float:
    """BLEU of summed counts, one number at a time, for counts without a zero."""
    logs = [np.log(100 * counts[order] / counts[4 + order]) for order in range(4)]
    return float(np.exp(sum(logs) / 4) * np.exp(min(0.0, 1 - counts[9] / counts[8])))


def test_whole_and_buckets_are_the_scores_and_intervals_of_the_length_curve():
    run = system(0.8, LENGTHS, 1)
    curve = length_curve(run, resamples=200, seed=5)
    resamples = Resamples([run, system(0.7, LENGTHS, 2)], resamples=200, seed=5)
    (found,) = resamples.differences([[(0, 1)]])
    for bucket, expected in zip(found.curve, curve, strict=True):
        assert [bucket[key] for key in ("lo", "hi", "n", "score")] == [
            expected[key] for key in ("lo", "hi", "n", "bleu")
        ]
    arm = resamples.arm([0])
    for bucket, expected in zip(arm["by_length"], curve, strict=True):
        assert bucket == {key: expected[key] for key in ("lo", "hi", "n", "ci")} | {"score": expected["bleu"]}
    assert (arm["seeds"], arm["n"], arm["score"]) == (1, 240, found.whole["score"])
    assert (arm["retention"], arm["half_length"]) == (retention(curve), half_length(curve))
    lonely = Resamples([run], bounds=[60], resamples=200, seed=5).arm([0])  # one bucket: the whole, other draws
    assert lonely["ci"] == arm["ci"]


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


def test_an_empty_test_set_and_a_silent_system_have_no_numbers_and_no_nan():
    empty = Resamples([system(0.9, [], 1)] * 2)
    arm = empty.arm([0])
    assert (arm["n"], arm["seeds"]) == (0, 1)
    assert {value for key, value in arm.items() if key not in ("n", "seeds", "by_length")} == {None}
    assert {bucket["ci"] for bucket in arm["by_length"]} == {None}
    (found,) = empty.differences([[(0, 1)]])
    assert (found.whole["n"], found.whole["p"], found.whole["significant"]) == (0, None, False)
    silent = Resamples([system(0.0, LENGTHS, 1), system(0.5, LENGTHS, 1)])
    assert silent.arm([0])["retention_ci"] is None
    assert silent.differences([[(0, 1)]])[0].whole["score"] == 0.0


def shortened(run: Segments) -> Segments:
    """The run with a word less a sentence, so that its length ratio is under 1."""
    counts = run.bleu_statistics - (np.arange(10) == 8)
    return replace(run, bleu_statistics=counts)


def together(first: Segments, second: Segments) -> Segments:
    names = [field.name for field in fields(Segments) if getattr(first, field.name) is not None]
    return Segments(**{name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in names})


def plain(measure: str, run: Segments, rows) -> float:
    """A measure of the sentences `rows`, from counts that are added up one by one."""
    if measure == "chrf":
        return float(chrf(sum(run.chrf_statistics[row] for row in rows)))
    if measure == "ter":
        return 100 * sum(run.ter_statistics[row][0] for row in rows) / sum(run.ter_statistics[row][1] for row in rows)
    if measure == "repeated":
        return (
            100 * sum(run.repetition_statistics[row][0] for row in rows) / sum(run.source_length[row] for row in rows)
        )
    counts = sum(run.bleu_statistics[row] for row in rows)
    if measure == "omitted":
        return 100 - 100 * counts[0] / counts[9]
    if measure == "length_ratio":
        return counts[8] / counts[9]
    return float(bleu(counts, effective_order=True, brevity_penalty=measure == "bleu"))


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_is_resampled_and_swapped_on_the_same_sentences(measure):
    first, second = system(0.8, LENGTHS, 1), shortened(system(0.8, LENGTHS, 2))
    resamples = Resamples([first, second], bounds=[20], resamples=60, seed=3)
    (found,) = resamples.differences([[(0, 1)]], measure)
    arm = resamples.arm([1], measure)
    assert found.measure == measure
    short = [row for row, length in enumerate(LENGTHS) if length <= 20]
    for rows, bucket, of_arm, place in (
        (list(range(240)), found.whole, arm, 0),
        (short, found.curve[0], arm["by_length"][0], 1),
    ):
        scores = [
            [
                plain(measure, run, np.repeat(rows, times.astype(int)))
                for times in resample(np.eye(len(rows), dtype=np.int64), 60, (3, place))
            ]
            for run in (first, second)
        ]
        as_they_are = plain(measure, first, rows), plain(measure, second, rows)
        assert (bucket["score"], bucket["other"]) == pytest.approx(as_they_are, abs=1e-9)
        assert of_arm["score"] == pytest.approx(as_they_are[1], abs=1e-9)
        assert of_arm["ci"] == pytest.approx(np.percentile(scores[1], [2.5, 97.5]), abs=1e-9)
        assert bucket["ci"] == pytest.approx(np.percentile(np.subtract(*scores), [2.5, 97.5]), abs=1e-9)
        observed, extreme = abs(as_they_are[0] - as_they_are[1]), 0
        for swaps in sums_of_halves(np.eye(len(rows), dtype=np.int64), 60, (3, place)):
            both = together(first, second)  # the second run's sentences stand behind the first one's
            ours = [row + 240 * int(swap) for row, swap in zip(rows, swaps, strict=True)]
            theirs = [row + 240 * int(1 - swap) for row, swap in zip(rows, swaps, strict=True)]
            swapped = plain(measure, both, ours), plain(measure, both, theirs)
            extreme += abs(swapped[0] - swapped[1]) >= observed - 1e-9
        assert bucket["p"] == (extreme + 1) / 61


def test_what_length_does_is_summed_up_only_where_more_is_better():
    resamples = Resamples([system(0.8, LENGTHS, 1)])
    for measure, about in MEASURES.items():
        arm = resamples.arm([0], measure)
        assert (arm["retention"] is not None) is (about.better == 1)
        if about.better < 1:
            assert (arm["retention_ci"], arm["half_length"], arm["half_length_ci"]) == (None, None, None)


def test_a_length_ratio_without_reference_tokens_is_no_number():
    run = system(0.8, LENGTHS, 1)
    nothing = replace(run, bleu_statistics=run.bleu_statistics * (np.arange(10) < 9))
    resamples = Resamples([nothing, nothing])
    (found,) = resamples.differences([[(0, 1)]], "length_ratio")
    for bucket in (found.whole, found.curve[0]):
        assert {bucket[key] for key in ("score", "other", "difference", "ci", "p", "p_holm")} == {None}
        assert not bucket["significant"]
    assert resamples.arm([0], "length_ratio")["score"] is None
    assert resamples.curve(0, "length_ratio")[0] == {"lo": 1, "hi": 10, "n": 60, "score": None}


def test_other_buckets_share_the_whole_test_set():
    runs = [system(0.8, LENGTHS, 1), system(0.7, LENGTHS, 2)]
    wide = Resamples(runs)
    even = wide.cut(equal_count_bounds(runs[0].source_length), closed=True)
    alone = Resamples(runs, equal_count_bounds(runs[0].source_length), closed=True)
    assert even.arm([0, 1]) == alone.arm([0, 1])
    assert even.differences([[(0, 1)]]) == alone.differences([[(0, 1)]])
    assert [bucket["n"] for bucket in even.curve(1)] == [60] * 4
    assert [bucket["score"] for bucket in even.curve(1)] == [bucket["score"] for bucket in wide.curve(1)[:4]]
    assert even.arm([1])["ci"] == wide.arm([1])["ci"]
    assert len(wide.curve(1)) == 7


def test_measures_that_share_counts_and_other_contrasts_take_no_further_draw(monkeypatch):
    runs = [system(quality, LENGTHS, seed) for seed, quality in enumerate((0.8, 0.7, 0.6))]
    resamples, drawn = Resamples(runs, resamples=400), []
    weighted_sums = resampling._weighted_sums
    monkeypatch.setattr(
        resampling, "_weighted_sums", lambda *arguments: drawn.append(arguments) or weighted_sums(*arguments)
    )
    resamples.differences([[(0, 1)]])
    assert len(drawn) == 10  # whole and four buckets with sentences: resamples, and trials
    for measure in ("bleu", "bleu_no_bp", "length_ratio"):
        resamples.arm([0, 1], measure)
        resamples.differences([[(0, 2)], [(1, 2)]], measure)
    assert len(drawn) == 10
    resamples.arm([0], "chrf")
    assert len(drawn) == 15


def test_a_measure_that_is_not_known_is_named():
    with pytest.raises(
        ValueError,
        match=r"measure='blue': expected one of bleu, bleu_no_bp, chrf, ter, length_ratio, omitted, repeated",
    ):
        Resamples([system(0.8, [5], 1)]).arm([0], "blue")


def test_runs_of_other_test_sets_are_refused():
    run, other = system(0.8, [5, 6], 1), system(0.8, [5, 7], 1)
    with pytest.raises(ValueError, match=r"runs\[1\]: other sentences"):
        Resamples([run, other])


systems = st.tuples(st.floats(0.3, 1), st.floats(0.3, 1), st.integers(0, 99), st.lists(st.integers(1, 70), min_size=1))


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


@given(systems, st.randoms())
def test_another_order_of_the_sentences_gives_the_same_scores_and_about_the_same_intervals(case, chance):
    ours, theirs, seed, lengths = case
    runs = [system(ours, lengths * 5, seed), system(theirs, lengths * 5, seed + 100)]
    order = np.array(chance.sample(range(len(runs[0])), len(runs[0])))
    (before,) = Resamples(runs, resamples=400).differences([[(0, 1)]])
    (after,) = Resamples([run[order] for run in runs], resamples=400).differences([[(0, 1)]])
    assert [bucket["n"] for bucket in after.curve] == [bucket["n"] for bucket in before.curve]
    assert after.whole["difference"] == before.whole["difference"]
    width = before.whole["ci"][1] - before.whole["ci"][0]
    assert after.whole["ci"] == pytest.approx(before.whole["ci"], abs=0.5 * width + 1e-9)
    assert after.whole["p"] == pytest.approx(before.whole["p"], abs=0.2)  # five deviations at p = 1/2 of two such draws


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
