"""Multiplicative energies: a product of query and key."""

import math

from jaxtyping import Float
from torch import Tensor, nn

from lookback.common.checks import Size
from lookback.nn.attention.attention import Attention, Scorer


class GeneralAttention(Attention):
    """e_tj = h_tᵀ W h_j  (Luong et al. 2015, eq. 8, general)."""

    def __init__(self, query_size: Size, memory_size: Size) -> None:
        super().__init__(query_size, memory_size)
        self.from_memory = nn.Linear(memory_size, query_size, bias=False)

    def keys(self, states: Float[Tensor, "batch source memory"]) -> Float[Tensor, "batch source key"]:
        return self.from_memory(states)

    def energies(
        self, query: Float[Tensor, "batch n query"], keys: Float[Tensor, "batch source key"]
    ) -> Float[Tensor, "batch n source"]:
        return query @ keys.transpose(1, 2)

    def scorer(self) -> Scorer | None:
        return Scorer(None, None) if _is_product(self, GeneralAttention) else None


class DotAttention(Attention):
    """e_tj = h_tᵀ h_j  (Luong et al. 2015, eq. 8, dot). It has no parameters, so both sizes must be equal."""

    def __init__(self, query_size: Size, memory_size: Size) -> None:
        super().__init__(query_size, memory_size)
        if query_size != memory_size:
            raise ValueError(
                f"dot attention compares states of equal size, but the decoder's is query_size={query_size} and the "
                f"encoder's memory_size={memory_size}; set decoder.hidden_size={memory_size}, "
                "or use attention=general, which learns a projection"
            )

    def keys(self, states: Float[Tensor, "batch source memory"]) -> Float[Tensor, "batch source key"]:
        return states

    def energies(
        self, query: Float[Tensor, "batch n query"], keys: Float[Tensor, "batch source key"]
    ) -> Float[Tensor, "batch n source"]:
        return query @ keys.transpose(1, 2)

    def scorer(self) -> Scorer | None:
        return Scorer(None, None) if _is_product(self, DotAttention) else None


class ScaledDotAttention(DotAttention):
    """e_tj = h_tᵀ h_j / √H  (Vaswani et al. 2017, eq. 1): dot, whose energies do not grow with H, the size of both."""

    def keys(self, states: Float[Tensor, "batch source memory"]) -> Float[Tensor, "batch source key"]:
        return states / math.sqrt(self.memory_size)


def _is_product(attention: Attention, kind: type[GeneralAttention] | type[DotAttention]) -> bool:
    """Whether its energies are those of ``kind``: a subclass may look in another way."""
    return type(attention).energies is kind.energies and type(attention).read is Attention.read
