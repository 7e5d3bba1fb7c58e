"""Attentions with one mistake each, as a user may make them. Their weights are those of ``AdditiveAttention``."""

from typing import Any

import torch
from torch import Tensor

from lookback.nn import AdditiveAttention, AttentionState, Look, Memory, masked_softmax


class Additive(AdditiveAttention):
    """No mistake: the additive attention, in the parts that the others change."""

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        return masked_softmax(energies, mask)

    def read(self, query: Tensor, keys: Tensor, memory: Memory, state: AttentionState) -> Look:
        weights = self.weights(self.energies(query, keys), memory.mask.unsqueeze(1))
        return Look(torch.bmm(weights, memory.states), weights, state)


class OverPadding(Additive):
    """Looks at padding."""

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        return torch.softmax(energies, dim=-1)


class NotNormalised(Additive):
    """Its weights do not sum to 1."""

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        return torch.sigmoid(energies) * mask


class ByPlace(Additive):
    """A sentence's weights depend on its place in the batch."""

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        place = torch.arange(len(energies), dtype=energies.dtype)
        return masked_softmax(energies * (1 + place).view(-1, 1, 1), mask)


class OfTheBatch(Additive):
    """Energies are centred over the sentences of a batch."""

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        return masked_softmax(energies - energies.mean(dim=0), mask)


class OverSteps(Additive):
    """Energies are centred over the steps that are asked for at once, and over hypotheses in a beam."""

    default_query = "current"

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        return masked_softmax(energies - energies.mean(dim=1, keepdim=True), mask)


class WithDropout(Additive):
    """Its dropout stays on after training."""

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        return masked_softmax(torch.nn.functional.dropout(energies, 0.3), mask)


class OnModule(Additive):
    """Remembers where it looked on the module, not in its state."""

    remembers = True

    def start(self, memory: Memory) -> AttentionState:
        self.seen = memory.states.new_zeros(len(memory.states), 1, memory.states.shape[1])
        return ()

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        weights = masked_softmax(energies - 5 * self.seen, mask)
        self.seen = self.seen + weights
        return weights


class InState(OnModule):
    """The same without the mistake."""

    def start(self, memory: Memory) -> AttentionState:
        super().start(memory)
        return (self.seen,)

    def read(self, query: Tensor, keys: Tensor, memory: Memory, state: AttentionState) -> Look:
        (self.seen,) = state
        look = super().read(query, keys, memory, ())
        return Look(look.context, look.weights, (self.seen,))


class Unsaved(Additive):
    """A part of it is no parameter and no buffer: it is drawn anew whenever it is built."""

    def __init__(self, *sizes: Any, **named: Any) -> None:
        super().__init__(*sizes, **named)
        self.slope = 10 * float(torch.randn(1))

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        positions = torch.arange(energies.shape[-1], dtype=energies.dtype)
        return masked_softmax(energies + self.slope * positions, mask)


class InFloat32(Additive):
    """No mistake, but a tensor of it is float32 whatever the model is, so that float64 is refused."""

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        return masked_softmax(energies @ torch.eye(energies.shape[-1], dtype=torch.float32), mask)


class Collapsed(Additive):
    """Looks at the first word, whatever the query."""

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        first = torch.zeros_like(energies)
        first[..., 0] = 1
        return first


class OnTheEnd(Additive):
    """Looks at the end mark, whatever the query."""

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        last = mask.sum(-1, keepdim=True) - 1
        return torch.zeros_like(energies).scatter(-1, last.expand(*energies.shape[:2], 1), 1.0)


class Even(Additive):
    """Looks at all words alike, whatever the query."""

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        return masked_softmax(torch.zeros_like(energies), mask)


class Raising(Additive):
    """Cannot read a batch of one sentence."""

    def weights(self, energies: Tensor, mask: Tensor) -> Tensor:
        return masked_softmax(energies, mask.squeeze())
