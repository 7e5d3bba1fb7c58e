"""Attentions that remember where they have looked: additive energies that see it."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.common.checks import Size, Width, checked
from lookback.nn.attention.additive import AdditiveAttention
from lookback.nn.attention.attention import AttentionState, Look, masked_softmax
from lookback.nn.memory import Memory


class RememberingAttention(AdditiveAttention):
    """e_ij = vᵀ tanh(W s + U h_j + V f_ij), f what is remembered of the looks at j and about it.

    The state is one number a source position: what earlier looks left there, 0 before the first. A subclass gives
    ``features``, f, and ``after``, the state that a look leaves.
    """

    remembers = True

    def __init__(self, query_size: Size, memory_size: Size, attention_size: Width, features: Size) -> None:
        super().__init__(query_size, memory_size, attention_size)
        self.from_features = nn.Linear(features, attention_size, bias=False)

    def features(self, past: Float[Tensor, "batch n source"]) -> Float[Tensor, "batch n source features"]:
        """f."""
        raise NotImplementedError

    def after(
        self, past: Float[Tensor, "batch n source"], weights: Float[Tensor, "batch n source"]
    ) -> Float[Tensor, "batch n source"]:
        """What the next look remembers."""
        return past + weights

    def start(self, memory: Memory) -> AttentionState:
        """Nothing was looked at."""
        return (memory.states.new_zeros(len(memory.states), 1, memory.states.shape[1]),)

    def read(self, query: Float[Tensor, "batch n query"], keys: Tensor, memory: Memory, state: AttentionState) -> Look:
        """One look of each of n hypotheses."""
        (past,) = state
        total = self.from_features(self.features(past))  # by far the largest tensor of a step: added to in place
        total = total.add_(keys.unsqueeze(1)).add_(self.from_query(query).unsqueeze(2))
        weights = masked_softmax(total.tanh_() @ self.energy_vector(), memory.mask.unsqueeze(1))
        return Look(torch.bmm(weights, memory.states), weights, (self.after(past, weights),))

    def draw(self, deviation: float) -> None:
        super().draw(deviation)
        nn.init.normal_(self.from_features.weight, std=deviation)


@checked
class CoverageAttention(RememberingAttention):
    """e_ij = vᵀ tanh(W s + U h_j + V C_{i-1,j}), C_i = C_{i-1} + α_i: how much was looked at each position so far.

    Tu et al. 2016, § 3.1, eq. 6 with fertilities of 1; See et al. 2017, eq. 11.
    """

    def __init__(self, query_size: Size, memory_size: Size, attention_size: Width) -> None:
        super().__init__(query_size, memory_size, attention_size, features=1)

    def features(self, past: Float[Tensor, "batch n source"]) -> Float[Tensor, "batch n source features"]:
        return past.unsqueeze(-1)


@checked
class LocationSensitiveAttention(RememberingAttention):
    """e_ij = vᵀ tanh(W s + U h_j + V f_ij), f_i = F ∗ p_i  (Chorowski et al. 2015, eq. 8 and 9).

    past: p, what is remembered: ``last``, α_{i-1} (Chorowski et al.), or ``sum``, Σ_{k<i} α_k (Tacotron 2: Shen et al.
        2018, § 2.2).
    filters: rows of F.
    width: of each, in source positions; odd, so that it has a middle.
    """

    def __init__(
        self,
        query_size: Size,
        memory_size: Size,
        attention_size: Width,
        past: Literal["last", "sum"] = "sum",
        filters: Width = 16,
        width: Width = 15,
    ) -> None:
        super().__init__(query_size, memory_size, attention_size, features=filters)
        if width % 2 == 0:
            raise ValueError(f"width={width}: expected an odd number, so that a filter has a middle")
        self.past = past
        self.filters = nn.Conv1d(1, filters, width, padding=width // 2, bias=False)

    def features(self, past: Float[Tensor, "batch n source"]) -> Float[Tensor, "batch n source features"]:
        found = F.conv1d(past.flatten(0, 1).unsqueeze(1), self.filters.weight, padding=self.filters.padding)
        return found.unflatten(0, past.shape[:2]).transpose(2, 3)

    def after(
        self, past: Float[Tensor, "batch n source"], weights: Float[Tensor, "batch n source"]
    ) -> Float[Tensor, "batch n source"]:
        return weights if self.past == "last" else past + weights
