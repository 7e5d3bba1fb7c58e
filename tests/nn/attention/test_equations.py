"""Every attention against a few plain lines in float64, one look after the other."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from lookback.nn import (
    Attention,
    CoverageAttention,
    LocalMonotonicAttention,
    LocalPredictiveAttention,
    LocationAttention,
    LocationSensitiveAttention,
    Look,
    Memory,
    MultiHeadAttention,
    NormedAdditiveAttention,
    ScaledDotAttention,
    length_mask,
)
from support.plain import Array, array, sigmoid, softmax

QUERY, MEMORY, STEPS = 5, 6, 4
LENGTHS = [7, 1, 4]


def looks(attention: Attention, query: Tensor, memory: Memory) -> list[Look]:
    """A look a step, each with what the one before left."""
    reader = attention.over(memory)
    state, found = reader.start(), []
    for step in range(query.shape[1]):
        found.append(reader.read(query[:, step : step + 1], state))
        state = found[-1].state
    return found


def check(attention: Attention, weights_of: Callable[[Array, Array], list[Array]], query_size: int = QUERY) -> None:
    """``weights_of``: the weights of all steps, from the queries and the real states of one sentence."""
    torch.manual_seed(5)
    attention = attention.double()
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    states, query = torch.randn(3, 9, MEMORY).double(), torch.randn(3, STEPS, query_size).double()
    memory = Memory(states, length_mask(torch.tensor(LENGTHS), 9), torch.randn(3, 2, 3).double())
    found = looks(attention, query, memory)
    for b, length in enumerate(LENGTHS):
        real = array(states[b, :length])
        expected = weights_of(array(query[b]), real)
        assert len(expected) == STEPS
        for look, weights in zip(found, expected, strict=True):
            padded = np.concatenate([weights, np.zeros(9 - length)])
            np.testing.assert_allclose(array(look.weights[b, 0]), padded, rtol=0, atol=1e-12)
            np.testing.assert_allclose(array(look.context[b, 0]), weights @ real, rtol=0, atol=1e-12)
    if not attention.remembers:
        at_once = attention.over(memory).read_all(query)
        for step, look in enumerate(found):
            torch.testing.assert_close(at_once.weights[:, step], look.weights[:, 0], rtol=0, atol=1e-12)
            torch.testing.assert_close(at_once.context[:, step], look.context[:, 0], rtol=0, atol=1e-12)


def test_scaled_dot():
    check(
        ScaledDotAttention(MEMORY, MEMORY),
        lambda queries, states: [softmax([q @ h / math.sqrt(MEMORY) for h in states]) for q in queries],
        query_size=MEMORY,
    )


def test_normed_additive():
    attention = NormedAdditiveAttention(QUERY, MEMORY, 4)

    def weights(queries: Array, states: Array) -> list[Array]:
        v, g, b = array(attention.energy.weight[0]), float(attention.gain), array(attention.offset)
        w, u = array(attention.from_query.weight), array(attention.from_memory.weight)
        unit = v / math.sqrt(sum(x * x for x in v))
        return [softmax([g * (unit @ np.tanh(w @ q + u @ h + b)) for h in states]) for q in queries]

    check(attention, weights)


@pytest.mark.parametrize("positions", [3, 20])
def test_location(positions: int):
    """A shorter source uses the first rows; what stands behind the last row is never looked at."""
    attention = LocationAttention(QUERY, MEMORY, positions)

    def weights(queries: Array, states: Array) -> list[Array]:
        rows = array(attention.from_query.weight)
        seen = min(len(states), positions)
        return [np.concatenate([softmax((rows @ q)[:seen]), np.zeros(len(states) - seen)]) for q in queries]

    check(attention, weights)


def general(attention: LocalMonotonicAttention | LocalPredictiveAttention, q: Array, states: Array) -> list[float]:
    return [q @ array(attention.from_memory.weight) @ h for h in states]


def in_window(energies: list[float], centre: float, half_width: int) -> Array:
    """Softmax over |j − p| ≤ D, p to the nearest position."""
    weights, places = np.zeros(len(energies)), []
    for place in range(len(energies)):
        if abs(place - round(centre)) <= half_width:
            places.append(place)
    if places:
        weights[places] = softmax([energies[place] for place in places])
    return weights


@pytest.mark.parametrize("half_width", [1, 2, 20])
def test_local_m(half_width: int):
    attention = LocalMonotonicAttention(QUERY, MEMORY, half_width)
    check(
        attention,
        lambda queries, states: [
            in_window(general(attention, q, states), min(t, len(states) - 1), half_width) for t, q in enumerate(queries)
        ],
    )


@pytest.mark.parametrize("half_width", [1, 2, 20])
def test_local_p(half_width: int):
    attention = LocalPredictiveAttention(QUERY, MEMORY, 4, half_width)

    def weights(queries: Array, states: Array) -> list[Array]:
        v, w = array(attention.position.weight[0]), array(attention.position_hidden.weight)
        found = []
        for q in queries:
            centre = len(states) * float(sigmoid(v @ np.tanh(w @ q)))
            bell = [math.exp(-((place - centre) ** 2) / (2 * (half_width / 2) ** 2)) for place in range(len(states))]
            found.append(in_window(general(attention, q, states), centre, half_width) * bell)
        return found

    check(attention, weights)


def test_coverage():
    attention = CoverageAttention(QUERY, MEMORY, 4)

    def weights(queries: Array, states: Array) -> list[Array]:
        v, w, u = (
            array(attention.energy.weight[0]),
            array(attention.from_query.weight),
            array(attention.from_memory.weight),
        )
        from_coverage = array(attention.from_features.weight[:, 0])
        coverage, found = np.zeros(len(states)), []
        for q in queries:
            sums = [w @ q + u @ h + from_coverage * c for h, c in zip(states, coverage, strict=True)]
            found.append(softmax([v @ np.tanh(total) for total in sums]))
            coverage = coverage + found[-1]
        return found

    check(attention, weights)


@pytest.mark.parametrize("past", ["last", "sum"])
def test_location_sensitive(past: str):
    attention = LocationSensitiveAttention(QUERY, MEMORY, 4, past, filters=2, width=3)

    def weights(queries: Array, states: Array) -> list[Array]:
        v, w, u = (
            array(attention.energy.weight[0]),
            array(attention.from_query.weight),
            array(attention.from_memory.weight),
        )
        filters, from_features = array(attention.filters.weight[:, 0]), array(attention.from_features.weight)
        before, found = np.zeros(len(states)), []
        for q in queries:
            padded = np.concatenate([[0.0], before, [0.0]])
            energies = []
            for j, h in enumerate(states):
                features = filters @ padded[j : j + 3]  # position j − 1, j and j + 1
                energies.append(v @ np.tanh(w @ q + u @ h + from_features @ features))
            found.append(softmax(energies))
            before = found[-1] if past == "last" else before + found[-1]
        return found

    check(attention, weights)


def test_multihead():
    torch.manual_seed(6)
    attention = MultiHeadAttention(QUERY, MEMORY, attention_size=4, heads=2).double()
    states, query = torch.randn(3, 9, MEMORY).double(), torch.randn(3, STEPS, QUERY).double()
    memory = Memory(states, length_mask(torch.tensor(LENGTHS), 9), torch.randn(3, 2, 3).double())
    reader = attention.over(memory)
    look = reader.read_all(query)
    w_q, (w_k, w_v) = array(attention.from_query.weight), np.split(array(attention.from_memory.weight), 2)
    w_o = array(attention.output.weight)
    for b, length in enumerate(LENGTHS):
        real = array(states[b, :length])
        for t in range(STEPS):
            heads, alphas = [], []
            for rows in (slice(0, 2), slice(2, 4)):
                asked = w_q[rows] @ array(query[b, t])
                alphas.append(softmax([asked @ (w_k[rows] @ h) / math.sqrt(2) for h in real]))
                heads.append(sum(a * (w_v[rows] @ h) for a, h in zip(alphas[-1], real, strict=True)))
            np.testing.assert_allclose(array(look.context[b, t]), w_o @ np.concatenate(heads), rtol=0, atol=1e-12)
            assert look.heads is not None
            np.testing.assert_allclose(array(look.heads[b, t, :, :length]), alphas, rtol=0, atol=1e-12)
            np.testing.assert_allclose(array(look.weights[b, t, :length]), np.mean(alphas, 0), rtol=0, atol=1e-12)
    unweighted = attention.context(query, reader.keys, memory)
    torch.testing.assert_close(unweighted, look.context, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [LocalMonotonicAttention, LocalPredictiveAttention])
def test_a_local_attention_gives_the_same_from_its_window_as_from_the_whole_source(kind: type[Attention]):
    """Also its gradients. A look of one step reads the window alone; of many steps at once, the whole source."""
    sizes = {"attention_size": 4} if kind is LocalPredictiveAttention else {}
    attention = kind(QUERY, MEMORY, half_width=2, **sizes).double()
    memory = Memory(torch.randn(2, 30, MEMORY).double(), length_mask(torch.tensor([30, 9]), 30), torch.zeros(2, 2, 3))
    query = torch.randn(2, 12, QUERY).double()
    found = []
    for read in (lambda: [attention.over(memory).read_all(query)], lambda: looks(attention, query, memory)):
        attention.zero_grad()
        parts = read()
        context, weights = (torch.cat([getattr(look, name) for look in parts], 1) for name in ("context", "weights"))
        (context.sin().sum() + weights.square().sum()).backward()
        found.append([context, weights, *(parameter.grad for parameter in attention.parameters())])
    assert (found[0][1] > 0).sum(-1).max() <= 5
    for at_once, one_by_one in zip(*found, strict=True):
        torch.testing.assert_close(at_once, one_by_one, rtol=0, atol=1e-12)


def test_local_m_keeps_its_place_where_half_precision_has_no_such_number():
    """bfloat16 has no 257: the window of step 257 stands around it all the same."""
    attention = LocalMonotonicAttention(QUERY, MEMORY, half_width=2).bfloat16()
    memory = Memory(torch.randn(1, 300, MEMORY).bfloat16(), length_mask(torch.tensor([300]), 300), torch.zeros(1, 2, 3))
    weights = attention.over(memory).read_all(torch.randn(1, 290, QUERY).bfloat16()).weights[0]
    assert weights[257].nonzero().flatten().tolist() == [255, 256, 257, 258, 259]
