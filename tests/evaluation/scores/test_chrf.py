"""chrF2 by arithmetic equals sacrebleu's, for any text and any set of sentences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF

from lookback.evaluation import chrf, chrf_statistics

words = st.sampled_from(["the", "house", "see", "le", ".", "l'", "hausarzt", "haus"])
text = st.lists(words, max_size=6).map(" ".join)
anything = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=30)
pairs = st.lists(st.tuples(text, text) | st.tuples(anything, anything), min_size=1, max_size=8)


def sacrebleu_chrf(hypotheses, references):
    return pytest.approx(CHRF().corpus_score(list(hypotheses), [list(references)]).score, abs=1e-9)


@given(pairs)
def test_corpus_chrf_equals_sacrebleu(pairs):
    hypotheses, references = zip(*pairs, strict=True)
    rows = chrf_statistics(hypotheses, references)
    assert chrf(rows.sum(axis=0)) == sacrebleu_chrf(hypotheses, references)
    together = chrf(rows.reshape(len(pairs), 1, 18))
    assert together.shape == (len(pairs), 1)
    for score, hypothesis, reference in zip(together[:, 0], hypotheses, references, strict=True):
        assert score == sacrebleu_chrf([hypothesis], [reference])


def test_columns_of_the_statistics():
    (row,) = chrf_statistics(["ab c"], ["abcab"])
    assert row.tolist() == [3, 5, 3, 2, 4, 2, 1, 3, 1, 0, 2, 0, 0, 1, 0, 0, 0, 0]


def test_what_is_empty_is_worth_nothing_and_never_nan():
    assert chrf_statistics([], []).shape == (0, 18)
    for hypothesis, reference in (("", "a b"), ("a b", ""), ("", "")):
        assert chrf(chrf_statistics([hypothesis], [reference])[0]) == 0.0
    assert np.isscalar(chrf(np.zeros(18)))


def test_unequal_numbers_of_sentences_are_refused():
    with pytest.raises(ValueError, match="1 hypotheses for 2 references"):
        chrf_statistics(["a"], ["a", "b"])
