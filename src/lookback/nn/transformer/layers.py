"""What both stacks are made of: self-attention and a feed-forward network, each added to what it read.

Normalisation comes first, x + f(norm(x)), not last as in the paper: so deep stacks train without a careful warm-up
(Xiong et al. 2020).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.nn.transformer.positions import Positions
from lookback.nn.transformer.state import Cache


class SelfAttention(nn.Module):
    """softmax(Q Kᵀ / √d) V of a sentence with itself, ``heads`` times  (Vaswani et al. 2017, § 3.2)."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.projection = nn.Linear(size, 3 * size, bias=False)
        self.output = nn.Linear(size, size, bias=False)

    def forward(
        self,
        values: Float[Tensor, "batch time size"],
        positions: Positions,
        mask: Bool[Tensor, "batch 1 1 time"] | None = None,
    ) -> Float[Tensor, "batch time size"]:
        """Every position sees those of ``mask``; without one, itself and those before it."""
        query, key, value = map(self.by_head, self.projection(values).chunk(3, dim=-1))
        query, key = positions.rotate(query), positions.rotate(key)
        found = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=mask is None)
        return self.output(found.transpose(1, 2).flatten(2))

    def step(
        self, values: Float[Tensor, "batch n size"], positions: Positions, cache: Cache
    ) -> tuple[Float[Tensor, "batch n size"], Cache]:
        """One position of each hypothesis sees those before it, whose keys and values are in ``cache``.

        The cache that it leaves has one more.
        """
        query, key, value = self.projection(values).flatten(0, 1).unsqueeze(1).chunk(3, dim=-1)
        query, key = (positions.rotate(self.by_head(part), cache.words) for part in (query, key))
        word = torch.cat([key.transpose(1, 2).flatten(2), value], dim=-1)
        cache = cache.extended(word.view(*values.shape[:2], -1))
        keys, read = map(self.by_head, cache.values.flatten(0, 1).chunk(2, dim=-1))
        found = F.scaled_dot_product_attention(query, keys, read)
        return self.output(found.transpose(1, 2).reshape(values.shape)), cache

    def by_head(self, values: Float[Tensor, "rows time size"]) -> Float[Tensor, "rows heads time head"]:
        return values.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class FeedForward(nn.Sequential):
    """max(0, x W_1 + b_1) W_2 + b_2  (Vaswani et al. 2017, eq. 2)."""

    def __init__(self, size: int, inner_size: int) -> None:
        super().__init__(nn.Linear(size, inner_size), nn.ReLU(), nn.Linear(inner_size, size))


def check_sizes(hidden_size: int, heads: int, positions: str) -> None:
    """Raises ValueError where heads cannot share the size, or cannot be rotated by pairs."""
    if hidden_size % heads:
        raise ValueError(f"heads={heads}: expected a divisor of hidden_size={hidden_size}")
    if hidden_size % 2 or (positions == "rotary" and hidden_size // heads % 2):
        raise ValueError(
            f"hidden_size={hidden_size}: expected an even size"
            + (f" of each of heads={heads}" if positions == "rotary" else "")
            + f", as positions={positions} come in pairs of sine and cosine"
        )
