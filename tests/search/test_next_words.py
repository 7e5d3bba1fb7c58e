import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lookback.common.special_tokens import BOS, PAD
from lookback.search.next_words import GROUPS, Columns, NextWords

SIZES = (4, 11, GROUPS - 1, GROUPS, GROUPS + 1, 5 * GROUPS + 3)


def example(
    vocabulary: int, n: int = 3, scale: float = 1.0, seed: int = 0, dtype: torch.dtype = torch.float64
) -> tuple[NextWords, Tensor]:
    """Next words of two sentences, and the log-probabilities that they stand for, by PyTorch."""
    generator = torch.Generator().manual_seed(seed)
    weight, bias, vectors = (
        torch.randn(shape, generator=generator, dtype=torch.float64).mul(scale).to(dtype)
        for shape in ((vocabulary, 6), (vocabulary,), (2, n, 6))
    )
    columns = Columns(vocabulary)
    ones = torch.cat([vectors, vectors.new_ones(2, n, 1)], dim=-1)
    next_words = NextWords(ones @ columns.projection(weight, bias), columns)
    expected = torch.log_softmax((vectors @ weight.t() + bias).to(next_words.logits().dtype), dim=-1)
    return next_words, expected


def sayable(log_probabilities: Tensor) -> Tensor:
    result = log_probabilities.clone()
    result[..., [PAD, BOS]] = -math.inf
    return result


@given(st.sampled_from(SIZES), st.integers(1, 4), st.integers(1, 12), st.floats(0.1, 30), st.integers(0, 99))
def test_the_best_extensions_are_those_of_a_sort_of_all(vocabulary, n, count, scale, seed):
    next_words, expected = example(vocabulary, n, scale, seed)
    totals = torch.randn(2, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    best, origin, words = next_words.best(totals, count)
    every = (totals.unsqueeze(-1) + sayable(expected)).flatten(1).sort(dim=1, descending=True)
    there = min(count, n * (vocabulary - 2))
    torch.testing.assert_close(best[:, :there], every.values[:, :there], rtol=1e-12, atol=1e-12)
    assert torch.equal((origin * vocabulary + words)[:, :there], every.indices[:, :there])
    assert (best[:, there:] == -math.inf).all()
    assert best.shape == origin.shape == words.shape == (2, count)
    assert words.max() < vocabulary


def test_what_extends_no_hypothesis_is_worth_nothing():
    next_words, _ = example(11, n=2)
    best, origin, _ = next_words.best(torch.tensor([[-math.inf, 0.0], [0.0, -math.inf]], dtype=torch.float64), 12)
    assert (origin[0, :9] == 1).all()
    assert (origin[1, :9] == 0).all()
    assert best[:, :9].isfinite().all()
    assert (best[:, 9:] == -math.inf).all()


@pytest.mark.parametrize("vocabulary", SIZES)
def test_the_likeliest_word_and_the_log_probability_of_any(vocabulary: int):
    next_words, expected = example(vocabulary)
    assert torch.equal(next_words.likeliest(), sayable(expected).argmax(-1))
    for word in set(range(vocabulary)) - {PAD, BOS}:
        found = next_words.log_probabilities(torch.full((2, 3), word))
        torch.testing.assert_close(found, expected[..., word], rtol=1e-12, atol=1e-12)


def test_padding_and_the_start_mark_are_never_drawn_and_the_rest_is_the_models():
    next_words, expected = example(GROUPS + 1)
    probabilities = torch.softmax(next_words.logits(), dim=-1)
    assert (probabilities[..., [PAD, BOS]] == 0).all()
    torch.testing.assert_close(probabilities, torch.softmax(sayable(expected), dim=-1), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("mark", [PAD, BOS])
def test_a_mark_that_is_likelier_than_all_words_costs_them_no_digits(mark: int):
    weight, bias = torch.zeros(11, 6), torch.arange(11.0)
    bias[mark] = 500
    columns = Columns(11)
    vector = torch.cat([torch.zeros(1, 1, 6), torch.ones(1, 1, 1)], dim=-1)
    best, _, words = NextWords(vector @ columns.projection(weight, bias), columns).best(torch.zeros(1, 1), 2)
    assert words.tolist() == [[10, 9]]
    assert best.tolist() == [[-490, -491]]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_logits_give_float32_scores(dtype: torch.dtype):
    next_words, expected = example(GROUPS + 1, dtype=dtype)
    totals = torch.zeros(2, 3)
    best, _, words = next_words.best(totals, 4)
    assert best.dtype == expected.dtype == torch.float32
    assert not set(words.flatten().tolist()) & {PAD, BOS}
    torch.testing.assert_close(best, sayable(expected).flatten(1).topk(4).values, rtol=0.05, atol=0.05)


def test_float32_log_probabilities_have_all_their_digits():
    """Of a word that is nearly certain, where a logit minus a logarithm of a sum would have none left."""
    weight, bias = torch.zeros(300, 6), torch.zeros(300)
    bias[7] = 60.0
    bias[8] = 50.0
    columns = Columns(300)
    vector = torch.cat([torch.zeros(1, 1, 6), torch.ones(1, 1, 1)], dim=-1)
    best, _, words = NextWords(vector @ columns.projection(weight, bias), columns).best(torch.zeros(1, 1), 2)
    assert words.tolist() == [[7, 8]]
    assert best[0, 0].item() == pytest.approx(-math.log1p(math.exp(-10)), rel=1e-3)
