"""The network as searches run it: the same numbers, from weights that are laid out for one word at a time.

Search multiplies a few rows by the same matrices at each step. What depends on the weights alone is done once:

- each weight is kept by columns: the CPU multiplies up to some fifty rows in half to three quarters of the time that it
  takes with PyTorch's layout, (outputs, inputs) by rows;
- all that a step needs of a word (its part of the gates and of the readout) is a row of a table;
- the vocabulary's bias is one more row of its projection, so that no pass over the logits adds it.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.nn.kernels.columns import Columns
from lookback.nn.memory import Memory
from lookback.nn.recurrent.state import DecoderState

if TYPE_CHECKING:
    from lookback.nn.seq2seq import Seq2Seq

TABLE_BYTES = 2**27
"""A table of words is not made larger than this: then a step computes what it needs of its words."""


class LaidOut:
    """A network for many searches, under the weights, the device and the precision that it was made with.

    The decoder's weights are copies: after a change of the network it is to be made again. Encoder and attention are
    the network's own.
    """

    def __init__(self, network: Seq2Seq) -> None:
        decoder = network.decoder
        self.network = network
        self.vocabulary_size = network.vocabulary_size
        self.looks_back = network.looks_back
        self.columns = Columns(network.vocabulary_size)
        vocabulary = decoder.vocabulary
        kind = vocabulary.weight.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else vocabulary.weight.dtype
        # a second decoder, which shares all that is no product of each step
        memo: dict[int, object] = {
            id(module): module for module in (decoder.attention, decoder.embedding, vocabulary, decoder.initial)
        }
        for module in (*decoder.layers, decoder.readout):
            memo |= {id(parameter): _by_columns(parameter, dtype) for parameter in module.parameters()}
        memo[id(decoder.dropout)] = nn.Identity()
        self._decoder = copy.deepcopy(decoder, memo)
        with torch.no_grad():
            self._projection = self.columns.projection(vocabulary.weight.to(dtype), vocabulary.bias.to(dtype))
            self._table = self._table_of_words()
        self._gates_size = len(decoder.layers[0].network.all_weights[0][0])

    def encode(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]) -> Memory:
        """See ``Network.encode``."""
        return self.network.encode(source, lengths)

    def start(self, memory: Memory) -> DecoderState:
        """See ``Network.start``."""
        return self.network.start(memory)

    def step(
        self, state: DecoderState, words: Int[Tensor, "batch n"]
    ) -> tuple[DecoderState, Float[Tensor, "batch n readout"], Float[Tensor, "batch n source"]]:
        """See ``Network.step``."""
        return self._decoder.step_from(state, *self._of_words(words))

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

    def _of_words(
        self, words: Int[Tensor, "batch n"]
    ) -> tuple[Float[Tensor, "batch n gates"], Float[Tensor, "batch n width"] | None]:
        if self._table is None:
            return self._decoder.of_words(words)
        parts = F.embedding(words, self._table)
        gates = parts[..., : self._gates_size]
        return gates, parts[..., self._gates_size :] if gates.shape != parts.shape else None

    def _table_of_words(self) -> Float[Tensor, "vocabulary parts"] | None:
        every = torch.arange(self.vocabulary_size, device=self._projection.device)
        if len(every) * sum(part.nbytes for part in self._parts(every[:1])) > TABLE_BYTES:
            return None
        return torch.cat(self._parts(every), dim=-1)

    def _parts(self, words: Int[Tensor, "words"]) -> list[Tensor]:
        return [part for part in self._decoder.of_words(words) if part is not None]


def _by_columns(parameter: Tensor, dtype: torch.dtype) -> nn.Parameter:
    """The same values; a matrix in memory as its transpose is by default."""
    values = parameter.detach().to(dtype)
    return nn.Parameter(values.t().contiguous().t() if values.dim() == 2 else values.clone(), requires_grad=False)
