"""The curve: sacrebleu's corpus BLEU inside each bucket of source lengths, and the two numbers that sum it up."""

import random
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

from lookback.evaluation import BOUNDS, count, equal_count_bounds, half_length, label, length_curve, midpoint, retention
from lookback.evaluation.length_curve import cut
from lookback.runs import Prediction

VOCABULARY = [f"w{index}" for index in range(50)]


def fabricate(lengths, error: float, seed: int = 0) -> list[Prediction]:
    """Predictions whose words are wrong with probability `error`; one in seven is truncated."""
    chance = random.Random(seed)
    predictions = []
    for index, length in enumerate(lengths):
        reference = chance.choices(VOCABULARY, k=length)
        hypothesis = [chance.choice(VOCABULARY) if chance.random() < error else word for word in reference]
        texts = " ".join(reference), " ".join(reference), " ".join(hypothesis[: length - index % 2])
        predictions.append(Prediction(index, *texts, -1.0, length, index % 7 == 0))
    return predictions


def test_every_bucket_equals_sacrebleu_on_its_sentences():
    predictions = fabricate([1 + index % 66 for index in range(300)], error=0.3)
    curve = length_curve(count(predictions, "none"), resamples=50)
    assert [label(bucket) for bucket in curve] == ["1-10", "11-20", "21-30", "31-40", "41-50", "51-60", ">60"]
    assert sum(bucket["n"] for bucket in curve) == 300
    for bucket in curve:
        inside = [p for p in predictions if bucket["lo"] <= p.source_length <= (bucket["hi"] or 10**9)]
        hypotheses, references = [p.hypothesis for p in inside], [p.reference for p in inside]
        expected = BLEU(tokenize="none", force=True).corpus_score(hypotheses, [references])
        assert bucket["n"] == len(inside)
        assert bucket["bleu"] == pytest.approx(expected.score, abs=1e-9)
        assert bucket["bleu_no_bp"] == pytest.approx(expected.score / expected.bp, abs=1e-9)
        assert bucket["chrf"] == pytest.approx(CHRF().corpus_score(hypotheses, [references]).score, abs=1e-9)
        assert bucket["ter"] == pytest.approx(TER().corpus_score(hypotheses, [references]).score, abs=1e-9)
        assert bucket["length_ratio"] == pytest.approx(expected.ratio)
        assert bucket["truncated"] == sum(p.truncated for p in inside)
        assert bucket["ci"][0] < bucket["bleu"] < bucket["ci"][1]


def test_the_interval_covers_the_truth_it_was_made_for():
    all_of_them = count(fabricate([25] * 2400, error=0.2, seed=1), "none")
    truth = length_curve(all_of_them, resamples=10)[2]["bleu"]
    covered = 0
    for test_set in np.arange(2400).reshape(40, 60):
        low, high = length_curve(all_of_them[test_set], resamples=200)[2]["ci"]
        covered += low <= truth <= high
    assert covered >= 33  # 38 expected of 40


def test_bounds_are_inclusive_and_empty_buckets_are_kept():
    segments = count(fabricate([10, 11, 60, 61, 200], error=0), "none")
    assert [bucket["n"] for bucket in length_curve(segments, resamples=1)] == [1, 1, 0, 0, 0, 1, 2]
    empty = length_curve(segments, resamples=1)[2]
    scores = (
        "bleu",
        "ci",
        "bleu_no_bp",
        "chrf",
        "ter",
        "length_ratio",
        "omitted",
        "repeated",
        "repeated_trigrams",
        "never_looked_at",
    )
    assert empty == {"lo": 21, "hi": 30, "n": 0, "truncated": 0} | dict.fromkeys(scores)
    assert [(b["lo"], b["hi"], b["n"]) for b in length_curve(segments, bounds=[60], resamples=1)] == [
        (1, 60, 3),
        (61, None, 2),
    ]


