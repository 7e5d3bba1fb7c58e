"""The faster TER is sacrebleu's TER, also where sentences are long, bad, and leave sacrebleu's band of the table."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import TER

from lookback.evaluation import ter, ter_statistics
from lookback.evaluation.scores.ter import _EditDistance

words = st.lists(st.sampled_from(list("abcdefg")), max_size=14)


def corpus_ter(hypotheses, references):
    return float(ter(ter_statistics(hypotheses, references).sum(axis=0)))


def sacrebleu_ter(hypotheses, references):
    return pytest.approx(TER().corpus_score(hypotheses, [references]).score, abs=1e-9)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=4))
def test_equals_sacrebleu_on_any_words(pairs):
    hypotheses, references = [" ".join(pair[0]) for pair in pairs], [" ".join(pair[1]) for pair in pairs]
    assert corpus_ter(hypotheses, references) == sacrebleu_ter(hypotheses, references)


anything = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=30)


@given(st.lists(st.tuples(anything, anything), min_size=1, max_size=6))
def test_equals_sacrebleu_on_any_unicode(pairs):
    hypotheses, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert corpus_ter(hypotheses, references) == sacrebleu_ter(hypotheses, references)


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(26, 55), st.integers(26, 55))
def test_equals_sacrebleu_on_long_bad_translations(randomness: random.Random, expected: int, written: int):
    vocabulary = [f"w{index}" for index in range(60)]
    reference = " ".join(randomness.choices(vocabulary, k=expected))
    hypothesis = " ".join(randomness.choices(vocabulary, k=written))
    assert corpus_ter([hypothesis], [reference]) == sacrebleu_ter([hypothesis], [reference])


def test_candidates_of_long_bad_translations_are_not_traced(monkeypatch: pytest.MonkeyPatch):
    """What makes sacrebleu slow: a table of edits for each of up to 1,000 candidates. Most of them need none."""
    counts = {"_table": 0, "_distance": 0}
    for name in counts:
        count(monkeypatch, name, counts)
    reference = " ".join(f"w{index % 23}" for index in range(60))
    hypothesis = " ".join(f"w{index * 7 % 29}" for index in range(60))
    ter_statistics([hypothesis], [reference])
    assert counts["_distance"] >= 1000
    assert counts["_table"] < 150


def count(monkeypatch: pytest.MonkeyPatch, name: str, counts: dict[str, int]) -> None:
    method = getattr(_EditDistance, name)

    def counted(distance: _EditDistance, hypothesis: list[str]):
        counts[name] += 1
        return method(distance, hypothesis)

    monkeypatch.setattr(_EditDistance, name, counted)


@pytest.mark.parametrize(("block", "tail"), [(27, 3), (30, 30), (26, 12)])
def test_equals_sacrebleu_where_the_cheapest_path_leaves_its_band(block: int, tail: int):
    moved, stays = [f"m{index}" for index in range(block)], [f"s{index}" for index in range(tail)]
    hypothesis, reference = " ".join(moved + stays), " ".join(stays + moved)
    assert corpus_ter([hypothesis], [reference]) == sacrebleu_ter([hypothesis], [reference])


def test_empty_sides():
    assert ter_statistics([], []).shape == (0, 2)
    assert corpus_ter(["", ""], ["", ""]) == 0.0
    assert corpus_ter(["a b"], [""]) == 100.0
    assert corpus_ter([""], ["a b"]) == 100.0


def test_columns_and_leading_axes():
    rows = ter_statistics(["A b d c", "x", ""], ["a b c d e", "", ""])
    assert rows.tolist() == [[2, 5], [1, 0], [0, 0]]  # a shift and an insertion; case is no difference
    assert ter(rows[:, None]).tolist() == [[40.0], [100.0], [0.0]]
    assert np.isscalar(ter(rows.sum(axis=0)))


def test_unequal_numbers_of_sentences_are_refused():
    with pytest.raises(ValueError, match="1 hypotheses for 0 references"):
        ter_statistics(["a"], [])
