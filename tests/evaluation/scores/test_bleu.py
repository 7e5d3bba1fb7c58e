"""BLEU by arithmetic equals sacrebleu's, wherever sacrebleu's is defined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from lookback.common.errors import InputError
from lookback.evaluation import bleu, sentence_statistics, signature, signature_tokenizer

words = st.sampled_from(["the", "house", "see", "not", "le", ".", "l'", "un-", "3,5"])
text = st.lists(words, max_size=9).map(" ".join)
pairs = st.lists(st.tuples(text, text), min_size=1, max_size=12)
anything = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=30)


def sacrebleu_score(hypotheses, references, tokenize="none", effective_order=False):
    metric = BLEU(tokenize=tokenize, effective_order=effective_order, force=True)
    return metric.corpus_score(list(hypotheses), [list(references)]).score


@given(pairs, st.booleans())
def test_corpus_bleu_equals_sacrebleu_for_any_words(pairs, effective_order):
    hypotheses, references = zip(*pairs, strict=True)
    total = sentence_statistics(hypotheses, references, "none").sum(axis=0)
    expected = sacrebleu_score(hypotheses, references, effective_order=effective_order)
    assert bleu(total, effective_order=effective_order) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(anything, anything), min_size=1, max_size=6))
def test_corpus_bleu_equals_sacrebleu_for_any_unicode_and_its_own_tokenizer(pairs):
    hypotheses, references = zip(*pairs, strict=True)
    total = sentence_statistics(hypotheses, references, "13a").sum(axis=0)
    assert bleu(total) == pytest.approx(sacrebleu_score(hypotheses, references, "13a"), abs=1e-9)


def test_columns_of_the_statistics():
    rows = sentence_statistics(["a b a c d"], ["a b c d e f"], "none")
    assert rows.tolist() == [[4, 2, 0, 0, 5, 4, 3, 2, 5, 6]]  # the second "a" is clipped: the reference has one


def test_without_brevity_penalty_a_short_but_right_output_is_perfect():
    total = sentence_statistics(["a b c d e"], ["a b c d e f g h i j"], "none").sum(axis=0)
    assert bleu(total, brevity_penalty=False) == pytest.approx(100)
    assert bleu(total) == pytest.approx(100 * np.exp(1 - 10 / 5))


def test_perfect_sentences_of_three_words_are_worth_100_under_effective_order_and_0_without():
    total = sentence_statistics(["a b c", "d e"], ["a b c", "d e"], "none").sum(axis=0)
    assert bleu(total, effective_order=True) == pytest.approx(100)
    assert bleu(total) == 0.0


def test_empty_output_is_worth_nothing_and_never_nan():
    total = sentence_statistics(["", ""], ["a b c d", ""], "none").sum(axis=0)
    for effective_order in (True, False):
        assert bleu(total, effective_order=effective_order) == 0.0
        assert bleu(total, effective_order=effective_order, brevity_penalty=False) == 0.0


def test_scores_over_leading_axes_are_the_scores_one_by_one():
    rows = sentence_statistics(["a b c d e", "a x c", ""], ["a b c d f", "a b c", "q"], "none").reshape(3, 1, 10)
    together = bleu(rows, effective_order=True)
    assert together.shape == (3, 1)
    assert together[:, 0].tolist() == [float(bleu(row[0], effective_order=True)) for row in rows]


def test_signature_is_sacrebleus():
    assert signature("13a").startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert "eff:yes|tok:none" in signature("none", effective_order=True)


@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char"])
def test_the_tokenizer_is_read_from_the_signature(tokenize):
    assert signature_tokenizer(signature(tokenize)) == tokenize


@pytest.mark.parametrize("broken", ["", "nrefs:1|case:mixed", "nrefs:1|tok:13b|smooth:exp"])
def test_a_signature_without_a_known_tokenizer_is_refused(broken):
    with pytest.raises(InputError, match="expected sacrebleu's, with tok:"):
        signature_tokenizer(broken)


def test_unequal_numbers_of_sentences_and_unknown_tokenizers_are_refused():
    with pytest.raises(ValueError, match="2 hypotheses for 1 references"):
        sentence_statistics(["a", "b"], ["a"], "none")
    with pytest.raises(ValueError, match="tokenize='13b' is not one of"):
        sentence_statistics(["a"], ["a"], "13b")
