"""A fifth attention is one class: nothing of the decoder, the loss or the searches knows how many there are."""

import math

import pytest
import torch
from torch import Tensor

from lookback.nn import Attention
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
