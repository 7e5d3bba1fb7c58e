"""The Transformer's decoder: every word sees those before it, and each layer looks back at the source."""

import copy
from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lookback.common.checks import Depth, PartialShare, Size, Width, checked
from lookback.common.special_tokens import PAD
from lookback.nn.attention import Attention, AttentionState, Look, Reader
from lookback.nn.kernels.columns import by_columns
from lookback.nn.memory import Memory
from lookback.nn.transformer.layers import FeedForward, SelfAttention, check_sizes
from lookback.nn.transformer.positions import PositionName, Positions
from lookback.nn.transformer.state import Cache, TransformerState


class DecoderLayer(nn.Module):
    """x + self_attention(norm(x)), then x + look(norm(x)) at the source, then x + feed_forward(norm(x))."""

    def __init__(
        self, size: int, heads: int, feed_forward_size: int, attention: Attention, dropout: nn.Dropout
    ) -> None:
        super().__init__()
        self.self_attention_norm = nn.LayerNorm(size)
        self.self_attention = SelfAttention(size, heads)
        # who looks nowhere has no query, and DDP waits for the gradient of every parameter
        self.attention_norm = nn.LayerNorm(size) if attention.looks_back else nn.Identity()
        self.attention = attention
        is_projected = attention.projects and attention.memory_size == size
        self.from_context = None if is_projected else nn.Linear(attention.memory_size, size, bias=False)
        self.feed_forward_norm = nn.LayerNorm(size)
        self.feed_forward = FeedForward(size, feed_forward_size)
        self.dropout = dropout

    def forward(
        self, x: Float[Tensor, "batch time size"], positions: Positions, reader: Reader
    ) -> Float[Tensor, "batch time size"]:
        """All words of a known target."""
        x = self._after_itself(x, positions)
        return self._after_context(x, reader.context(self.attention_norm(x)))

    def look(
        self, x: Float[Tensor, "batch time size"], positions: Positions, reader: Reader
    ) -> tuple[Float[Tensor, "batch time size"], Look]:
        """The same, and where it looked."""
        x = self._after_itself(x, positions)
        look = reader.read_all(self.attention_norm(x))
        return self._after_context(x, look.context), look

    def step(
        self,
        x: Float[Tensor, "batch n size"],
        positions: Positions,
        cache: Cache,
        state: AttentionState,
        reader: Reader,
    ) -> tuple[Float[Tensor, "batch n size"], Cache, Look]:
        """One word of each hypothesis, and the keys and values of all words up to it."""
        found, cache = self.self_attention.step(self.self_attention_norm(x), positions, cache)
        x = x + self.dropout(found)
        look = reader.read(self.attention_norm(x), state)
        return self._after_context(x, look.context), cache, look

    def _after_itself(self, x: Float[Tensor, "batch time size"], positions: Positions) -> Tensor:
        return x + self.dropout(self.self_attention(self.self_attention_norm(x), positions))

    def _after_context(self, x: Float[Tensor, "batch n size"], context: Float[Tensor, "batch n memory"]) -> Tensor:
        x = x + self.dropout(context if self.from_context is None else self.from_context(context))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


