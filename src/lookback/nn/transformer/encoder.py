"""The Transformer's encoder: every source position sees every other."""

from collections.abc import Sequence
from typing import cast

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from lookback.common.checks import Depth, PartialShare, Size, Width, checked
from lookback.common.special_tokens import PAD
from lookback.nn.memory import Memory, length_mask
from lookback.nn.transformer.layers import FeedForward, SelfAttention, check_sizes
from lookback.nn.transformer.positions import PositionName, Positions


class EncoderLayer(nn.Module):
    """x + attention(norm(x)), and of that x + feed_forward(norm(x))."""

    def __init__(self, size: int, heads: int, feed_forward_size: int, dropout: nn.Dropout) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(size)
        self.attention = SelfAttention(size, heads)
        self.feed_forward_norm = nn.LayerNorm(size)
        self.feed_forward = FeedForward(size, feed_forward_size)
        self.dropout = dropout

    def forward(
        self, x: Float[Tensor, "batch source size"], positions: Positions, mask: Bool[Tensor, "batch 1 1 source"]
    ) -> Float[Tensor, "batch source size"]:
        x = x + self.dropout(self.attention(self.attention_norm(x), positions, mask))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


@checked
class TransformerEncoder(nn.Module):
    """A stack of layers in which every source position sees every other (Vaswani et al. 2017, § 3.1), norms first.

    It has no state that has read the whole sentence: as the memory's final state it leaves the mean of its states over
    the sentence's positions.

    hidden_size: of words, layers and states.
    heads: of each self-attention; a divisor of ``hidden_size``.
    feed_forward_size: of each layer's inner values.
    positions, position_table: see `Positions`.
    dropout: share of values dropped from words and from what each part of a layer adds, in training.

    final_size and memory_size, the sizes of the final state and of a memory state, are ``hidden_size``.
    """

    def __init__(
        self,
        vocabulary_size: Size,
        hidden_size: Width,
        heads: Width = 4,
        layers: Depth = 3,
        feed_forward_size: Width = 1024,
        positions: PositionName = "sinusoidal",
        position_table: Size = 1024,
        dropout: PartialShare = 0.0,
    ) -> None:
        super().__init__()
        check_sizes(hidden_size, heads, positions)
        self.final_size = self.memory_size = hidden_size
        self.embedding = nn.Embedding(vocabulary_size, hidden_size, padding_idx=PAD)
        self.positions = Positions(positions, hidden_size, position_table, "encoder")
        self.dropout = nn.Dropout(dropout)
        stack = nn.ModuleList(EncoderLayer(hidden_size, heads, feed_forward_size, self.dropout) for _ in range(layers))
        self.layers = cast(Sequence[EncoderLayer], stack)
        self.norm = nn.LayerNorm(hidden_size)

    def forward(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]) -> Memory:
        """Encode padded sentences of true ``lengths`` (≥ 1, end mark included)."""
        mask = length_mask(lengths, source.shape[1])
        x = self.dropout(self.positions.add(self.embedding(source)))
        for layer in self.layers:
            x = layer(x, self.positions, mask[:, None, None, :])
        states = self.norm(x) * mask.unsqueeze(-1)
        return Memory(states, mask, states.sum(1, keepdim=True) / lengths.view(-1, 1, 1))
