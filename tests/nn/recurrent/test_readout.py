import math
from itertools import product

import pytest
import torch
from torch import Tensor

from lookback.nn import AttentionalReadout, LinearReadout, MaxoutReadout, Readout
from lookback.nn.recurrent.readout import READOUTS

QUERY, EMBEDDING, CONTEXT, SIZE = 3, 4, 5, 6


def example(kind: type[Readout], context_size: int = CONTEXT) -> tuple[Readout, Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    readout = kind(QUERY, EMBEDDING, context_size, SIZE).double()
    return readout, *(torch.randn(2, 3, size).double() for size in (QUERY, EMBEDDING, CONTEXT))


def total(readout: Readout, query: Tensor, embedded: Tensor | None, context: Tensor) -> list[float]:
    """b + U s + V y + C c at one position, number by number."""
    parts = [(readout.from_query.weight, query), (readout.from_context.weight, context)]
    if embedded is not None:
        parts.append((readout.from_embedding.weight, embedded))
    return [
        readout.from_query.bias[j].item()
        + sum(weight[j, k].item() * part[k].item() for weight, part in parts for k in range(len(part)))
        for j in range(len(readout.from_query.bias))
    ]


def test_maxout_is_the_larger_of_each_pair():
    readout, query, embedded, context = example(MaxoutReadout)
    vectors = readout(query, embedded, context)
    for b, n in product(range(2), range(3)):
        t = total(readout, query[b, n], embedded[b, n], context[b, n])
        assert len(t) == 2 * SIZE
        expected = [max(t[2 * j], t[2 * j + 1]) for j in range(SIZE)]
        torch.testing.assert_close(vectors[b, n].tolist(), expected, rtol=0, atol=1e-12)


def test_attentional_is_tanh_of_context_and_state_and_leaves_the_word_out():
    readout, query, embedded, context = example(AttentionalReadout)
    vectors = readout(query, embedded, context)
    for b, n in product(range(2), range(3)):
        expected = [math.tanh(t) for t in total(readout, query[b, n], None, context[b, n])]
        torch.testing.assert_close(vectors[b, n].tolist(), expected, rtol=0, atol=1e-12)
    assert torch.equal(readout(query, embedded + 1, context), vectors)


def test_linear_is_the_sum():
    readout, query, embedded, context = example(LinearReadout)
    vectors = readout(query, embedded, context)
    for b, n in product(range(2), range(3)):
        expected = total(readout, query[b, n], embedded[b, n], context[b, n])
        torch.testing.assert_close(vectors[b, n].tolist(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", READOUTS.values())
def test_without_a_context_size_the_context_is_not_read(kind: type[Readout]):
    readout, query, embedded, context = example(kind, context_size=0)
    assert torch.equal(readout(query, embedded, context), readout(query, embedded, context + 1))
    assert readout(query, embedded, context).shape == (2, 3, SIZE)
