"""Runs on one test set: every measure, whole and in buckets, from the same resampled sentences."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.evaluation import (
    MEASURES,
    Resamples,
    bleu,
    chrf,
    equal_count_bounds,
    half_length,
    length_curve,
    resample,
    retention,
)
from lookback.evaluation.statistics import resampling
from lookback.evaluation.statistics.resampling import sums_of_halves
from lookback.runs import Segments
from support.made_counts import LENGTHS, shortened, system, systems


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
    if measure in ("repeated_trigrams", "never_looked_at"):
        pairs = run.trigram_statistics if measure == "repeated_trigrams" else run.reading_statistics
        return 100 * sum(pairs[row][0] for row in rows) / sum(pairs[row][1] for row in rows)
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
        match=r"measure='blue': expected one of bleu, bleu_no_bp, chrf, ter, length_ratio, omitted, repeated, rep",
    ):
        Resamples([system(0.8, [5], 1)]).arm([0], "blue")


def test_runs_of_other_test_sets_are_refused():
    run, other = system(0.8, [5, 6], 1), system(0.8, [5, 7], 1)
    with pytest.raises(ValueError, match=r"runs\[1\]: other sentences"):
        Resamples([run, other])


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
