"""The decoder as search runs it: the same numbers, from weights that are laid out for one word at a time.

Search multiplies a few rows by the same matrices at each step. What depends on the weights alone is done once a model:

- each weight is kept by columns: the CPU multiplies up to some fifty rows in half to three quarters of the time that it
  takes with PyTorch's layout, (outputs, inputs) by rows;
- all that a step needs of a word (its part of the gates and of the readout) is a row of a table;
- the vocabulary's bias is one more row of its projection, so that no pass over the logits adds it.
"""

import copy
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.nn import DecoderState, Reader, RecurrentDecoder
from lookback.search.next_words import Columns, NextWords

TABLE_BYTES = 2**27
"""A table of words is not made larger than this: then a step computes what it needs of its words."""


class PreparedDecoder:
    """A decoder's step up to the next words, under the weights, the device and the precision it was made with.

    It keeps a copy of those weights, to be compared with what they are at the next search.
    """

    def __init__(self, decoder: RecurrentDecoder, dtype: torch.dtype) -> None:
        self._made_from = [weight.clone() for weight in _weights(decoder)]
        self._dtype = dtype
        # a second decoder, which shares all that is no product of each step
        memo: dict[int, object] = {
            id(module): module for module in (decoder.attention, decoder.embedding, decoder.vocabulary, decoder.initial)
        }
        for module in (*decoder.layers, decoder.readout):
            memo |= {id(parameter): _by_columns(parameter, dtype) for parameter in module.parameters()}
        memo[id(decoder.dropout)] = nn.Identity()
        self._decoder = copy.deepcopy(decoder, memo)
        self._columns = Columns(decoder.vocabulary.out_features)
        vocabulary = decoder.vocabulary
        self._projection = self._columns.projection(vocabulary.weight.to(dtype), vocabulary.bias.to(dtype))
        self._table = self._table_of_words()
        self._gates_size = len(decoder.layers[0].network.all_weights[0][0])

    def is_for(self, decoder: RecurrentDecoder, dtype: torch.dtype) -> bool:
        """Whether it would be made the same again."""
        weights = _weights(decoder)
        return (
            dtype == self._dtype
            and len(weights) == len(self._made_from)
            and all(map(_are_equal, weights, self._made_from))
        )

    def step(
        self, state: DecoderState, words: Int[Tensor, "batch n"], reader: Reader
    ) -> tuple[DecoderState, NextWords, Float[Tensor, "batch n source"]]:
        """Read one word a hypothesis: the next state, the next words, and the weights α."""
        state, vectors, weights = self._decoder.step_from(state, *self._of_words(words), reader)
        logits = torch.mm(F.pad(vectors.flatten(0, 1), (0, 1), value=1.0), self._projection)
        return state, NextWords(logits.unflatten(0, words.shape), self._columns), weights

    def _of_words(
        self, words: Int[Tensor, "batch n"]
    ) -> tuple[Float[Tensor, "batch n gates"], Float[Tensor, "batch n width"] | None]:
        if self._table is None:
            return self._decoder.of_words(words)
        parts = F.embedding(words, self._table)
        gates = parts[..., : self._gates_size]
        return gates, parts[..., self._gates_size :] if gates.shape != parts.shape else None

    def _table_of_words(self) -> Float[Tensor, "vocabulary parts"] | None:
        every = torch.arange(self._columns.vocabulary_size, device=self._projection.device)
        if len(every) * sum(part.nbytes for part in self._parts(every[:1])) > TABLE_BYTES:
            return None
        return torch.cat(self._parts(every), dim=-1)

    def _parts(self, words: Int[Tensor, "words"]) -> list[Tensor]:
        return [part for part in self._decoder.of_words(words) if part is not None]


_prepared: WeakKeyDictionary[RecurrentDecoder, PreparedDecoder] = WeakKeyDictionary()


def prepared(decoder: RecurrentDecoder) -> PreparedDecoder:
    """The decoder for a search to use now; made again if its weights have changed since the last search."""
    kind = decoder.vocabulary.weight.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else decoder.vocabulary.weight.dtype
    kept = _prepared.get(decoder)
    if kept is None or not kept.is_for(decoder, dtype):
        _prepared[decoder] = kept = PreparedDecoder(decoder, dtype)
    return kept


def _by_columns(parameter: Tensor, dtype: torch.dtype) -> nn.Parameter:
    """The same values; a matrix in memory as its transpose is by default."""
    values = parameter.detach().to(dtype)
    return nn.Parameter(values.t().contiguous().t() if values.dim() == 2 else values.clone(), requires_grad=False)


def _weights(decoder: RecurrentDecoder) -> list[Tensor]:
    """All that is prepared, as it is now.

    It is compared with what it was, number by number: PyTorch's own count of changes to a tensor misses fused Adam's,
    and whatever writes through ``.data``.
    """
    parts = (decoder.embedding, *decoder.layers, decoder.readout, decoder.vocabulary)
    return [parameter.detach() for part in parts for parameter in part.parameters()]


def _are_equal(a: Tensor, b: Tensor) -> bool:
    if (a.device, a.dtype, a.shape) != (b.device, b.dtype, b.shape):
        return False
    widens = a.dim() and all(count * a.element_size() % 8 == 0 for count in (a.shape[-1], a.storage_offset()))
    if widens and a.is_contiguous() and b.is_contiguous():
        a, b = a.view(torch.int64), b.view(torch.int64)  # compared four times as fast as float32, and as exactly
    return torch.equal(a, b)
