"""Several looks at once, each with projections of its own."""

import math

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.common.checks import Size, Width, checked
from lookback.nn.attention.attention import Attention, AttentionState, Look, masked_softmax
from lookback.nn.memory import Memory


@checked
class MultiHeadAttention(Attention):
    """c = [head_1; …; head_h] W_O,  head_k = softmax(q W_Q^k (h W_K^k)ᵀ / √d) h W_V^k  (Vaswani et al. 2017, § 3.2.2).

    attention_size: of all heads' queries, keys and values together; d is ``attention_size / heads``.
    """

    projects = True

    def __init__(self, query_size: Size, memory_size: Size, attention_size: Width, heads: Width = 4) -> None:
        super().__init__(query_size, memory_size)
        if attention_size % heads:
            raise ValueError(f"heads={heads}: expected a divisor of attention_size={attention_size}")
        self.heads = heads
        self.from_query = nn.Linear(query_size, attention_size, bias=False)
        self.from_memory = nn.Linear(memory_size, 2 * attention_size, bias=False)
        self.output = nn.Linear(attention_size, memory_size, bias=False)

    def keys(self, states: Float[Tensor, "batch source memory"]) -> Float[Tensor, "batch heads both d"]:
        """Of each head the keys of all positions, then the values: so a step multiplies them where they lie."""
        both = self.from_memory(states).unflatten(-1, (2, self.heads, -1))
        return both.permute(0, 3, 2, 1, 4).flatten(2, 3)

    def read(self, query: Float[Tensor, "batch n query"], keys: Tensor, memory: Memory, state: AttentionState) -> Look:
        asked, compared, read = self._by_head(query, keys)
        energies = (asked @ compared.transpose(2, 3)) / math.sqrt(asked.shape[-1])
        weights = masked_softmax(energies.transpose(1, 2).flatten(1, 2), memory.mask.unsqueeze(1))
        by_head = weights.unflatten(1, (-1, self.heads))
        context = self.output((by_head.transpose(1, 2) @ read).transpose(1, 2).flatten(2))
        return Look(context, by_head.mean(2), state, by_head)

    def context(
        self, query: Float[Tensor, "batch time query"], keys: Tensor, memory: Memory
    ) -> Float[Tensor, "batch time memory"]:
        mask = memory.mask[:, None, None, :]
        found = F.scaled_dot_product_attention(*self._by_head(query, keys), attn_mask=mask)
        return self.output(found.transpose(1, 2).flatten(2))

    def _by_head(
        self, query: Float[Tensor, "batch n query"], keys: Float[Tensor, "batch heads both d"]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (batch, heads, n, d), keys and values (batch, heads, source, d)."""
        asked = self.from_query(query).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return asked, *keys.chunk(2, dim=2)
