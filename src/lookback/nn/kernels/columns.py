"""How weights and logits lie in memory where few rows are multiplied at a time, as in a search."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lookback.common.special_tokens import BOS, PAD

GROUPS = 128
"""A multiple of the processor's vectors, and about √(2 · 8,000): finding groups costs what looking into them does."""

TAIL = 16
"""Columns of what is never chosen; as many as keep each row at the start of a cache line."""


@dataclass(frozen=True)
class Columns:
    """How the logits of a vocabulary stand side by side: word w in column w, then unused columns, then a tail.

    Column g + GROUPS · i is number i of group g. Padding and the begin token have a probability but are never chosen:
    their logits stand in the tail, behind all groups. Unused columns, and tokens that are never chosen, hold
    ``nothing``, the lowest number.
    """

    vocabulary_size: int

    @property
    def depth(self) -> int:
        """Words a group."""
        return math.ceil(self.vocabulary_size / GROUPS)

    def projection(
        self, weight: Float[Tensor, "vocabulary readout"], bias: Float[Tensor, "vocabulary"]
    ) -> Float[Tensor, "readout+1 columns"]:
        """What a readout vector and a 1 behind it are multiplied by."""
        words = torch.cat([weight.t(), bias.unsqueeze(0)])
        groups = GROUPS * self.depth
        result = words.new_zeros(len(words), groups + TAIL)
        result[-1] = self.nothing(words.dtype)
        result[:, : self.vocabulary_size] = words
        for place, token in enumerate((PAD, BOS)):
            result[:, groups + place] = words[:, token]
            result[:-1, token] = 0
            result[-1, token] = self.nothing(words.dtype)
        return result

    @staticmethod
    def nothing(dtype: torch.dtype) -> float:
        """The logit of no word. Not -inf: products of reduced precision may split numbers in two, and -inf into NaN."""
        return torch.finfo(dtype).min / 2

    def arranged(self, logits: Float[Tensor, "batch n vocabulary"]) -> Float[Tensor, "batch n columns"]:
        """Logits that stand a word a column, as these columns have them."""
        groups = GROUPS * self.depth
        result = logits.new_full((*logits.shape[:-1], groups + TAIL), self.nothing(logits.dtype))
        result[..., : self.vocabulary_size] = logits
        for place, token in enumerate((PAD, BOS)):
            result[..., groups + place] = logits[..., token]
            result[..., token] = self.nothing(logits.dtype)
        return result


def by_columns(parameter: Tensor, dtype: torch.dtype) -> nn.Parameter:
    """The same values; a matrix in memory as its transpose is by default."""
    values = parameter.detach().to(dtype)
    return nn.Parameter(values.t().contiguous().t() if values.dim() == 2 else values.clone(), requires_grad=False)
