"""What the encoder leaves behind for the decoder to look back at."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Memory:
    """The encoded source sentences of a batch. Padding never changes any number in it.

    states: the state at each source position, both directions side by side; exactly 0 where the source is padding.
    mask: True on real tokens (words and the end mark).
    final: for each direction the state that has read the whole sentence, taken at the true length: the last forward
        state, then the first backward state (or the only one, where the encoder reads in one direction).
    """

    states: Float[Tensor, "batch source memory"]
    mask: Bool[Tensor, "batch source"]
    final: Float[Tensor, "batch directions hidden"]

    def of_sentences(self, rows: Int[Tensor, "some"]) -> "Memory":
        """The memory of some of the sentences."""
        return Memory(self.states[rows], self.mask[rows], self.final[rows])


def length_mask(lengths: Int[Tensor, "batch"], size: int) -> Bool[Tensor, "batch {size}"]:
    """True at the first ``lengths[b]`` of ``size`` positions."""
    return torch.arange(size, device=lengths.device) < lengths.unsqueeze(1)
