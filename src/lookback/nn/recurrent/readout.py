"""Readouts: from the querying state, the previous word and the context to the vector that predicts the next word."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Readout(nn.Module):
    """t = f(U s + V y + C c), a linear map of each part and what a subclass makes of their sum.

    context_size is 0 where the context does not enter the readout (``decoder.context_to`` lacks ``readout``).
    """

    uses_embedding = True

    def __init__(self, query_size: int, embedding_size: int, context_size: int, size: int) -> None:
        super().__init__()
        width = self.width(size)
        self.from_query = nn.Linear(query_size, width)
        self.from_embedding = nn.Linear(embedding_size, width, bias=False) if self.uses_embedding else None
        self.from_context = nn.Linear(context_size, width, bias=False) if context_size else None

    @staticmethod
    def width(size: int) -> int:
        """The size of the sum behind a readout of ``size``."""
        return size

    def activate(self, total: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch size"]:
        raise NotImplementedError

    def forward(
        self,
        query: Float[Tensor, "*batch query"],
        embedded: Float[Tensor, "*batch embedding"],
        context: Float[Tensor, "*batch context"],
    ) -> Float[Tensor, "*batch size"]:
        return self.combine(query, self.of_word(embedded), context)

    def of_word(self, embedded: Float[Tensor, "*batch embedding"]) -> Float[Tensor, "*batch width"] | None:
        """V y: the word's part of the sum, if it has one."""
        return None if self.from_embedding is None else self.from_embedding(embedded)

    def combine(
        self,
        query: Float[Tensor, "*batch query"],
        of_word: Float[Tensor, "*batch width"] | None,
        context: Float[Tensor, "*batch context"],
    ) -> Float[Tensor, "*batch size"]:
        """The readout of a word whose part of the sum is known."""
        total = self.from_query(query)
        if of_word is not None:
            total = total + of_word
        if self.from_context is not None:
            total = total + self.from_context(context)
        return self.activate(total)


class MaxoutReadout(Readout):
    """t̃ = U s_{i-1} + V y_{i-1} + C c_i,  t_j = max(t̃_{2j-1}, t̃_{2j})  (Bahdanau et al. 2015, App. A.2.2)."""

    @staticmethod
    def width(size: int) -> int:
        return 2 * size

    def activate(self, total: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch size"]:
        return total.unflatten(-1, (-1, 2)).amax(-1)


class AttentionalReadout(Readout):
    """h̃_t = tanh(W_c [c_t; h_t])  (Luong et al. 2015, eq. 5)."""

    uses_embedding = False

    def activate(self, total: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch size"]:
        return torch.tanh(total)


class LinearReadout(Readout):
    """t = U s + V y + C c, with nothing after it."""

    def activate(self, total: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch size"]:
        return total


ReadoutName = Literal["maxout", "attentional", "linear"]
READOUTS: dict[ReadoutName, type[Readout]] = {
    "maxout": MaxoutReadout,
    "attentional": AttentionalReadout,
    "linear": LinearReadout,
}
