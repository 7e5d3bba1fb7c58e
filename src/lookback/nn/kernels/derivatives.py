"""One step of a decoder, and what it passes back: a cell's update, and a look at the source.

Derivatives are written out for ``lookback.nn.kernels.unroll``, which keeps of a step what they need and no more. For a
loss L and d(·) = ∂L/∂(·):

    context   c = Σ_j α_j h_j            dα_j = h_j · dc + d'α_j         dh_j += α_j dc
    softmax   α = softmax(e)             de_j = α_j (dα_j − Σ_k α_k dα_k),  so that Σ_j de_j = 0
    additive  e_j = vᵀ tanh(q + k_j)     dq = v ∘ Σ_j de_j (1 − tanh²) = −v ∘ Σ_j de_j tanh²
                                         dk_j = v ∘ Σ_t de_tj (1 − tanh²),  dv = Σ de_j tanh
    bilinear  e_j = q · k_j              dq = Σ_j de_j k_j,  dk_j = Σ_t de_tj q_t

(d'α: of weights that are themselves in the loss.) The last form of dq sums fewer digits that cancel: with the small
first weights of Bahdanau et al. 2015 the first form loses nearly all of them in half precision. The cells are
differentiated beside their equations.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

tanh_backward = torch.ops.aten.tanh_backward  # d, tanh(x) → d (1 − tanh²(x))
sigmoid_backward = torch.ops.aten.sigmoid_backward  # d, σ(x) → d σ(x) (1 − σ(x))


class Gru:
    """r, z = σ(x + U h);  n = tanh(x_n + r ∘ (U h)_n);  h' = n + z ∘ (h − n)."""

    @staticmethod
    def forward(gates: Tensor, recurrent: Tensor, before: Tensor, out: Tensor) -> None:
        """``gates``, the input's part of them, become r, z, n; ``recurrent`` is U h."""
        size = before.shape[1]
        reset, update, candidate = gates.split(size, dim=1)
        gates[:, : 2 * size].add_(recurrent[:, : 2 * size]).sigmoid_()
        candidate.addcmul_(reset, recurrent[:, 2 * size :]).tanh_()
        torch.lerp(candidate, before, update, out=out)

    @staticmethod
    def backward(
        d_after: Tensor, gates: Tensor, recurrent: Tensor, before: Tensor, after: Tensor, out: tuple[Tensor, Tensor]
    ) -> Tensor:
        """The gradient of ``before`` but for its part through ``recurrent``; those of the gates go to ``out``."""
        size = before.shape[1]
        reset, update, candidate = gates.split(size, dim=1)
        d_gates, d_recurrent = out
        d_before = d_after * update
        d_candidate = tanh_backward(d_after - d_before, candidate)
        d_gates[:, 2 * size :] = d_candidate
        torch.mul(d_candidate, reset, out=d_recurrent[:, 2 * size :])
        torch.mul(d_candidate, recurrent[:, 2 * size :], out=d_gates[:, :size])
        torch.mul(before - candidate, d_after, out=d_gates[:, size : 2 * size])
        d_gates[:, : 2 * size] = sigmoid_backward(d_gates[:, : 2 * size], gates[:, : 2 * size])
        d_recurrent[:, : 2 * size] = d_gates[:, : 2 * size]
        return d_before


