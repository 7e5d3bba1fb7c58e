"""Weights of known pairs, in words."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lookback.data import Batch, CharacterTokenization, Tokenizer, WordTokenization
from lookback.data.preparation.encoding import encode_arrays
from lookback.nn import AdditiveAttention, Seq2Seq
from lookback.search import force
from lookback.translation.word_weights import WordWeights
from support.toy import Architecture

TEXTS = {
    "source": ["the dog sees the man", "he sleeps", "", "a dog", "  the   man "],
    "target": ["le chien voit l' homme", "il dort", "chien", "", "l' homme"],
}
TOKENIZATIONS = {
    "words": WordTokenization(vocabulary_size=50, joint=False),
    "characters": CharacterTokenization(joint=False),
}


@cache
def parts(kind: str) -> tuple[Seq2Seq, Tokenizer, Tokenizer]:
    """A small translator and its tokenizers."""
    source, target = TOKENIZATIONS[kind].learn(lambda side: iter([pa.array(TEXTS[side])]))
    model = Architecture(AdditiveAttention).build(vocabulary=max(len(source), len(target)), sharpness=3.0)
    return model.eval(), source, target


def batch_of(rows: list[dict[str, str]], source: Tokenizer, target: Tokenizer) -> Batch:
    sides = (pa.array([row[side] for row in rows], pa.string()) for side in ("source", "target"))
    return encode_arrays(*sides, source, target, np.arange(len(rows)))[np.arange(len(rows))]


ROWS = [dict(zip(TEXTS, pair, strict=True)) for pair in zip(*TEXTS.values(), strict=True)]


@pytest.mark.parametrize("kind", TOKENIZATIONS)
@settings(max_examples=8)
@given(st.lists(st.sampled_from(ROWS), min_size=1, max_size=6))
def test_each_pair_has_its_words_and_end_marks_and_neighbours_change_nothing(
    kind: str, rows: list[dict[str, str]]
) -> None:
    model, source, target = parts(kind)
    look = WordWeights(model, source, target)
    together = look(batch_of(rows, source, target), rows)
    for row, weights in zip(rows, together, strict=True):
        words = [len(row[side].split()) for side in ("target", "source")]
        if all(row[side].strip() for side in row):
            assert weights.shape == (words[0] + 1, words[1] + 1)
        assert weights.dtype == np.float64
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-9)
        (alone,) = look(batch_of([row], source, target), [row])
        np.testing.assert_allclose(weights, alone, rtol=0, atol=1e-12)


def test_words_look_as_forced_decoding_says() -> None:
    model, source, target = parts("words")
    batch = batch_of(ROWS, source, target)
    found = WordWeights(model, source, target)(batch, ROWS)
    for weights, forced in zip(found, force(model, batch.source, batch.source_length, batch.target), strict=True):
        np.testing.assert_array_equal(weights, forced.alignment.double().numpy())


def test_pieces_look_for_their_words() -> None:
    """By hand: over a source word the sum, over a target word the mean; a space belongs to the word behind it."""
    model, source, target = parts("characters")
    row = {"source": "a dog", "target": "il dort"}
    batch = batch_of([row], source, target)
    (forced,) = force(model, batch.source, batch.source_length, batch.target)
    cells = forced.alignment.double().numpy()
    assert cells.shape == (9, 7)  # every word has a space before it
    columns = np.stack([cells[:, :2].sum(axis=1), cells[:, 2:6].sum(axis=1), cells[:, 6]], axis=1)
    expected = np.stack([columns[:3].mean(axis=0), columns[3:8].mean(axis=0), columns[8]])
    (found,) = WordWeights(model, source, target)(batch, [row])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_texts_of_another_batch_are_refused() -> None:
    model, source, target = parts("words")
    with pytest.raises(ValueError, match=r"len\(texts\)=1: expected 2"):
        WordWeights(model, source, target)(batch_of(ROWS[:2], source, target), ROWS[:1])


def test_nothing_of_it_is_learnt_from() -> None:
    model, source, target = parts("words")
    WordWeights(model, source, target)(batch_of(ROWS, source, target), ROWS)
    assert torch.is_grad_enabled()
    assert all(parameter.grad is None for parameter in model.parameters())
