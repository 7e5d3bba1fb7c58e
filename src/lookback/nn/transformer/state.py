"""What a Transformer's decoder remembers between two steps."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lookback.nn.attention import AttentionState, Reader

MORE = 8
"""Words that a new room has place for, beyond those it begins with: so many steps are taken before it is copied."""


@dataclass
class Room:
    """Memory for the keys and values of words. A cache and those that go on from it share one.

    memory: of the words that stand in it, and of words to come.
    words: how many stand in it, those of the longest cache.
    """

    memory: Float[Tensor, "batch n most both"]
    words: int


@dataclass(frozen=True)
class Cache:
    """Keys and values of the words so far, the first ones of a room."""

    room: Room
    words: int

    @classmethod
    def of(cls, values: Float[Tensor, "batch n words both"], more: int = 0) -> "Cache":
        """Of these keys and values, in a room of their own with place for ``more`` words."""
        words = values.shape[2]
        return cls(Room(F.pad(values, (0, 0, 0, more)) if more else values, words), words)

    @property
    def values(self) -> Float[Tensor, "batch n words both"]:
        """Keys and values side by side."""
        return self.room.memory[:, :, : self.words]

    def extended(self, word: Float[Tensor, "batch n both"]) -> "Cache":
        """With one word more: in the same room, where no other cache has taken the next place."""
        memory = self.room.memory
        # a backward pass may read what stands there, and an inference tensor is written in inference mode alone
        may_write = not torch.is_grad_enabled() and torch.is_inference_mode_enabled() == memory.is_inference()
        if may_write and word.dtype == memory.dtype and self.room.words == self.words < memory.shape[2]:
            memory[:, :, self.words] = word
            self.room.words += 1
            return Cache(self.room, self.words + 1)
        return Cache.of(torch.cat([self.values.to(word.dtype), word.unsqueeze(2)], dim=2), MORE if may_write else 0)

    def of_rows(self, rows: Int[Tensor, "row"], n: int) -> "Cache":
        """Of some of the hypotheses, ``n`` of each sentence."""
        memory = self.room.memory.flatten(0, 1).index_select(0, rows).unflatten(0, (-1, n))
        return Cache(Room(memory, self.words), self.words)

    def of_sentences(self, rows: Int[Tensor, "some"]) -> "Cache":
        """Of some of the sentences, all of their hypotheses."""
        return Cache(Room(self.room.memory[rows], self.words), self.words)


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
        n = self.caches[0].values.shape[1]
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
            tuple(cache.of_sentences(rows) for cache in self.caches),
            tuple(tuple(values[rows] for values in look) for look in self.looks),
            tuple(reader.of_sentences(rows) for reader in self.readers),
        )