@checked
class TransformerDecoder(nn.Module):
    """A stack of layers over the words so far, each of which looks at the source  (Vaswani et al. 2017, § 3.1).

    attention: how each layer looks; every layer has one of its own, of the same kind. The paper's is ``multihead``.
        With ``none`` each layer gets the fixed vector in place of a look, through a projection of its own. One that
        remembers its looks, such as ``coverage``, is trained step by step, at a fraction of the speed.
    hidden_size: of words and layers, and so of queries and of the vectors that predict words.
    heads: of each self-attention; a divisor of ``hidden_size``.
    feed_forward_size: of each layer's inner values.
    positions, position_table: see `Positions`.
    tie_embeddings: the vocabulary projection is the target embedding (Press and Wolf 2017).
    dropout: share of values dropped from words and from what each part of a layer adds, in training.

    The weights α that it says are the mean over layers.
    """

    def __init__(
        self,
        vocabulary_size: Size,
        attention: Attention,
        hidden_size: Width,
        heads: Width = 4,
        layers: Depth = 3,
        feed_forward_size: Width = 1024,
        positions: PositionName = "sinusoidal",
        position_table: Size = 1024,
        tie_embeddings: bool = True,
        dropout: PartialShare = 0.0,
    ) -> None:
        super().__init__()
        check_sizes(hidden_size, heads, positions)
        if attention.query_size != hidden_size:
            raise ValueError(f"hidden_size={hidden_size}: the attention expects queries of size {attention.query_size}")
        self.embedding = nn.Embedding(vocabulary_size, hidden_size, padding_idx=PAD)
        self.positions = Positions(positions, hidden_size, position_table, "decoder")
        self.dropout = nn.Dropout(dropout)
        stack = nn.ModuleList(
            DecoderLayer(hidden_size, heads, feed_forward_size, copy.deepcopy(attention), self.dropout)
            for _ in range(layers)
        )
        self.layers = cast(Sequence[DecoderLayer], stack)
        self.norm = nn.LayerNorm(hidden_size)
        self.vocabulary = nn.Linear(hidden_size, vocabulary_size)
        if tie_embeddings:
            self.vocabulary.weight = self.embedding.weight

    @property
    def longest(self) -> int | None:
        """How many tokens of a target it can write or read; None where there is no limit."""
        return self.positions.most

    @property
    def look_names(self) -> tuple[str, ...]:
        """Of each layer, and of each head of it, where there are several."""
        depths, heads = range(1, len(self.layers) + 1), range(1, self.attention.heads + 1)
        names = []
        for layer in [f"layer {depth}" for depth in depths] if len(depths) > 1 else [""]:
            names += [layer] if layer else []
            names += [f"{layer} head {head}".lstrip() for head in heads] if len(heads) > 1 else []
        return tuple(names)

    @property
    def attention(self) -> Attention:
        """The first layer's; those of the others are of its kind."""
        return self.layers[0].attention

    def start(self, memory: Memory) -> TransformerState:
        """The state before the first word, n = 1."""
        readers = tuple(layer.attention.over(memory) for layer in self.layers)
        empty = Cache.of(memory.states.new_empty(len(memory.states), 1, 0, 2 * self.norm.normalized_shape[0]))
        return TransformerState((empty,) * len(readers), tuple(reader.start() for reader in readers), readers)

    def step(
        self, state: TransformerState, words: Int[Tensor, "batch n"]
    ) -> tuple[TransformerState, Float[Tensor, "batch n readout"], Float[Tensor, "batch n source"]]:
        """Read one word a hypothesis: the next state, the vector that predicts the next word, and the weights α."""
        state, vectors, looks = self._step(state, words)
        return state, vectors, torch.stack([look.weights for look in looks]).mean(0)

    def vectors(self, words: Int[Tensor, "batch time"], memory: Memory) -> Float[Tensor, "batch time readout"]:
        """The vectors that predict w_1 … w_T of a known target <s> w_1 … w_{T-1}, where nobody asks where it looked."""
        if self.attention.remembers:
            return self.unroll(words, memory)[0]
        x = self.dropout(self.positions.add(self.embedding(words)))
        for layer in self.layers:
            x = layer(x, self.positions, layer.attention.over(memory))
        return self.norm(x)

    def unroll(
        self, words: Int[Tensor, "batch time"], memory: Memory
    ) -> tuple[Float[Tensor, "batch time readout"], Float[Tensor, "batch time source"]]:
        """Read a known target <s> w_1 … w_{T-1}: the vectors that predict w_1 … w_T, and the weights α."""
        vectors, looks = self.looks(words, memory)
        return vectors, torch.stack([look.weights for look in looks]).mean(0)

    def looks(
        self, words: Int[Tensor, "batch time"], memory: Memory
    ) -> tuple[Float[Tensor, "batch time readout"], list[Look]]:
        """The same, with each layer's own look."""
        if self.attention.remembers:
            return self._looks_step_by_step(words, memory)
        x = self.dropout(self.positions.add(self.embedding(words)))
        looks = []
        for layer in self.layers:
            x, look = layer.look(x, self.positions, layer.attention.over(memory))
            looks.append(look)
        return self.norm(x), looks

    def logits(self, vectors: Float[Tensor, "*batch readout"]) -> Float[Tensor, "*batch vocabulary"]:
        """Scores of the next word, before the softmax."""
        return self.vocabulary(vectors)

    def laid_out(self, dtype: torch.dtype) -> "TransformerDecoder":
        """The same decoder for searches, its weights as they are now."""
        memo: dict[int, object] = {id(self.vocabulary): self.vocabulary, id(self.embedding): self.embedding}
        for module in self.layers:
            matrices = (parameter for parameter in module.parameters() if parameter.dim() == 2)
            memo |= {id(matrix): by_columns(matrix, dtype) for matrix in matrices}
        memo[id(self.dropout)] = nn.Identity()
        return copy.deepcopy(self, memo)

    def _step(
        self, state: TransformerState, words: Int[Tensor, "batch n"]
    ) -> tuple[TransformerState, Float[Tensor, "batch n readout"], list[Look]]:
        before = state.caches[0].words
        x = self.dropout(self.positions.add(self.embedding(words).unsqueeze(2), before).squeeze(2))
        caches, looks = [], []
        for layer, cache, remembered, reader in zip(self.layers, state.caches, state.looks, state.readers, strict=True):
            x, after, look = layer.step(x, self.positions, cache, remembered, reader)
            caches.append(after)
            looks.append(look)
        state = TransformerState(tuple(caches), tuple(look.state for look in looks), state.readers)
        return state, self.norm(x), looks

    def _looks_step_by_step(
        self, words: Int[Tensor, "batch time"], memory: Memory
    ) -> tuple[Float[Tensor, "batch time readout"], list[Look]]:
        state, vectors, steps = self.start(memory), [], []
        for word in words.unsqueeze(2).unbind(1):
            state, vector, looks = self._step(state, word)
            vectors.append(vector)
            steps.append(looks)
        return torch.cat(vectors, dim=1), [Look.of_steps(looks) for looks in zip(*steps, strict=True)]