def test_perfect_short_sentences_empty_outputs_and_empty_sources():
    short = [Prediction(0, "a b c", "x y z", "x y z", -1.0, 3, False)]
    empty = [Prediction(1, " ".join("a" * 15), "x y z w", "", -1.0, 15, False)]
    wordless = [Prediction(2, "", "x", "x", -1.0, 0, False)]
    first, second, *rest = length_curve(count(short + empty + wordless, "none"), resamples=20)
    assert (first["n"], first["bleu"], first["ci"]) == (1, pytest.approx(100), pytest.approx([100, 100]))
    assert (second["n"], second["bleu"], second["ci"], second["length_ratio"]) == (1, 0.0, [0.0, 0.0], 0.0)
    assert sum(bucket["n"] for bucket in rest) == 0
    assert all(bucket["n"] == 0 for bucket in length_curve(count([], "none")))


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 5))
def test_equal_count_bounds_cut_as_evenly_as_lengths_allow(lengths, buckets):
    """Against every other way to cut."""
    source_length = np.array(lengths, dtype=np.int64)
    bounds = equal_count_bounds(source_length, buckets)
    assert bounds == equal_count_bounds(source_length[::-1], buckets)
    parts = cut(source_length, bounds, closed=True)
    counted = [length for length in lengths if length]
    different = sorted(set(counted))
    assert len(bounds) == len(parts) == min(buckets, len(different))
    for bucket, chosen in parts:
        assert sorted(source_length[chosen]) == sorted(n for n in counted if bucket["lo"] <= n <= bucket["hi"])
    if counted:
        assert (parts[0][0]["lo"], parts[-1][0]["hi"]) == (min(counted), max(counted))
        every = (
            [sum(left < n <= right for n in counted) for left, right in pairwise([0, *inner, different[-1]])]
            for inner in combinations(different[:-1], len(bounds) - 1)
        )
        assert sum(len(chosen) ** 2 for _, chosen in parts) == min(sum(n * n for n in counts) for counts in every)


def test_equal_counts_are_equal_where_no_length_repeats():
    parts = cut(lengths := np.arange(3, 33), equal_count_bounds(lengths), closed=True)
    assert [(bucket["lo"], bucket["hi"], len(chosen)) for bucket, chosen in parts] == [
        (3, 7, 5),
        (8, 12, 5),
        (13, 17, 5),
        (18, 22, 5),
        (23, 27, 5),
        (28, 32, 5),
    ]
    assert equal_count_bounds(np.array([], dtype=np.int64)) == ()
    assert cut(np.array([0]), (), closed=True) == []


@pytest.mark.parametrize("bounds", [[], [0, 10], [10, 10], [20, 10]])
def test_bounds_that_do_not_rise_are_refused(bounds):
    with pytest.raises(ValueError, match="bounds="):
        length_curve(count([], "none"), bounds=bounds)


def curve_of(*scores: tuple[float | None, int]):
    lows, highs = [1, *(bound + 1 for bound in BOUNDS)], [*BOUNDS, None]
    return [
        {"lo": lo, "hi": hi, "bleu": score, "n": n} for lo, hi, (score, n) in zip(lows, highs, scores, strict=False)
    ]


def test_labels():
    assert [label(bucket) for bucket in ({"lo": 1, "hi": 10}, {"lo": 11, "hi": 11}, {"lo": 61, "hi": None})] == [
        "1-10",
        "11",
        ">60",
    ]


def test_midpoints():
    assert [midpoint(bucket) for bucket in curve_of(*[(1, 1)] * 7)] == [5.5, 15.5, 25.5, 35.5, 45.5, 55.5, 65.5]


def test_retention_is_the_longest_full_bucket_over_the_best_full_bucket():
    assert retention(curve_of((60, 99), (80, 50), (20, 99), (5, 49))) == 0.25
    assert retention(curve_of((99, 49), (80, 50), (20, 99))) == 0.25
    assert retention(curve_of((80, 50))) is None
    assert retention(curve_of((0.0, 50), (0.0, 50))) is None
    assert retention([]) is None


def test_half_length_is_interpolated_between_midpoints():
    assert half_length(curve_of((80, 99), (60, 99), (20, 99))) == pytest.approx(20.5)
    assert half_length(curve_of((20, 99), (80, 99), (40, 99))) == pytest.approx(25.5)  # reached exactly; rise ignored
    assert half_length(curve_of((80, 99), (None, 0), (0, 99))) == pytest.approx(15.5)  # across an empty bucket
    assert half_length(curve_of((80, 99), (60, 99), (20, 49))) is None  # too few sentences to say so
    assert half_length(curve_of((80, 99), (41, 99))) is None
    assert half_length(curve_of((0.0, 99), (0.0, 99))) is None
    assert half_length([]) is None
