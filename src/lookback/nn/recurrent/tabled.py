"""The recurrent decoder as searches run it (see ``lookback.nn.laid_out``)."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.nn.kernels.columns import by_columns
from lookback.nn.memory import Memory
from lookback.nn.recurrent.state import DecoderState

if TYPE_CHECKING:
    from lookback.nn.recurrent.decoder import RecurrentDecoder

TABLE_BYTES = 2**27
"""A table of words is not made larger than this: then a step computes what it needs of its words."""


class TabledDecoder:
    """A decoder whose weights are by columns, and which finds in a table what a step needs of a word.

    That is the word's part of the gates and of the readout. The attention is the decoder's own.
    """

    def __init__(self, decoder: RecurrentDecoder, dtype: torch.dtype) -> None:
        # a second decoder, which shares all that is no product of each step
        memo: dict[int, object] = {
            id(module): module for module in (decoder.attention, decoder.embedding, decoder.vocabulary, decoder.initial)
        }
        for module in (*decoder.layers, decoder.readout, *([decoder.second] if decoder.second else [])):
            memo |= {id(parameter): by_columns(parameter, dtype) for parameter in module.parameters()}
        memo[id(decoder.dropout)] = nn.Identity()
        self._own, self._decoder = decoder, copy.deepcopy(decoder, memo)
        self._table = self._table_of_words()
        self._gates_size = len(decoder.layers[0].network.all_weights[0][0])

    def start(self, memory: Memory) -> DecoderState:
        """See ``Network.start``."""
        return self._own.start(memory)

    def step(
        self, state: DecoderState, words: Int[Tensor, "batch n"]
    ) -> tuple[DecoderState, Float[Tensor, "batch n readout"], Float[Tensor, "batch n source"]]:
        """See ``Network.step``."""
        return self._decoder.step_from(state, *self._of_words(words))

    def _of_words(
        self, words: Int[Tensor, "batch n"]
    ) -> tuple[Float[Tensor, "batch n gates"], Float[Tensor, "batch n width"] | None]:
        if self._table is None:
            return self._decoder.of_words(words)
        parts = F.embedding(words, self._table)
        gates = parts[..., : self._gates_size]
        return gates, parts[..., self._gates_size :] if gates.shape != parts.shape else None

    def _table_of_words(self) -> Float[Tensor, "vocabulary parts"] | None:
        vocabulary = self._own.vocabulary
        every = torch.arange(vocabulary.out_features, device=vocabulary.weight.device)
        if len(every) * sum(part.nbytes for part in self._parts(every[:1])) > TABLE_BYTES:
            return None
        return torch.cat(self._parts(every), dim=-1)

    def _parts(self, words: Int[Tensor, "words"]) -> list[Tensor]:
        return [part for part in self._decoder.of_words(words) if part is not None]
