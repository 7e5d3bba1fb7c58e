"""The loop with its backward pass written out is autograd's loop: the same values, the same gradients."""

import gc
import weakref
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lookback.nn import (
    AdditiveAttention,
    Attention,
    DotAttention,
    GeneralAttention,
    Memory,
    NormedAdditiveAttention,
    RecurrentDecoder,
    ScaledDotAttention,
    initialize,
)
from lookback.nn.kernels.derivatives import CELL_STEPS
from support.toy import Architecture, build_attention, decoders

SCORERS = (AdditiveAttention, GeneralAttention, DotAttention, NormedAdditiveAttention, ScaledDotAttention)
MEMORY_SIZE, FINAL_SIZE = 6, 3


def decoder(architecture: Architecture, dropout: float = 0.0) -> RecurrentDecoder:
    torch.manual_seed(1)
    hidden_size = MEMORY_SIZE if issubclass(architecture.attention, DotAttention) else 7
    attention = build_attention(architecture.attention, hidden_size, MEMORY_SIZE)
    built = RecurrentDecoder(
        *(11, attention, FINAL_SIZE, 4, hidden_size, 6, architecture.cell),
        query=architecture.query,
        input_feeding=architecture.input_feeding,
        readout=architecture.readout,
        dropout=dropout,
    ).double()
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter, std=0.8)
    return built


def memory_of(lengths: list[int], extra: int = 0) -> Memory:
    """Random states that ask for gradients, as an encoder's do."""
    mask = torch.arange(max(lengths) + extra) < torch.tensor(lengths).unsqueeze(1)
    states = torch.randn(*mask.shape, MEMORY_SIZE, dtype=torch.float64) * mask.unsqueeze(-1)
    return Memory(
        states.requires_grad_(), mask, torch.randn(len(lengths), 2, FINAL_SIZE, dtype=torch.float64).requires_grad_()
    )


def values_and_gradients(
    built: RecurrentDecoder, words: torch.Tensor, memory: Memory, fast: bool
) -> list[torch.Tensor]:
    """Of a loss of vectors and weights, with regard to all parameters and the memory."""
    built.fast = fast
    vectors, weights = built.unroll(words, memory)
    loss = vectors.sin().sum() + (weights * weights).sum()
    inputs = [*built.parameters(), memory.states, memory.final]
    # a single word asks nothing of the recurrent weights
    return [vectors, weights, *torch.autograd.grad(loss, inputs, materialize_grads=True, allow_unused=True)]


FAST = [
    Architecture(attention, cell, query=query, input_feeding=feeding, readout=readout)
    for attention, cell, (query, feeding, readout) in product(
        SCORERS,
        CELL_STEPS,
        [("previous", False, "maxout"), ("previous", False, "linear"), ("current", True, "attentional")],
    )
]


@pytest.mark.parametrize("architecture", FAST, ids=str)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(1, 5), st.integers(0, 2))
def test_values_and_gradients_are_autograds(architecture: Architecture, lengths: list[int], steps: int, extra: int):
    built = decoder(architecture)
    assert built.is_written_out
    words = torch.randint(11, (len(lengths), steps))
    memory = memory_of(lengths, extra)
    ours, plain = (values_and_gradients(built, words, memory, fast) for fast in (True, False))
    for a, b in zip(ours, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)  # gradients of some weights are of 10 and more


