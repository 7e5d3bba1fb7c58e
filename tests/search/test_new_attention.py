"""A new attention is one class: nothing of the decoder, the loss or the searches knows how many there are."""

import math

import pytest
import torch
from torch import Tensor

from lookback.nn import AdditiveAttention, Attention, AttentionState, Look, Memory, Seq2Seq, masked_softmax
from lookback.search import BeamSearch, GreedySearch, SamplingSearch, force
from support.same import assert_same
from support.toy import QUERYING, Architecture, source_batch, target_batch


class LocalityAttention(Attention):
    """e_ij = sᵀ W h_j / √d − λ |j − j₀|: a scaled product that prefers the beginning; λ is learned."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.from_memory = torch.nn.Linear(memory_size, query_size, bias=False)
        self.slope = torch.nn.Parameter(torch.ones(1))

    def keys(self, states: Tensor) -> Tensor:
        return self.from_memory(states)

    def energies(self, query: Tensor, keys: Tensor) -> Tensor:
        positions = torch.arange(keys.shape[1], dtype=query.dtype)
        return query @ keys.transpose(1, 2) / math.sqrt(self.query_size) - self.slope * positions


@pytest.mark.parametrize(("query", "feeding"), QUERYING)
def test_it_trains_searches_and_aligns(query: str, feeding: bool):
    model = Architecture(LocalityAttention, query=query, input_feeding=feeding).build(sharpness=2)
    source, lengths = source_batch([[4, 5, 6], [7]])
    target = target_batch([[5, 5], [8, 9, 4]])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        result = model(source, lengths, target, smoothing=0.1)
        result.loss.backward()
        optimizer.step()
        losses.append(result.nll.item())
    assert all(parameter.grad.any() for parameter in model.decoder.attention.parameters())
    assert losses[-1] < losses[0] / 4

    for search in (BeamSearch(3), GreedySearch(), SamplingSearch(temperature=0.01)):
        found = search(model, source, lengths)
        assert [hypotheses[0].tokens for hypotheses in found] == [[5, 5], [8, 9, 4]]
        assert_same([hypotheses[0] for hypotheses in found], force(model, source, lengths, target))


class CoverageAttention(AdditiveAttention):
    """e_ij = vᵀ tanh(W s + U h_j + w C_{i-1,j}), C what was looked at so far (Tu et al. 2016, § 3.1)."""

    remembers = True

    def __init__(self, query_size: int, memory_size: int, attention_size: int = 5) -> None:
        super().__init__(query_size, memory_size, attention_size)
        self.from_coverage = torch.nn.Linear(1, attention_size, bias=False)

    def start(self, memory: Memory) -> AttentionState:
        return (memory.states.new_zeros(len(memory.states), 1, memory.states.shape[1]),)

    def read(self, query: Tensor, keys: Tensor, memory: Memory, state: AttentionState) -> Look:
        (coverage,) = state
        added = self.from_query(query).unsqueeze(2) + keys.unsqueeze(1) + self.from_coverage(coverage.unsqueeze(-1))
        energies = added.tanh() @ self.energy.weight[0]
        weights = masked_softmax(energies, memory.mask.unsqueeze(1))
        return Look(torch.bmm(weights, memory.states), weights, (coverage + weights,))


class DiagonalAttention(Attention):
    """Knows its step: e_tj = −λ |j − t|, whatever the query; λ is learned."""

    remembers = True

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.slope = torch.nn.Parameter(torch.ones(1))

    def keys(self, states: Tensor) -> Tensor:
        return states

    def start(self, memory: Memory) -> AttentionState:
        return (torch.zeros(len(memory.states), 1, dtype=torch.long),)

    def read(self, query: Tensor, keys: Tensor, memory: Memory, state: AttentionState) -> Look:
        (step,) = state
        distance = (torch.arange(keys.shape[1]) - step.unsqueeze(-1)).abs()
        weights = masked_softmax(-self.slope * distance.to(query.dtype), memory.mask.unsqueeze(1))
        return Look(torch.bmm(weights, memory.states), weights, (step + 1,))


REMEMBERING = (CoverageAttention, DiagonalAttention)
SOURCES = [[4, 5, 6, 7], [9], [8, 9, 10, 4, 5, 6]]


@pytest.mark.parametrize(("query", "feeding"), QUERYING[:3])
@pytest.mark.parametrize("kind", REMEMBERING)
def test_one_that_remembers_trains_searches_and_aligns(kind: type[Attention], query: str, feeding: bool):
    model = Architecture(kind, query=query, input_feeding=feeding).build(sharpness=2)
    assert model.decoder.needs_loop
    assert not model.decoder.is_written_out
    source, lengths = source_batch([[4, 5, 6], [7]])
    target = target_batch([[5, 5], [8, 9, 4]])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        result = model(source, lengths, target, smoothing=0.1)  # an unsmoothed one is sure of nonsense, too
        result.loss.backward()
        optimizer.step()
        losses.append(result.nll.item())
    assert losses[-1] < losses[0] / 4
    assert all(parameter.grad is not None for parameter in model.decoder.attention.parameters())
    for search in (BeamSearch(3), GreedySearch(), SamplingSearch(temperature=0.01)):
        found = search(model.laid_out(), source, lengths)
        assert [hypotheses[0].tokens for hypotheses in found] == [[5, 5], [8, 9, 4]]
        assert_same([hypotheses[0] for hypotheses in found], force(model, source, lengths, target))


def crossings(model: Seq2Seq, beam: int) -> int:
    """How often a beam search extends a hypothesis that stood in another place."""
    from lookback.search.active_sentences import ActiveSentences

    crossed = 0
    advance = ActiveSentences.advance

    def spy(active: ActiveSentences, origin: Tensor, words: Tensor) -> None:
        nonlocal crossed
        if origin.shape[1] == active.words.shape[1]:
            crossed += int((origin != torch.arange(origin.shape[1])).sum())
        advance(active, origin, words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ActiveSentences, "advance", spy)
        BeamSearch(beam, 1, 1.0, 6)(model, *source_batch(SOURCES))
    return crossed


@pytest.mark.parametrize(("query", "feeding"), QUERYING)
@pytest.mark.parametrize("kind", REMEMBERING)
def test_what_it_remembers_goes_with_the_beams_that_cross(kind: type[Attention], query: str, feeding: bool):
    """Each of the n best has the alignment of a forced decoding: a memory of another beam would give other weights."""
    model = Architecture(kind, query=query, input_feeding=feeding).build(3, sharpness=3)
    with torch.no_grad():
        for parameter in model.decoder.attention.parameters():
            parameter *= 3
    assert crossings(model, 4) > 3
    for network in (model, model.laid_out()):
        for sentence, hypotheses in zip(
            SOURCES, BeamSearch(4, 4, 1.0, 6)(network, *source_batch(SOURCES)), strict=True
        ):
            whole = [hypothesis for hypothesis in hypotheses if not hypothesis.truncated]
            for hypothesis in whole:
                forced = force(model, *source_batch([sentence]), target_batch([hypothesis.tokens]))
                assert_same([hypothesis], forced)


def test_coverage_is_the_sum_of_the_weights_so_far():
    attention = CoverageAttention(8, 6).double()
    memory = Memory(
        torch.randn(2, 4, 6).double(), torch.tensor([[True] * 4, [True, True, False, False]]), torch.zeros(2, 2, 3)
    )
    reader = attention.over(memory)
    state, total = reader.start(), torch.zeros(2, 1, 4).double()
    for _ in range(5):
        look = reader.read(torch.randn(2, 1, 8).double(), state)
        total, state = total + look.weights, look.state
    torch.testing.assert_close(state[0], total, rtol=0, atol=1e-12)
    assert total[1, 0, 2:].tolist() == [0, 0]
