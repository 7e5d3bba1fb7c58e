import math
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float, jaxtyped
from torch import Tensor

from lookback.nn import (
    AdditiveAttention,
    Attention,
    DotAttention,
    FixedContext,
    GeneralAttention,
    Memory,
    length_mask,
    masked_softmax,
)
from lookback.nn.attention import AttentionState, Look
from support.checking import check
from support.toy import ATTENTIONS, build_attention

MEMORY, QUERY, DIRECTIONS = 6, 6, 2


def example(lengths: list[int], n: int = 3, size: int | None = None) -> tuple[Memory, Tensor]:
    """A memory of sentences of these lengths with numbers, not zeros, in its padding; and n queries a sentence."""
    generator = torch.Generator().manual_seed(2)
    size = max(lengths) if size is None else size
    states = torch.randn(len(lengths), size, MEMORY, generator=generator, dtype=torch.float64)
    final = torch.randn(len(lengths), DIRECTIONS, MEMORY // DIRECTIONS, generator=generator, dtype=torch.float64)
    query = torch.randn(len(lengths), n, QUERY, generator=generator, dtype=torch.float64)
    return Memory(states, length_mask(torch.tensor(lengths), size), final), query


def build(kind: type[Attention]) -> Attention:
    torch.manual_seed(3)
    attention = build_attention(kind, QUERY, MEMORY).double()
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    return attention


def looked(attention: Attention, memory: Memory, query: Tensor) -> tuple[Tensor, Tensor]:
    """Context and weights of a first look, of each query as a hypothesis."""
    reader = attention.over(memory)
    state = tuple(part.repeat_interleave(query.shape[1], dim=1) for part in reader.start())
    look = reader.read(query, state)
    return look.context, look.weights


def additive_energy(attention: AdditiveAttention, s: list[float], h: list[float]) -> float:
    """vᵀ tanh(W s + U h)."""
    energy = 0.0
    for v, w_row, u_row in zip(
        attention.energy.weight[0].tolist(),
        attention.from_query.weight.tolist(),
        attention.from_memory.weight.tolist(),
        strict=True,
    ):
        energy += v * math.tanh(
            sum(w * x for w, x in zip(w_row, s, strict=True)) + sum(u * x for u, x in zip(u_row, h, strict=True))
        )
    return energy


def general_energy(attention: GeneralAttention, s: list[float], h: list[float]) -> float:
    """sᵀ W h."""
    rows = attention.from_memory.weight.tolist()
    return sum(s[i] * rows[i][j] * h[j] for i in range(len(s)) for j in range(len(h)))


def dot_energy(attention: DotAttention, s: list[float], h: list[float]) -> float:
    """sᵀ h."""
    return sum(x * y for x, y in zip(s, h, strict=True))


@pytest.mark.parametrize(
    ("kind", "energy"),
    [(AdditiveAttention, additive_energy), (GeneralAttention, general_energy), (DotAttention, dot_energy)],
)
def test_a_soft_attention_is_its_equation(kind, energy):
    attention = build(kind)
    lengths = [4, 1, 3]
    memory, query = example(lengths, size=5)
    context, weights = looked(attention, memory, query)
    energies = attention.energies(query, attention.keys(memory.states))
    for b, n in product(range(3), range(3)):
        states = memory.states[b, : lengths[b]].tolist()
        fits = [energy(attention, query[b, n].tolist(), h) for h in states]
        torch.testing.assert_close(energies[b, n, : lengths[b]].tolist(), fits, rtol=0, atol=1e-10)
        exponentials = [math.exp(fit) for fit in fits]
        alphas = [e / sum(exponentials) for e in exponentials]
        expected = [sum(a * h[k] for a, h in zip(alphas, states, strict=True)) for k in range(MEMORY)]
        padding = [0.0] * (5 - lengths[b])
        torch.testing.assert_close(weights[b, n].tolist(), alphas + padding, rtol=0, atol=1e-10)
        torch.testing.assert_close(context[b, n].tolist(), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("dtype", "digits"), [(torch.bfloat16, 1e-2), (torch.float16, 2e-3), (torch.float32, 1e-5)])
def test_small_additive_energies_keep_the_digits_of_their_type(dtype: torch.dtype, digits: float):
    """As first values are small: the differences between places are all that the softmax sees."""
    torch.manual_seed(3)
    attention = AdditiveAttention(64, 64, 128).to(dtype)
    for weight in (attention.from_query.weight, attention.from_memory.weight, attention.energy.weight):
        torch.nn.init.normal_(weight, std=0.01)
    query, keys = torch.randn(2, 3, 64).to(dtype), attention.keys(torch.randn(2, 20, 64).to(dtype))
    found = attention.energies(query, keys).double()
    sums = (attention.from_query(query).unsqueeze(2) + keys.unsqueeze(1)).double()
    wanted = torch.tanh(sums) @ attention.energy.weight[0].double()
    centred = [energies - energies.mean(-1, keepdim=True) for energies in (found, wanted)]
    assert (centred[0] - centred[1]).norm() < digits * centred[1].norm()


def test_no_attention_is_the_final_states_at_every_step_and_looks_evenly():
    attention = build(FixedContext)
    memory, query = example([4, 1, 3], size=5)
    context, weights = looked(attention, memory, query)
    for b, n in product(range(3), range(3)):
        length = [4, 1, 3][b]
        assert context[b, n].tolist() == [*memory.final[b, 0].tolist(), *memory.final[b, 1].tolist()]
        expected = [1 / length] * length + [0.0] * (5 - length)
        torch.testing.assert_close(weights[b, n].tolist(), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", [kind for kind in ATTENTIONS.values() if not issubclass(kind, DotAttention)])
def test_query_and_memory_may_differ_in_size(kind: type[Attention]):
    attention = build_attention(kind, 4, MEMORY).double()
    memory, _ = example([2, 3])
    context, weights = looked(attention, memory, torch.randn(2, 5, 4).double())
    assert context.shape == (2, 5, MEMORY)
    assert weights.shape == (2, 5, 3)


@pytest.mark.parametrize("kind", ATTENTIONS.values())
def test_all_queries_at_once_are_answered_as_one_by_one(kind: type[Attention]):
    attention = build(kind)
    memory, query = example([4, 2], n=5)
    context, weights = looked(attention, memory, query)
    for n in range(5):
        one_context, one_weights = looked(attention, memory, query[:, n : n + 1])
        torch.testing.assert_close(one_context, context[:, n : n + 1], rtol=0, atol=1e-12)
        torch.testing.assert_close(one_weights, weights[:, n : n + 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ATTENTIONS.values())
def test_gradients_of_context_and_weights(kind: type[Attention]):
    attention = build(kind)
    memory, query = example([3, 1], n=2)
    names = [name for name, _ in attention.named_parameters()]

    def read(query: Tensor, states: Tensor, final: Tensor, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        named = dict(zip(names, parameters, strict=True))
        # the reader closes over the parameters, so it must be made and asked under the same substitution
        return torch.func.functional_call(
            _Asked(attention),
            {f"attention.{k}": v for k, v in named.items()},
            (
                Memory(states, memory.mask, final),
                query,
            ),
        )

    inputs = [
        x.detach().clone().requires_grad_() for x in (query, memory.states, memory.final, *attention.parameters())
    ]
    assert torch.autograd.gradcheck(read, inputs)


class _Asked(torch.nn.Module):
    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, memory: Memory, query: Tensor) -> tuple[Tensor, Tensor]:
        return looked(self.attention, memory, query)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("kind", ATTENTIONS.values())
def test_weights_sum_to_one_and_are_exactly_zero_on_padding(kind: type[Attention], dtype: torch.dtype):
    @given(st.lists(st.integers(1, 7), min_size=1, max_size=4), st.integers(0, 3), st.sampled_from([0.01, 1.0, 100.0]))
    def check(lengths: list[int], extra: int, scale: float) -> None:
        memory, query = example(lengths, size=max(lengths) + extra)
        memory = Memory((memory.states * scale).to(dtype), memory.mask, memory.final.to(dtype))
        context, weights = looked(build(kind).to(dtype), memory, query.to(dtype))
        assert weights.dtype == context.dtype == dtype
        assert weights.isfinite().all()
        assert context.isfinite().all()
        assert (weights >= 0).all()
        padding = ~memory.mask.unsqueeze(1).expand_as(weights)
        assert (weights[padding] == 0).all()
        digits = {torch.float64: 1e-14, torch.float32: 1e-6, torch.bfloat16: 2e-2, torch.float16: 3e-3}[dtype]
        sums = weights.double().sum(-1)
        assert (sums < 1 + digits).all()
        assert (sums > 1 - digits).all() or not kind.sums_to_one

    check()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("kind", ATTENTIONS.values())
def test_a_row_with_nothing_to_see_is_all_zero(kind: type[Attention], dtype: torch.dtype):
    memory, query = example([3, 2])
    mask = torch.tensor([[False] * 3, [True, True, False]])
    memory = Memory(memory.states.to(dtype), mask, memory.final.to(dtype))
    context, weights = looked(build(kind).to(dtype), memory, query.to(dtype))
    assert not weights[0].any()
    assert context.isfinite().all()
    if kind is not FixedContext:
        assert not context[0].any()


@given(
    st.lists(st.lists(st.floats(-1e30, 1e30), min_size=4, max_size=4), min_size=1, max_size=3),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_masked_softmax_survives_any_finite_energy(energies: list[list[float]], mask: list[bool]):
    weights = masked_softmax(torch.tensor([energies], dtype=torch.float32), torch.tensor([[mask]]))
    assert (weights[:, :, ~torch.tensor(mask)] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.full_like(weights.sum(-1), float(any(mask))))


@pytest.mark.parametrize("kind", ATTENTIONS.values())
def test_a_reader_leaves_nothing_on_the_module(kind: type[Attention]):
    attention = build(kind)
    before = set(vars(attention))
    memory, query = example([3, 2])
    other, _ = example([1, 1])
    reader = attention.over(memory)
    state = tuple(part.repeat_interleave(query.shape[1], dim=1) for part in reader.start())
    expected = reader.read(query, state)
    looked(attention, other, query)
    found = reader.read(query, state)
    assert torch.equal(found.context, expected.context)
    assert torch.equal(found.weights, expected.weights)
    assert set(vars(attention)) == before


def test_dot_with_unequal_sizes_names_both_and_what_to_do():
    with pytest.raises(ValueError, match=r"query_size=5 .* memory_size=8.*decoder\.hidden_size=8.*attention=general"):
        DotAttention(5, 8)


def test_a_size_under_one_is_refused_by_name():
    with pytest.raises(ValueError, match="attention_size=0: expected a whole number, 1 to 65,536"):
        AdditiveAttention(4, 6, 0)
    with pytest.raises(ValueError, match="query_size=0: expected a whole number, 1 or more"):
        GeneralAttention(0, 6)


def test_shapes_are_checked_while_testing():
    memory, query = example([3, 2])
    with pytest.raises(Exception, match="query"):
        build(GeneralAttention).energies(query[0], memory.states)


@pytest.mark.parametrize("given", [torch.ones(2, 4), torch.ones(3, 3), torch.ones(2, 3).long(), None])
def test_what_is_returned_is_checked_beside_what_was_given(given: Tensor | None):
    """Against the sizes that the arguments had: (2, 3) alone is right."""

    @jaxtyped(typechecker=check)
    def states(query: Float[Tensor, "batch n"], found: Any) -> Float[Tensor, "batch n"]:
        return found

    assert states(torch.zeros(2, 3), torch.ones(2, 3)).shape == (2, 3)
    with pytest.raises(Exception, match="return value"):
        states(torch.zeros(2, 3), given)


class OutOfContract(DotAttention):
    """An attention that keeps its part of the contract but in one point, which would broadcast or fail far away."""

    def __init__(self, wrong: str) -> None:
        super().__init__(QUERY, MEMORY)
        self.wrong = wrong

    def energies(self, query: Tensor, keys: Tensor) -> Tensor:
        energies = super().energies(query, keys)
        return energies[..., :1] if self.wrong == "energies" else energies

    def start(self, memory: Memory) -> AttentionState:
        return (memory.states,) if self.wrong == "start" else ()

    def read(self, query: Tensor, keys: Tensor, memory: Memory, state: AttentionState) -> Look:
        look = super().read(query, keys, memory, state)
        wrong: dict[str, Callable[[], Any]] = {
            "weights": lambda: Look(look.context, look.weights[..., :-1], state),
            "context": lambda: Look(look.context[:1], look.weights, state),
            "tuple": lambda: (look.context, look.weights, state),
        }
        return wrong.get(self.wrong, lambda: look)()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("energies", r"energies of shape \(2, 3, 1\), expected \(2, 3, 4\)"),
        ("weights", r"weights of shape \(2, 3, 3\), expected \(2, 3, 4\)"),
        ("context", r"context of shape \(1, 3, 6\), expected \(2, 3, 6\)"),
        ("tuple", r"read gives tuple, expected a Look"),
        ("start", r"start gives a state, expected remembers = True or read_all beside it"),
    ],
)
def test_an_attention_that_breaks_the_contract_is_named_at_its_first_look(wrong: str, said: str):
    memory, query = example([4, 2])
    with pytest.raises(ValueError, match=f"OutOfContract: {said}"):
        looked(OutOfContract(wrong).double(), memory, query)
    looked(OutOfContract("nothing").double(), memory, query)
