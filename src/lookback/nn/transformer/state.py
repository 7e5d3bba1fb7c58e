"""What a Transformer's decoder remembers between two steps."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lookback.nn.attention import AttentionState, Reader

ROOM = 8
"""Words that a cache has room for, beyond those it has: so many steps are taken before it is copied."""


@dataclass(frozen=True)
class Cache:
    """Keys and values of the words so far. A longer one shares the memory, where it is the first to take the room.

    memory: of ``words`` words, and of words to come.
    taken: how many words stand in the memory, those of longer caches counted: a list of one number, which they share.
    """

    memory: Float[Tensor, "batch n room both"]
    words: int = 0
    taken: list[int] = field(default_factory=lambda: [0])

    @property
    def values(self) -> Float[Tensor, "batch n words both"]:
        """Keys and values side by side."""
        return self.memory[:, :, : self.words]

    def extended(self, word: Float[Tensor, "batch n both"]) -> "Cache":
        """With one word more."""
        # a backward pass may read what stands there, and an inference tensor is written in inference mode alone
        may_write = not torch.is_grad_enabled() and torch.is_inference_mode_enabled() == self.memory.is_inference()
        if may_write and word.dtype == self.memory.dtype and self.taken[0] == self.words < self.memory.shape[2]:
            self.memory[:, :, self.words] = word
            self.taken[0] += 1
            return Cache(self.memory, self.words + 1, self.taken)
        room = ROOM if may_write else 0
        values = torch.cat([self.values.to(word.dtype), word.unsqueeze(2)], dim=2)
        return Cache(F.pad(values, (0, 0, 0, room)), self.words + 1, [self.words + 1])

    def of_rows(self, rows: Int[Tensor, "row"], n: int) -> "Cache":
        """Of some of the hypotheses, ``n`` of each sentence."""
        memory = self.memory.flatten(0, 1).index_select(0, rows)
        return Cache(memory.unflatten(0, (-1, n)), self.words, [self.words])


@dataclass(frozen=True)
class TransformerState:
    """Of each layer: keys and values of the words so far, what its attention remembers, and its reader of the source.

    The hypotheses of a sentence share the readers.
    """

    caches: tuple[Cache, ...]
    looks: tuple[AttentionState, ...]
    readers: tuple[Reader, ...]

    def reorder(self, index: Int[Tensor, "batch m"]) -> "TransformerState":
        """The state of hypotheses ``index[b]`` of each sentence."""
        n = self.caches[0].memory.shape[1]
        rows = (index + n * torch.arange(len(index), device=index.device).unsqueeze(1)).flatten()

        def chosen(values: Tensor) -> Tensor:
            return values.flatten(0, 1).index_select(0, rows).unflatten(0, index.shape)

        return TransformerState(
            tuple(cache.of_rows(rows, index.shape[1]) for cache in self.caches),
            tuple(tuple(map(chosen, look)) for look in self.looks),
            self.readers,
        )

    def of_sentences(self, rows: Int[Tensor, "some"]) -> "TransformerState":
        """The state of some of the sentences, all of their hypotheses."""
        return TransformerState(
            tuple(Cache(cache.memory[rows], cache.words, [cache.words]) for cache in self.caches),
            tuple(tuple(values[rows] for values in look) for look in self.looks),
            tuple(reader.of_sentences(rows) for reader in self.readers),
        )
