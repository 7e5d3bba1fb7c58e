"""Attention by position alone: which source position to look at, whatever stands there."""

import math

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.common.checks import Size, Width, checked
from lookback.nn.attention.attention import Attention


@checked
class LocationAttention(Attention):
    """α_t = softmax(W_a h_t)  (Luong et al. 2015, eq. 9): a row of W_a for each source position.

    positions: how many positions have a row. As in the paper, a shorter source uses the first rows, and of a longer one
        what stands behind the last row is never looked at.
    """

    def __init__(self, query_size: Size, memory_size: Size, positions: Width = 128) -> None:
        super().__init__(query_size, memory_size)
        self.from_query = nn.Linear(query_size, positions, bias=False)

    def keys(self, states: Float[Tensor, "batch source memory"]) -> Float[Tensor, "batch source key"]:
        return states[..., :0]  # nothing is compared

    def energies(
        self, query: Float[Tensor, "batch n query"], keys: Float[Tensor, "batch source key"]
    ) -> Float[Tensor, "batch n source"]:
        source, positions = keys.shape[1], len(self.from_query.weight)
        energies = F.linear(query, self.from_query.weight[:source])
        return F.pad(energies, (0, max(0, source - positions)), value=-math.inf)
