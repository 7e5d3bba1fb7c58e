"""Agreement by distance, against cases judged by hand and a plain count."""

import random

import numpy as np
import pytest

from lookback.evaluation import agreement
from lookback.evaluation.scores.agreement import DISTANCES, MISSING, RIGHT, WRONG, judged
from lookback.runs import Prediction

REFERENCE = "la reine que voit le roi est vieille ."
OLD = {"target": 7, "distance": 6, "others": ["vieilles", "vieux"]}
IS = {"target": 6, "distance": 5, "others": ["sont", "suis"]}
SEES = {"target": 3, "distance": 0, "others": ["voient", "vois"]}


def prediction(hypothesis: str, reference: str = REFERENCE) -> Prediction:
    return Prediction(0, "x", reference, hypothesis, -1.0, 9, False)


@pytest.mark.parametrize(
    ("hypothesis", "verdict"),
    [
        (REFERENCE, RIGHT),
        ("le roi est vieille .", RIGHT),  # wherever it stands
        ("la reine que voit le roi est vieux .", WRONG),  # the form of the noun near by
        ("la reine est vieille et le roi vieux .", RIGHT),
        ("la reine que voit le roi est ancienne .", MISSING),  # a synonym
        ("", MISSING),
    ],
)
def test_a_form_is_right_wrong_or_missing(hypothesis: str, verdict: int) -> None:
    assert judged(REFERENCE.split(), hypothesis.split(), OLD) == verdict


def test_what_the_words_alone_cannot_tell_is_not_judged() -> None:
    twice = ["la", "reine", "est", "vieille", "et", "la", "vache", "est", "vieille", "."]
    assert judged(twice, twice, OLD | {"target": 3}) is None
    both = ["la", "reine", "est", "vieille", "et", "le", "roi", "est", "vieux", "."]
    assert judged(both, both, OLD | {"target": 3}) is None


def test_by_hand() -> None:
    predictions = [
        prediction(REFERENCE),
        prediction("la reine que voit le roi est vieux ."),
        prediction("le roi voient"),
    ]
    words = [[SEES, IS, OLD]] * 3
    near, close, far, *rest = agreement(predictions, words)
    assert (near["lo"], near["hi"], near["n"], near["accuracy"], near["missing"]) == (
        0,
        0,
        3,
        pytest.approx(2 / 3),
        0.0,
    )
    assert close == {"lo": 1, "hi": 3, "n": 0, "accuracy": None, "ci": None, "missing": None}
    # est is right twice and once missing, vieille is right, wrong and missing
    assert (far["n"], far["accuracy"], far["missing"]) == (4, 0.75, pytest.approx(2 / 6))
    assert 0 <= near["ci"][0] <= near["accuracy"] <= near["ci"][1] == 1
    assert [bucket["n"] for bucket in rest] == [0, 0]


def test_against_a_plain_count_and_a_plain_bootstrap() -> None:
    chance = random.Random(1)
    predictions, words = [], []
    for _ in range(300):
        forms = [(f"a{i}", f"b{i}") for i in range(chance.randint(1, 6))]
        said = [chance.choices([right, wrong, "x"], [0.6, 0.3, 0.1])[0] for right, wrong in forms]
        predictions.append(prediction(" ".join(said), " ".join(right for right, _ in forms)))
        words.append([{"target": i, "distance": i, "others": [wrong]} for i, (_, wrong) in enumerate(forms)])
    found = agreement(predictions, words, distances=((0, 2), (3, None)))
    for bucket, places in zip(found, (range(3), range(3, 6)), strict=True):
        right, wrong, _ = (
            np.array([sum(f"{letter}{i}" in p.hypothesis.split() for i in places) for p in predictions])
            for letter in "abx"
        )
        total = sum(1 for group in words for word in group if word["target"] in places)
        n = right.sum() + wrong.sum()
        assert bucket["n"] == n
        assert bucket["accuracy"] == pytest.approx(right.sum() / n)
        assert bucket["missing"] == pytest.approx(1 - n / total)
        drawn = np.random.default_rng(0).integers(300, size=(4000, 300))
        expected = np.percentile(right[drawn].sum(1) / (right + wrong)[drawn].sum(1), [2.5, 97.5])
        assert bucket["ci"] == pytest.approx(expected, abs=0.01)


def test_the_buckets_leave_no_distance_out() -> None:
    for distance in range(100):
        found = agreement([prediction(REFERENCE)], [[OLD | {"distance": distance}]], resamples=2)
        assert sum(bucket["n"] for bucket in found) == 1
    assert DISTANCES[-1][1] is None


def test_a_sentence_without_such_words_and_an_empty_test_set() -> None:
    assert [bucket["n"] for bucket in agreement([prediction(REFERENCE)], [[]])] == [0] * len(DISTANCES)
    assert [bucket["ci"] for bucket in agreement([], [])] == [None] * len(DISTANCES)


def test_refused() -> None:
    with pytest.raises(ValueError, match="words of 0 sentences: expected 1"):
        agreement([prediction(REFERENCE)], [])
    with pytest.raises(ValueError, match="target=9: expected a word of the reference, 0 to 8"):
        agreement([prediction(REFERENCE)], [[OLD | {"target": 9}]])
