"""Sentences of unequal length, batched with little padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler

from lookback.data.tokenizer import Tokenizer
from lookback.symbols import EOS, PAD

BATCH_UNITS = ("sentences", "tokens")
_ROOM = 1000  # padded tokens for each sentence of a batch counted in sentences: far above real text, far below memory


@dataclass
class Sources:
    """Sentences to translate.

    Attributes:
        source: (B, S) int64 ids, each sentence ends with EOS, PAD after it.
        source_length: (B,) int64, real tokens of each sentence, EOS included.
    """

    source: Tensor
    source_length: Tensor

    def __len__(self) -> int:
        return len(self.source)

    def to(self, device: torch.device | str) -> Sources:
        return Sources(self.source.to(device), self.source_length.to(device))


@dataclass  # not frozen: Lightning's half-precision plugins write the fields of a copy
class Batch:
    """Sentence pairs to learn from or to score.

    Attributes:
        ids: (B,) int64, the rows of the pairs in their split.
        source: (B, S) int64 ids, each sentence ends with EOS, PAD after it.
        source_length: (B,) int64, real source tokens, EOS included.
        target: (B, T+1) int64 ids, BOS w_1 … w_T EOS, PAD after it.
    """

    ids: Tensor
    source: Tensor
    source_length: Tensor
    target: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def inputs(self) -> Tensor:
        """(B, T): what the decoder reads, BOS w_1 … w_T (shorter sentences: EOS and PAD follow)."""
        return self.target[:, :-1]

    @property
    def outputs(self) -> Tensor:
        """(B, T): what the decoder shall write, w_1 … w_T EOS, PAD where there is nothing to learn."""
        return self.target[:, 1:]

    @property
    def target_tokens(self) -> int:
        """Tokens to predict: words and one end mark a sentence."""
        return int((self.outputs != PAD).sum())

    def to(self, device: torch.device | str) -> Batch:
        """The batch on another device; Lightning calls this."""
        return Batch(self.ids.to(device), self.source.to(device), self.source_length.to(device), self.target.to(device))


@dataclass(frozen=True)
class Sentences:
    """Many sentences without a Python object for any of them.

    Attributes:
        tokens: (sum of lengths,) int32, all sentences one after the other.
        starts: (N,) int64, where each begins in `tokens`.
        lengths: (N,) int64, tokens of each.
    """

    tokens: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def from_lists(cls, sentences: Sequence[Sequence[int]]) -> Sentences:
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        tokens = np.fromiter((token for sentence in sentences for token in sentence), np.int32, int(lengths.sum()))
        return cls(tokens, np.cumsum(lengths) - lengths, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def padded(self, rows: np.ndarray) -> np.ndarray:
        """(len(rows), longest) int64: the chosen sentences, PAD after each."""
        lengths = self.lengths[rows]
        columns = np.arange(lengths.max(initial=0))
        real = columns < lengths[:, None]
        out = np.full(real.shape, PAD, dtype=np.int64)
        out[real] = self.tokens[(self.starts[rows][:, None] + columns)[real]]
        return out


def encode_sources(texts: Sequence[str], tokenizer: Tokenizer) -> Sources:
    """A batch to translate from raw sentences, in their order. A sentence without words is its EOS alone."""
    sentences = Sentences.from_lists([[*ids, EOS] for ids in tokenizer.encode(texts)])
    return Sources(
        torch.from_numpy(sentences.padded(np.arange(len(sentences)))), torch.from_numpy(sentences.lengths.copy())
    )


class BucketBatchSampler(Sampler[np.ndarray]):
    """Yields the rows of each batch, pairs of like length together, every pair exactly once an epoch.

    Pairs are sorted by length and cut into batches. In training (`shuffle`), pairs of equal lengths change places and
    batches change order from epoch to epoch, as a function of (`seed`, epoch) alone; the batches' sizes are the same
    every epoch, so the number of batches is too. Without `shuffle` the order is always the same, longest sources first
    (a batch that does not fit into memory fails at once, not after an hour).

    It is handed to a DataLoader as `sampler` with `batch_size=None`: Lightning calls `set_epoch` on a `sampler`,
    but not on a `batch_sampler`.

    Args:
        source_lengths: (N,) tokens of each source, EOS included.
        target_lengths: (N,) tokens to predict of each target, EOS included.
        batch_size: sentences of a batch, or tokens: the larger of its padded source and its padded target.
        unit: "sentences" or "tokens". A sentence longer than a budget of tokens forms a batch of its own. A batch of
            B sentences also has a budget, 1,000 B tokens, so that one stray line of 10,000 words is not padded for.
        seed: of the shuffle.
        shuffle: True for training.

    Errors: ValueError for a batch size below 1, an unknown unit, or lengths that do not pair up.
    """

    def __init__(
        self,
        source_lengths: np.ndarray,
        target_lengths: np.ndarray,
        batch_size: int,
        unit: str,
        seed: int,
        shuffle: bool,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size: {batch_size}, expected 1 or more")
        if unit not in BATCH_UNITS:
            raise ValueError(f"unit: {unit!r}, expected one of {', '.join(BATCH_UNITS)}")
        if len(source_lengths) != len(target_lengths):
            raise ValueError(f"source_lengths: {len(source_lengths)} of them, but {len(target_lengths)} target_lengths")
        self.seed = seed
        self.shuffle = shuffle
        self.epoch = 0
        self._lengths = np.stack([source_lengths, target_lengths])
        ordered = self._lengths[:, self._order(np.arange(len(source_lengths)))]
        self._starts = _cut(ordered, batch_size, batch_size * _ROOM if unit == "sentences" else batch_size)
        self._stops = np.append(self._starts[1:], ordered.shape[1])[: len(self._starts)]
        self._padding_waste = _padding_waste(ordered, self._starts)

    def __len__(self) -> int:
        """Batches of an epoch, every epoch the same."""
        return len(self._starts)

    @property
    def padding_waste(self) -> float:
        """The share of all source and target slots of an epoch that is padding, 0 to 1; the same every epoch."""
        return self._padding_waste

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order the next iteration gives; Lightning calls this before each epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[np.ndarray]:
        count = self._lengths.shape[1]
        if self.shuffle:
            random = np.random.default_rng([self.seed, self.epoch])
            order = self._order(random.permutation(count))
            batches = random.permutation(len(self))
        else:
            order, batches = self._order(np.arange(count)), np.arange(len(self))
        for batch in batches:
            yield order[self._starts[batch] : self._stops[batch]]

    def _order(self, rows: np.ndarray) -> np.ndarray:
        """`rows` sorted by length; rows of equal lengths keep their order, which is all that shuffling changes."""
        # Training unrolls over the target, decoding a test set follows the source: that length leads. The other one
        # rises and falls by turns, so that a batch which spans two leading lengths holds no two extremes of the other.
        other, leading = self._lengths[:, rows] if self.shuffle else -self._lengths[::-1, rows]
        return rows[np.lexsort((np.where(leading % 2, other, -other), leading))]


def _cut(ordered: np.ndarray, sentences: int, tokens: int) -> np.ndarray:
    """Where each batch starts, when each takes pairs as long as both limits allow: their number and the padded size."""
    starts: list[int] = []
    longest = 0
    for row, length in enumerate(ordered.max(axis=0).tolist()):
        longest = max(longest, length)
        if not starts or (size := row - starts[-1] + 1) > sentences or size * longest > tokens:
            starts.append(row)
            longest = length
    return np.array(starts, dtype=np.int64)


def _padding_waste(ordered: np.ndarray, starts: np.ndarray) -> float:
    if not len(starts):
        return 0.0
    sizes = np.diff(np.append(starts, ordered.shape[1]))
    slots = int((np.maximum.reduceat(ordered, starts, axis=1).sum(axis=0) * sizes).sum())
    return 1 - int(ordered.sum()) / slots if slots else 0.0