def test_dropout_acts_at_the_same_places():
    """A fed vector is fed as dropout left it."""
    built = decoder(Architecture(GeneralAttention, query="current", input_feeding=True, readout="attentional"), 0.5)
    built.dropout = _OneInTwo(0.5)
    words, memory = torch.randint(11, (3, 4)), memory_of([3, 1, 2])
    with_dropout = values_and_gradients(built, words, memory, fast=True)
    for a, b in zip(with_dropout, values_and_gradients(built, words, memory, fast=False), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
    without = values_and_gradients(built.eval(), words, memory, fast=True)
    assert not torch.allclose(with_dropout[0], without[0])


class _OneInTwo(torch.nn.Dropout):
    """Drops every second value, whatever the step: shows where dropout acts, without chance."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return input
        return input * (torch.arange(input.shape[-1]) % 2 == 0) * 2


def test_with_the_same_masks_dropout_and_input_feeding_give_the_plain_numbers():
    built = decoder(Architecture(AdditiveAttention, query="current", input_feeding=True, readout="attentional"), 0.5)
    words, memory = torch.randint(11, (3, 4)), memory_of([3, 1, 2])
    masks = {size: 2.0 * torch.randint(2, (3, 4, size)) for size in (4, 6)}  # of the embeddings, of the readout
    found = []
    for fast in (True, False):
        built.dropout = _Given(masks)
        found.append(values_and_gradients(built, words, memory, fast))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


class _Given(torch.nn.Dropout):
    """Drops by masks (batch, time, size) that are given for each size, all steps at once or one after the other."""

    def __init__(self, masks: dict[int, torch.Tensor]) -> None:
        super().__init__(0.5)
        self.masks = masks
        self.step = 0

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        mask = self.masks[input.shape[-1]]
        if input.shape[1] == 1:
            mask = mask[:, self.step : self.step + 1]
            self.step += 1
        return input * mask


@pytest.mark.parametrize("feeding", [False, True])
def test_only_input_feeding_draws_the_masks_of_a_seed_in_another_order(feeding: bool):
    querying = ("current", "attentional") if feeding else ("previous", "maxout")
    architecture = Architecture(GeneralAttention, query=querying[0], input_feeding=feeding, readout=querying[1])
    built, words, memory = decoder(architecture, 0.5), torch.randint(11, (3, 4)), memory_of([3, 1, 2])
    found = []
    for fast in (True, False):
        torch.manual_seed(7)
        found.append(values_and_gradients(built, words, memory, fast)[0])
    assert torch.allclose(*found, rtol=0, atol=1e-12) is not feeding


def test_only_what_is_used_needs_a_gradient():
    built = decoder(Architecture(AdditiveAttention))
    words, memory = torch.randint(11, (2, 3)), memory_of([3, 2])
    for use in (0, 1):
        found = []
        for fast in (True, False):
            built.fast = fast
            output = built.unroll(words, memory)[use]
            found.append(torch.autograd.grad(output.sin().sum(), [memory.states, built.attention.energy.weight]))
        for a, b in zip(*found, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_the_querys_gradient_survives_half_precision():
    """Σ_j de_j = 0 to the last digit only on paper: its small difference must not be summed in half precision."""
    torch.manual_seed(0)
    built = RecurrentDecoder(50, AdditiveAttention(32, 48, 24), 16, 20, 32, 20)
    initialize(built, deviation=0.1, attention_deviation=0.01)
    torch.nn.init.normal_(built.attention.energy.weight, std=0.1)
    mask = torch.arange(9) < torch.tensor([[9], [4], [6]])
    memory = Memory(torch.randn(3, 9, 48) * mask.unsqueeze(-1), mask, torch.randn(3, 1, 16))
    words, target = torch.randint(50, (3, 11)), torch.randn(3, 11, 20)

    def gradient(fast: bool, half: bool) -> torch.Tensor:
        built.fast = fast
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            vectors, _ = built.unroll(words, memory)
        return torch.autograd.grad((vectors * target).sum(), built.attention.from_query.weight)[0]

    exact = gradient(fast=False, half=False)
    error = {fast: float((gradient(fast, half=True) - exact).norm() / exact.norm()) for fast in (True, False)}
    assert error[True] < 0.02
    assert error[True] < error[False] / 5


def test_nothing_is_kept_once_nobody_holds_it():
    """A function that holds its own outputs would be freed by the garbage collector only: gigabytes later."""
    built = decoder(Architecture(AdditiveAttention))
    gc.disable()
    try:
        vectors, weights = built.unroll(torch.randint(11, (2, 3)), memory_of([3, 2]))
        assert weights._base is not None  # the function's own output, time first
        kept = weakref.ref(weights._base)
        del vectors, weights
        assert kept() is None
    finally:
        gc.enable()


class _Shifted(AdditiveAttention):
    def energies(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return super().energies(query, keys) * 2


def test_what_has_no_written_backward_pass_goes_the_plain_way():
    fast = {architecture for architecture in decoders() if architecture.build().decoder.is_written_out}
    assert all(architecture.layers == 1 and architecture.attention in SCORERS for architecture in fast)
    assert {(a.query, a.input_feeding) for a in fast} == {("previous", False), ("current", True)}
    assert all(a.readout == "attentional" for a in fast if a.input_feeding)
    assert not Architecture(_Shifted).build().decoder.is_written_out
    built = Architecture(AdditiveAttention).build().decoder
    assert built.is_written_out
    assert built.fast


@pytest.mark.parametrize("kind", [AdditiveAttention, NormedAdditiveAttention])
@pytest.mark.parametrize("read", ["both", "context", "weights"])
def test_looks_with_queries_that_are_all_known_are_autograds(kind: type, read: str):
    """Taken step after step, so that no B·T·S·A values are kept, they are what the equations give at once."""
    torch.manual_seed(2)
    attention = build_attention(kind, 7, MEMORY_SIZE).double()
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter, std=0.8)
    memory, query = memory_of([4, 1, 3], extra=1), torch.randn(3, 5, 7, dtype=torch.float64, requires_grad=True)
    inputs = [*attention.parameters(), query, memory.states]
    found = []
    for look in (attention.read_all, lambda *given: Attention.read_all(attention, *given)):
        given = look(query, attention.keys(memory.states), memory)
        context, weights = given.context, given.weights
        loss = {"context": context.sin().sum(), "weights": (weights * weights).sum()}
        total = sum(loss.values()) if read == "both" else loss[read]
        found.append([context, weights, *torch.autograd.grad(total, inputs, materialize_grads=True, allow_unused=True)])
    for ours, plain in zip(*found, strict=True):
        torch.testing.assert_close(ours, plain, rtol=0, atol=1e-12)
    assert (found[0][1][1, :, 1:] == 0).all()  # padding


def test_of_many_known_queries_the_sums_with_the_keys_are_not_kept():
    attention = AdditiveAttention(7, MEMORY_SIZE, 5)
    memory = memory_of([30, 30])
    memory = Memory(memory.states.float(), memory.mask, memory.final.float())
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        attention.read_all(torch.randn(2, 40, 7, requires_grad=True), attention.keys(memory.states), memory)
    assert max(kept) <= 2 * 40 * 30  # not times the attention's size


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_sentence_without_a_word_gets_nothing_and_spoils_no_gradient(steps: int):
    attention = AdditiveAttention(7, MEMORY_SIZE, 5).double()
    memory = memory_of([2, 0, 3])
    look = attention.read_all(torch.randn(3, steps, 7, dtype=torch.float64), attention.keys(memory.states), memory)
    assert (look.weights[1] == 0).all()
    assert (look.context[1] == 0).all()
    (look.context.sin().sum() + look.weights.square().sum()).backward()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters())
    assert memory.states.grad.isfinite().all()


def test_looks_in_bfloat16_are_near_those_in_float32():
    torch.manual_seed(3)
    attention, query = AdditiveAttention(7, MEMORY_SIZE, 5), torch.randn(3, 6, 7)
    memory = memory_of([4, 2, 3])
    memory = Memory(memory.states.detach().float(), memory.mask, memory.final.detach().float())
    found = []
    for narrow in (False, True):
        attention.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            look = attention.read_all(query, attention.keys(memory.states), memory)
        look.context.float().square().sum().backward()
        found.append([look.weights.float(), *(parameter.grad.clone() for parameter in attention.parameters())])
    for wide, narrow in zip(*found, strict=True):
        torch.testing.assert_close(narrow, wide, rtol=0.05, atol=0.05 * wide.abs().max().item())
