"""Differences, intervals and p-values: against slow plain references, known answers, and what chance would do."""

from dataclasses import fields, replace
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.evaluation import (
    ENOUGH,
    MEASURES,
    Difference,
    Resamples,
    Segments,
    bleu,
    chrf,
    equal_count_bounds,
    half_length,
    holm,
    length_curve,
    resampling,
    retention,
)
from lookback.evaluation.resampling import resample, seed_weights, sums_of_halves


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


def test_two_levels_equal_a_plain_loop_over_trainings_and_shared_sentences():
    ours = [system(quality, LENGTHS, seed) for seed, quality in enumerate((0.8, 0.85, 0.75))]
    theirs = [system(0.7, LENGTHS, seed + 10) for seed in range(3)]
    pairs = [(0, 3), (1, 4), (2, 5)]
    resamples = Resamples([*ours, *theirs], resamples=80, seed=2)
    (found,) = resamples.differences([pairs])
    assert found.seeds == 3
    expected = []
    for times, drawn in zip(resample(np.eye(240, dtype=np.int64), 80, (2, 0)), seed_weights(3, 80, 2), strict=True):
        scores = [plain_bleu(times @ run.bleu_statistics) for run in [*ours, *theirs]]
        expected.append(drawn @ [scores[one] - scores[other] for one, other in pairs])
    assert found.whole["ci"] == pytest.approx(np.percentile(expected, [2.5, 97.5]), abs=1e-9)
    whole = [plain_bleu(run.bleu_statistics.sum(axis=0)) for run in [*ours, *theirs]]
    assert found.whole["difference"] == pytest.approx(fmean(whole[:3]) - fmean(whole[3:]), abs=1e-9)
    assert (found.whole["score"], found.whole["other"]) == pytest.approx((fmean(whole[:3]), fmean(whole[3:])))


def test_trainings_that_differ_widen_the_interval():
    alike = Resamples([system(0.8, LENGTHS, seed) for seed in range(3)]).arm([0, 1, 2])["ci"]
    apart = Resamples([system(0.7 + 0.1 * seed, LENGTHS, seed) for seed in range(3)]).arm([0, 1, 2])["ci"]
    assert apart[1] - apart[0] > 4 * (alike[1] - alike[0])


def test_a_difference_between_trainings_alone_is_not_called_significant():
    """Two pairs of runs say opposite things: over the sentences their mean is no chance, over trainings it may be."""
    ours, theirs = (
        [system(0.95, LENGTHS, 1), system(0.6, LENGTHS, 2)],
        [system(0.7, LENGTHS, 3), system(0.8, LENGTHS, 4)],
    )
    (found,) = Resamples([*ours, *theirs]).differences([[(0, 2), (1, 3)]])
    assert found.whole["p"] < 0.01
    assert found.whole["ci"][0] < 0 < found.whole["ci"][1]
    assert not found.whole["significant"]


def test_identical_systems():
    run = system(0.8, LENGTHS, 1)
    (found,) = Resamples([run, run]).differences([[(0, 1)]])
    assert Resamples([run]).differences([]) == []
    for bucket in [found.whole, *found.curve[:4]]:
        assert (bucket["difference"], bucket["ci"], bucket["p"], bucket["p_holm"]) == (0.0, [0.0, 0.0], 1.0, 1.0)
        assert not bucket["significant"]
    assert found.better_from() == []


def test_a_clearly_better_system():
    (found,) = Resamples([system(0.9, LENGTHS, 1), system(0.4, LENGTHS, 2)]).differences([[(0, 1)]])
    full = [bucket for bucket in found.curve if bucket["n"]]
    for bucket in [found.whole, *full]:
        assert bucket["p"] == 1 / 1001
        assert 0 < bucket["ci"][0] < bucket["difference"] < bucket["ci"][1]
        assert bucket["significant"]
    assert [bucket["p_holm"] for bucket in full] == pytest.approx([4 / 1001] * 4)
    assert found.whole["p_holm"] == 1 / 1001
    assert found.better_from() == full


def test_buckets_without_enough_sentences_are_tested_but_found_nothing():
    lengths = [5] * ENOUGH + [15] * (ENOUGH - 1)
    (found,) = Resamples([system(0.9, lengths, 1), system(0.4, lengths, 2)]).differences([[(0, 1)]])
    enough, few, none, *_ = found.curve
    assert enough["p_holm"] == enough["p"]  # a family of one
    assert (few["p"], few["p_holm"], few["significant"]) == (1 / 1001, None, False)
    assert none["n"] == 0
    assert {none[key] for key in ("score", "other", "difference", "ci", "p", "p_holm")} == {None}
    assert found.better_from() == [enough]


def curve_of(*verdicts: tuple[float, bool, int], measure: str = "bleu") -> Difference:
    curve = [{"lo": 10 * i + 1, "difference": d, "significant": s, "n": n} for i, (d, s, n) in enumerate(verdicts)]
    return Difference(measure, 1, {}, curve)


def test_better_from_is_the_shortest_bucket_from_which_on_all_are():
    yes, no, worse, few = (2.0, True, 99), (2.0, False, 99), (-2.0, True, 99), (9.0, False, 9)
    assert [bucket["lo"] for bucket in curve_of(yes, no, yes, yes, few).better_from()] == [21, 31]
    assert [bucket["lo"] for bucket in curve_of(worse, yes, few, yes).better_from()] == [11, 31]
    assert curve_of(yes, yes, worse).better_from() == []
    assert curve_of(few).better_from() == []
    assert [bucket["lo"] for bucket in curve_of(yes, worse, worse, measure="ter").better_from()] == [11, 21]
    assert curve_of(yes, worse, measure="length_ratio").better_from() == []  # neither direction is better


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
    resamples, drawn = Resamples(runs, resamples=20), []
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
