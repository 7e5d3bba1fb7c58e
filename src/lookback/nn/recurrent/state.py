"""What a decoder remembers between two steps."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lookback.nn.attention import AttentionState, Reader


@dataclass(frozen=True)
class DecoderState:
    """All that a decoder remembers between two steps; the one thing to reorder when a search reorders hypotheses.

    recurrent: the state of each layer.
    feed: the last readout vector, where it is fed back; else None.
    attention: what the attention remembers of its looks.
    reader: the attention over the source, which the hypotheses of a sentence share.
    """

    recurrent: Float[Tensor, "batch n layers state"]
    feed: Float[Tensor, "batch n readout"] | None
    attention: AttentionState
    reader: Reader

    def reorder(self, index: Int[Tensor, "batch m"]) -> "DecoderState":
        """The state of hypotheses ``index[b]`` of each sentence."""
        n = self.recurrent.shape[1]
        rows = (index + n * torch.arange(len(index), device=index.device).unsqueeze(1)).flatten()

        def chosen(values: Tensor) -> Tensor:
            return values.flatten(0, 1).index_select(0, rows).unflatten(0, index.shape)

        return DecoderState(
            chosen(self.recurrent),
            None if self.feed is None else chosen(self.feed),
            tuple(map(chosen, self.attention)),
            self.reader,
        )

    def of_sentences(self, rows: Int[Tensor, "some"]) -> "DecoderState":
        """The state of some of the sentences, all of their hypotheses."""
        return DecoderState(
            self.recurrent[rows],
            None if self.feed is None else self.feed[rows],
            tuple(values[rows] for values in self.attention),
            self.reader.of_sentences(rows),
        )
