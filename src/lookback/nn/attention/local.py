"""Local attention: only a window of the source is looked at (Luong et al. 2015, § 3.2)."""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.common.checks import Size, Width, checked
from lookback.nn.attention.attention import AttentionState, Look, Scorer, masked_softmax
from lookback.nn.attention.multiplicative import GeneralAttention
from lookback.nn.memory import Memory


class LocalAttention(GeneralAttention):
    """Energies h_tᵀ W h_j of the source positions j in [p_t − D, p_t + D] alone; nothing else is looked at.

    A subclass says where p_t is, and what the weights are multiplied by. Where a look is at one step, as in a search,
    only the window's keys and states are read; where it is at so many steps that their windows together are longer than
    the source, it is read whole, and masked. Both give the same numbers.

    half_width: D, in source positions.
    """

    def __init__(self, query_size: Size, memory_size: Size, half_width: Width = 10) -> None:
        super().__init__(query_size, memory_size)
        self.half_width = half_width

    def window(
        self, query: Float[Tensor, "batch n query"], centre: Shaped[Tensor, "batch n"], keys: Tensor, memory: Memory
    ) -> tuple[Float[Tensor, "batch n place"], Int[Tensor, "batch n place"] | None]:
        """Weights of the window around ``centre``, and its positions: None where the weights are of the whole source.

        A position outside of the source, or on padding, has the weight 0, and position 0 or the last one.
        """
        source = memory.mask.shape[1]
        middle = (centre.round().long() if centre.is_floating_point() else centre).unsqueeze(-1)
        if query.shape[1] * (2 * self.half_width + 1) >= source:
            positions = torch.arange(source, device=query.device)
            mask = memory.mask.unsqueeze(1) & ((positions - middle).abs() <= self.half_width)
            return masked_softmax(self.energies(query, keys), mask), None
        positions = middle + torch.arange(-self.half_width, self.half_width + 1, device=query.device)
        inside = positions.clamp(0, source - 1)
        mask = (positions == inside) & memory.mask.gather(1, inside.flatten(1)).view_as(inside)
        energies = (_at(keys, inside) @ query.unsqueeze(-1)).squeeze(-1)
        return masked_softmax(energies, mask), inside

    def found(
        self, weights: Float[Tensor, "batch n place"], positions: Int[Tensor, "batch n place"] | None, memory: Memory
    ) -> tuple[Float[Tensor, "batch n memory"], Float[Tensor, "batch n source"]]:
        """Context, and weights over the whole source."""
        if positions is None:
            return torch.bmm(weights, memory.states), weights
        context = (weights.unsqueeze(2) @ _at(memory.states, positions)).squeeze(2)
        whole = weights.new_zeros(*weights.shape[:2], memory.mask.shape[1])
        return context, whole.scatter_add(2, positions, weights)

    def scorer(self) -> Scorer | None:
        return None


@checked
class LocalMonotonicAttention(LocalAttention):
    """p_t = t: the window moves on by one position a step (local-m). At a source's end it stays there."""

    def start(self, memory: Memory) -> AttentionState:
        """The number of looks so far."""
        return (torch.zeros(len(memory.mask), 1, dtype=torch.long, device=memory.mask.device),)

    def read(self, query: Float[Tensor, "batch n query"], keys: Tensor, memory: Memory, state: AttentionState) -> Look:
        """One look of each of n hypotheses."""
        (step,) = state
        return Look(*self._found_at(step, query, keys, memory), (step + 1,))

    def read_all(self, query: Float[Tensor, "batch time query"], keys: Tensor, memory: Memory) -> Look:
        """The looks of steps 0, 1, …"""
        batch, steps, _ = query.shape
        step = torch.arange(steps, device=query.device).expand(batch, steps)
        return Look(*self._found_at(step, query, keys, memory), ())

    def _found_at(
        self, step: Int[Tensor, "batch n"], query: Float[Tensor, "batch n query"], keys: Tensor, memory: Memory
    ) -> tuple[Tensor, Tensor]:
        last = memory.mask.sum(1, keepdim=True) - 1
        return self.found(*self.window(query, step.minimum(last), keys, memory), memory)


@checked
class LocalPredictiveAttention(LocalAttention):
    """p_t = S · σ(v_pᵀ tanh(W_p h_t)), S the source's length: where to look is learned (local-p).

    The weights of the window are multiplied by exp(−(j − p_t)² / 2σ²), σ = D / 2, so that p_t has a gradient;
    their sum is below 1.
    """

    sums_to_one = False

    def __init__(self, query_size: Size, memory_size: Size, attention_size: Width, half_width: Width = 10) -> None:
        super().__init__(query_size, memory_size, half_width)
        self.position_hidden = nn.Linear(query_size, attention_size, bias=False)
        self.position = nn.Linear(attention_size, 1, bias=False)

    def centre(self, query: Float[Tensor, "batch n query"], memory: Memory) -> Float[Tensor, "batch n"]:
        """p_t, in float32 at least: a long source has more positions than half precision has numbers."""
        share = torch.sigmoid(self.position(torch.tanh(self.position_hidden(query))).squeeze(-1))
        length = memory.mask.sum(1, keepdim=True)
        return length * share.to(torch.promote_types(share.dtype, torch.float32))

    def read(self, query: Float[Tensor, "batch n query"], keys: Tensor, memory: Memory, state: AttentionState) -> Look:
        centre = self.centre(query, memory)
        weights, positions = self.window(query, centre, keys, memory)
        places = torch.arange(weights.shape[2], device=query.device) if positions is None else positions
        distance = (places - centre.unsqueeze(-1)) / (self.half_width / 2)
        weights = weights * torch.exp(distance.square() / -2).to(weights.dtype)
        return Look(*self.found(weights, positions, memory), state)


def _at(values: Float[Tensor, "batch source size"], positions: Int[Tensor, "batch n place"]) -> Tensor:
    """(batch, n, place, size): the values at ``positions`` of each sentence."""
    batch, source, _ = values.shape
    rows = positions + source * torch.arange(batch, device=values.device).view(-1, 1, 1)
    return F.embedding(rows, values.flatten(0, 1))
