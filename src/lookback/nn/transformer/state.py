"""What a Transformer's decoder remembers between two steps."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lookback.nn.attention import AttentionState, Reader


@dataclass(frozen=True)
class TransformerState:
    """Of each layer: keys and values of the words so far, what its attention remembers, and its reader of the source.

    The hypotheses of a sentence share the readers.
    """

    caches: tuple[Float[Tensor, "batch n time both"], ...]
    looks: tuple[AttentionState, ...]
    readers: tuple[Reader, ...]

    def reorder(self, index: Int[Tensor, "batch m"]) -> "TransformerState":
        """The state of hypotheses ``index[b]`` of each sentence."""
        n = self.caches[0].shape[1]
        rows = (index + n * torch.arange(len(index), device=index.device).unsqueeze(1)).flatten()

        def chosen(values: Tensor) -> Tensor:
            return values.flatten(0, 1).index_select(0, rows).unflatten(0, index.shape)

        return TransformerState(
            tuple(map(chosen, self.caches)), tuple(tuple(map(chosen, look)) for look in self.looks), self.readers
        )

    def of_sentences(self, rows: Int[Tensor, "some"]) -> "TransformerState":
        """The state of some of the sentences, all of their hypotheses."""
        return TransformerState(
            tuple(cache[rows] for cache in self.caches),
            tuple(tuple(values[rows] for values in look) for look in self.looks),
            tuple(reader.of_sentences(rows) for reader in self.readers),
        )
