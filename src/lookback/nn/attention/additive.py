"""Additive energies: query and key are added, and a small network scores the sum."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lookback.common.checks import Size, Width, checked
from lookback.nn.attention.attention import Attention, Look, Scorer
from lookback.nn.kernels.unroll import look_step_by_step
from lookback.nn.memory import Memory


@checked
class AdditiveAttention(Attention):
    """e_ij = vᵀ tanh(W s_{i-1} + U h_j)  (Bahdanau et al. 2015, App. A.1.2).

    With the current state it is Luong et al.'s ``concat`` (2015, eq. 8).
    """

    default_query = "previous"

    def __init__(self, query_size: Size, memory_size: Size, attention_size: Width) -> None:
        super().__init__(query_size, memory_size)
        self.from_query = nn.Linear(query_size, attention_size, bias=False)
        self.from_memory = nn.Linear(memory_size, attention_size, bias=False)
        self.energy = nn.Linear(attention_size, 1, bias=False)

    def keys(self, states: Float[Tensor, "batch source memory"]) -> Float[Tensor, "batch source key"]:
        return self.from_memory(states)

    def energies(
        self, query: Float[Tensor, "batch n query"], keys: Float[Tensor, "batch source key"]
    ) -> Float[Tensor, "batch n source"]:
        # in place: by far the largest tensor of a step, and no gradient needs the sum itself
        found = torch.add(keys.unsqueeze(1), self.from_query(query).unsqueeze(2))
        weight = self.energy_vector()
        if torch.finfo(found.dtype).bits < 32:  # there σ has few digits beside 1/2
            return found.tanh_() @ weight
        return found.mul_(2).sigmoid_() @ (2 * weight) - weight.sum()  # sooner than tanh on some processors

    def read_all(self, query: Float[Tensor, "batch time query"], keys: Tensor, memory: Memory) -> Look:
        """Step after step, with a backward pass that is written out, so that the sums of queries and keys are never all
        in memory. Very large keys are cut as in ``AdditiveEnergies``."""
        scorer = self.scorer()
        if scorer is None or scorer.energy_weight is None:
            return super().read_all(query, keys, memory)
        context, weights = look_step_by_step(self.from_query(query), keys, scorer.energy_weight, memory)
        return Look(context, weights, ())

    def energy_vector(self) -> Float[Tensor, "key"]:
        """v."""
        return self.energy.weight[0]

    def scorer(self) -> Scorer | None:
        # a subclass may look in another way
        is_plain = type(self).energies is AdditiveAttention.energies and type(self).read is Attention.read
        return Scorer(self.from_query.weight, self.energy_vector()) if is_plain else None

    def draw(self, deviation: float) -> None:
        """W and U of this deviation, v = 0: even over the source at first (Bahdanau et al. 2015, App. B.1)."""
        nn.init.normal_(self.from_query.weight, std=deviation)
        nn.init.normal_(self.from_memory.weight, std=deviation)
        nn.init.zeros_(self.energy.weight)


class NormedAdditiveAttention(AdditiveAttention):
    """e_ij = g (v / |v|)ᵀ tanh(W s_{i-1} + U h_j + b): the length of v is a number of its own, g.

    Weight normalisation (Salimans and Kingma 2016, eq. 2) of the additive energies, as ``normed_bahdanau`` of Luong,
    Brevdo and Zhao's tutorial "Neural Machine Translation (seq2seq)" of 2017. At first g = √(1/A), A the attention's
    size, and b = 0.
    """

    def __init__(self, query_size: Size, memory_size: Size, attention_size: Width) -> None:
        super().__init__(query_size, memory_size, attention_size)
        self.gain = nn.Parameter(torch.empty(()))
        self.offset = nn.Parameter(torch.zeros(attention_size))
        self.reset()

    def keys(self, states: Float[Tensor, "batch source memory"]) -> Float[Tensor, "batch source key"]:
        return super().keys(states) + self.offset

    def energy_vector(self) -> Float[Tensor, "key"]:
        """g v / |v|."""
        weight = self.energy.weight[0]
        return self.gain * weight / torch.linalg.vector_norm(weight).clamp_min(torch.finfo(weight.dtype).tiny)

    def reset(self) -> None:
        nn.init.constant_(self.gain, len(self.offset) ** -0.5)

    def draw(self, deviation: float) -> None:
        """W and U of this deviation, g = 0: even over the source at first, as v = 0 would be."""
        nn.init.normal_(self.from_query.weight, std=deviation)
        nn.init.normal_(self.from_memory.weight, std=deviation)
        nn.init.zeros_(self.gain)