class Lstm:
    """i, f, o = σ(x + U h);  g = tanh(x_g + (U h)_g);  c' = f ∘ c + i ∘ g;  h' = o ∘ tanh(c').  A state is [h; c]."""

    @staticmethod
    def forward(gates: Tensor, recurrent: Tensor, before: Tensor, out: Tensor) -> None:
        """``gates``, the input's part of them, become i, f, g, o; ``recurrent`` is U h."""
        size = before.shape[1] // 2
        input_gate, forget_gate, candidate, output_gate = gates.add_(recurrent).split(size, dim=1)
        gates[:, : 2 * size].sigmoid_()
        candidate.tanh_()
        output_gate.sigmoid_()
        cell = out[:, size:]
        torch.mul(forget_gate, before[:, size:], out=cell)
        cell.addcmul_(input_gate, candidate)
        torch.mul(output_gate, cell.tanh(), out=out[:, :size])

    @staticmethod
    def backward(
        d_after: Tensor, gates: Tensor, recurrent: Tensor, before: Tensor, after: Tensor, out: tuple[Tensor, Tensor]
    ) -> Tensor:
        """The gradient of ``before`` but for its part through ``recurrent``; those of the gates go to ``out``."""
        size = before.shape[1] // 2
        input_gate, forget_gate, candidate, output_gate = gates.split(size, dim=1)
        d_gates, d_recurrent = out
        shown = after[:, size:].tanh()
        d_shown = d_after[:, :size] * output_gate
        d_cell = d_after[:, size:] + tanh_backward(d_shown, shown)
        torch.mul(d_cell, candidate, out=d_gates[:, :size])
        torch.mul(d_cell, before[:, size:], out=d_gates[:, size : 2 * size])
        d_gates[:, : 2 * size] = sigmoid_backward(d_gates[:, : 2 * size], gates[:, : 2 * size])
        d_gates[:, 2 * size : 3 * size] = tanh_backward(d_cell * input_gate, candidate)
        d_gates[:, 3 * size :] = sigmoid_backward(d_after[:, :size] * shown, output_gate)
        d_recurrent.copy_(d_gates)
        d_before = torch.zeros_like(d_after)
        torch.mul(d_cell, forget_gate, out=d_before[:, size:])
        return d_before


CELL_STEPS = {"gru": Gru, "lstm": Lstm}


_FEW = 5


class AdditiveEnergies:
    """e_j = vᵀ tanh(q + k_j), up to what is the same for all j, which the softmax does not see.

    Here tanh(x) = 2 σ(2x) − 1, and σ(2 (q + k)) = 1 / (1 + e^{−2k} e^{−2q}): the exponentials, by far the most of the
    work, are taken of keys and queries, not of their B·S·A sums a step. Each unit's keys are moved by the median of the
    first ones, and its queries the other way, so that large ones of opposite signs keep their sum. What then lies
    beyond ±``limit``, 43 in float32, counts as ±``limit``, so that no product is ∞ · 0. In float32 at least: σ(2x) of a
    small x is near 1/2, where half precision has few digits.
    """

    def __init__(self, keys: Float[Tensor, "batch source key"], weight: Float[Tensor, "key"]) -> None:
        self.projected = keys.shape[2]  # how many columns of a step's product are the query
        self.narrow = keys.dtype
        self.wide = torch.promote_types(keys.dtype, torch.float32)
        self.limit = math.log(torch.finfo(self.wide).max) / 2 - 1
        wide_keys = keys.to(self.wide)
        # of a few keys: all would take a fiftieth of a training step
        self.middle = wide_keys[:, :_FEW].nan_to_num(0.0, 0.0, 0.0).median(1, keepdim=True).values
        self.decayed_keys = self._decayed(wide_keys - self.middle)
        self.weight = weight.to(self.wide)
        self.one = self.weight.new_ones(())
        self.buffer = torch.empty_like(self.decayed_keys)

    def __call__(self, query: Float[Tensor, "batch key"]) -> Float[Tensor, "batch source"]:
        energies = torch.mv(self._sigmoid(query).view(-1, self.projected), self.weight * 2)
        return energies.view(self.decayed_keys.shape[:2])

    def start_backward(self) -> None:
        self.d_weight = torch.zeros_like(self.weight)  # Σ de_j tanh / 2
        self.squares = torch.zeros_like(self.decayed_keys)  # Σ_t de_tj tanh² / 4

    def backward(
        self, query: Float[Tensor, "batch key"], d_energies: Float[Tensor, "batch source"]
    ) -> Float[Tensor, "batch key"]:
        d_energies = d_energies.to(self.wide)
        half = self._sigmoid(query).sub_(0.5)  # tanh / 2
        self.d_weight += torch.mv(half.view(-1, self.projected).t(), d_energies.reshape(-1))
        square = half.mul_(half)
        self.squares.addcmul_(square, d_energies.unsqueeze(2))
        return torch.bmm(d_energies.unsqueeze(1), square).squeeze(1).mul_(self.weight).mul_(-4)

    def d_keys(
        self, d_energies: Float[Tensor, "time batch source"], queries: Float[Tensor, "time batch key"]
    ) -> tuple[Tensor, Tensor]:
        total = d_energies.sum(0, dtype=self.wide).unsqueeze(2)
        d_keys = torch.sub(total, self.squares, alpha=4).mul_(self.weight)
        return d_keys.to(self.narrow), self.d_weight.mul_(2).to(self.narrow)

    def _sigmoid(self, query: Float[Tensor, "batch key"]) -> Float[Tensor, "batch source key"]:
        decayed = self._decayed(query.unsqueeze(1) + self.middle)
        return torch.addcmul(self.one, self.decayed_keys, decayed, out=self.buffer).reciprocal_()

    def _decayed(self, values: Tensor) -> Tensor:
        return values.to(self.wide).clamp(-self.limit, self.limit).mul_(-2).exp_()


