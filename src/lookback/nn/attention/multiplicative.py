"""Multiplicative energies: a product of query and key."""

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
        return Scorer(None, None) if type(self) is GeneralAttention else None


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
        return Scorer(None, None) if type(self) is DotAttention else None
