"""The network as searches run it: the same numbers, from weights that are laid out for one word at a time.

Search multiplies a few rows by the same matrices at each step. What depends on the weights alone is done once:

- each weight is kept by columns: the CPU multiplies up to some fifty rows in half to three quarters of the time that it
  takes with PyTorch's layout, (outputs, inputs) by rows;
- what a step needs of a word alone is a row of a table, where the decoder makes one;
- the vocabulary's bias is one more row of its projection, so that no pass over the logits adds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lookback.nn.kernels.columns import Columns
from lookback.nn.memory import Memory

if TYPE_CHECKING:
    from lookback.nn.seq2seq import Seq2Seq


class LaidOut:
    """A network for many searches, under the weights, the device and the precision that it was made with.

    What a step multiplies by are copies: after a change of the network it is to be made again. The encoder is the
    network's own.
    """

    def __init__(self, network: Seq2Seq) -> None:
        self.network = network
        self.vocabulary_size = network.vocabulary_size
        self.looks_back = network.looks_back
        self.longest = network.longest
        self.columns = Columns(network.vocabulary_size)
        vocabulary = network.decoder.vocabulary
        kind = vocabulary.weight.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else vocabulary.weight.dtype
        with torch.no_grad():
            self._projection = self.columns.projection(vocabulary.weight.to(dtype), vocabulary.bias.to(dtype))
            self._decoder = network.decoder.laid_out(dtype)

    def encode(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]) -> Memory:
        """See ``Network.encode``."""
        return self.network.encode(source, lengths)

    def start(self, memory: Memory) -> Any:
        """See ``Network.start``."""
        return self._decoder.start(memory)

    def step(
        self, state: Any, words: Int[Tensor, "batch n"]
    ) -> tuple[Any, Float[Tensor, "batch n readout"], Float[Tensor, "batch n source"]]:
        """See ``Network.step``."""
        return self._decoder.step(state, words)

    def unroll(
        self, words: Int[Tensor, "batch time"], memory: Memory
    ) -> tuple[Float[Tensor, "batch time readout"], Float[Tensor, "batch time source"]]:
        """See ``Network.unroll``."""
        return self.network.unroll(words, memory)

    def logits(self, vectors: Float[Tensor, "*batch readout"]) -> Float[Tensor, "*batch vocabulary"]:
        """See ``Network.logits``."""
        return self.network.logits(vectors)

    def arranged_logits(self, vectors: Float[Tensor, "batch n readout"]) -> Float[Tensor, "batch n columns"]:
        """The logits as ``columns`` have them."""
        logits = torch.mm(F.pad(vectors.flatten(0, 1), (0, 1), value=1.0), self._projection)
        return logits.unflatten(0, vectors.shape[:2])