class BilinearEnergies:
    """e_j = q · k_j."""

    projected = 0

    def __init__(self, keys: Float[Tensor, "batch source key"]) -> None:
        self.keys = keys
        self.columns = keys.transpose(1, 2).contiguous()  # one row times a matrix is faster than a matrix times one row

    def __call__(self, query: Float[Tensor, "batch key"]) -> Float[Tensor, "batch source"]:
        return torch.bmm(query.unsqueeze(1), self.columns).squeeze(1)

    def start_backward(self) -> None:
        pass

    def backward(
        self, query: Float[Tensor, "batch key"], d_energies: Float[Tensor, "batch source"]
    ) -> Float[Tensor, "batch key"]:
        return torch.bmm(d_energies.unsqueeze(1), self.keys).squeeze(1)

    def d_keys(
        self, d_energies: Float[Tensor, "time batch source"], queries: Float[Tensor, "time batch key"]
    ) -> tuple[Tensor, None]:
        return torch.bmm(d_energies.permute(1, 2, 0), queries.transpose(0, 1)), None


Energies = AdditiveEnergies | BilinearEnergies


def energies_of(keys: Tensor, weight: Tensor | None) -> Energies:
    return BilinearEnergies(keys) if weight is None else AdditiveEnergies(keys, weight)


def look_at(
    energies: Energies,
    query: Float[Tensor, "batch key"],
    states: Float[Tensor, "batch source memory"],
    padding: Bool[Tensor, "batch source"],
    out: tuple[Float[Tensor, "batch memory"], Float[Tensor, "batch source"]],
) -> None:
    """A step's context and weights; ``padding`` is True on padding. The softmax is in float32 at least."""
    context, weights = out
    found = energies(query)
    wide = torch.promote_types(found.dtype, torch.float32)
    lowest = torch.finfo(found.dtype).min  # not -∞, of which a sentence without a word would make NaN
    weights.copy_(torch.softmax(found.masked_fill_(padding, lowest), dim=1, dtype=wide)).masked_fill_(padding, 0)
    torch.bmm(weights.unsqueeze(1), states, out=context.unsqueeze(1))


class LookBackward:
    """The backward pass of the looks of all steps."""

    def __init__(
        self,
        energies: Energies,
        states: Float[Tensor, "batch source memory"],
        weights: Float[Tensor, "time batch source"],
        d_contexts: Float[Tensor, "time batch memory"],
        d_weights: Float[Tensor, "time batch source"] | None,
    ) -> None:
        self.energies = energies
        self.weights = weights
        self.d_contexts = d_contexts
        self.d_weights = d_weights
        self.d_energies = torch.empty_like(weights)
        self.columns = states.transpose(1, 2).contiguous()
        energies.start_backward()

    def backward(self, t: int, query: Float[Tensor, "batch key"]) -> Float[Tensor, "batch key"]:
        """What the query of step ``t`` gets, once ``d_contexts[t]`` is whole."""
        weights, d_energies = self.weights[t], self.d_energies[t]
        d_weights = torch.bmm(self.d_contexts[t].unsqueeze(1), self.columns).squeeze(1)
        if self.d_weights is not None:
            d_weights += self.d_weights[t]
        torch.mul(weights, d_weights, out=d_energies)
        d_energies.addcmul_(weights, d_energies.sum(1, keepdim=True), value=-1)
        return self.energies.backward(query, d_energies)

    def d_keys(self, queries: Float[Tensor, "time batch key"]) -> tuple[Tensor, Tensor | None]:
        """What the keys and, where they are additive, the energies' v get."""
        return self.energies.d_keys(self.d_energies, queries)

    def d_states(self) -> Float[Tensor, "batch source memory"]:
        """What the states get as values."""
        return torch.bmm(self.weights.permute(1, 2, 0), self.d_contexts.transpose(0, 1))
