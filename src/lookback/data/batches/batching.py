"""Sentences of unequal length, batched with little padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler

from lookback.common.errors import InputError
from lookback.common.special_tokens import EOS, PAD
from lookback.data.tokenizers.tokenizer import Tokenizer

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
        return Sources(_moved(self.source, device), _moved(self.source_length, device))


@dataclass  # not frozen: Lightning's half-precision plugins write the fields of a copy
class Batch:
    """Sentence pairs to learn from or to score.

    Attributes:
        ids: (B,) int64, the rows of the pairs in their split.
        source: (B, S) int64 ids, each sentence ends with EOS, PAD after it.
        source_length: (B,) int64, real source tokens, EOS included.
        target: (B, T+1) int64 ids, BOS w_1 … w_T EOS, PAD after it.
        target_tokens: tokens to predict, words and one end mark a sentence; known without asking a GPU.
    """

    ids: Tensor
    source: Tensor
    source_length: Tensor
    target: Tensor
    target_tokens: int

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

    def to(self, device: torch.device | str) -> Batch:
        """The batch on another device; Lightning calls this."""
        return Batch(
            _moved(self.ids, device),
            _moved(self.source, device),
            _moved(self.source_length, device),
            _moved(self.target, device),
            self.target_tokens,
        )


def _moved(tensor: Tensor, device: torch.device | str) -> Tensor:
    """On another device; a copy to a GPU starts from pinned memory, and nobody waits for its end."""
    if torch.device(device).type == "cuda" and tensor.device.type == "cpu":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


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

    Where several devices train, each has a sampler of its own with its `rank`. All of them get equally many batches, of
    like lengths at the same step, and together every pair exactly once.

    Args:
        source_lengths: (N,) tokens of each source, EOS included.
        target_lengths: (N,) tokens to predict of each target, EOS included.
        batch_size: sentences of a batch, or tokens: the larger of its padded source and its padded target.
        unit: "sentences" or "tokens". A sentence longer than a budget of tokens forms a batch of its own. A batch of
            B sentences also has a budget, 1,000 B tokens, so that one stray line of 10,000 words is not padded for.
            Only where every batch is one sentence already and their number is no multiple of `ranks`, up to ranks - 1
            batches hold two.
        seed: of the shuffle; several numbers are one seed too.
        shuffle: True for training.
        rank: which share of the batches this sampler yields, 0 to ranks - 1.
        ranks: into how many shares they go.

    Errors: ValueError for a batch size below 1, an unknown unit, lengths that do not pair up, or a rank out of range;
    InputError for fewer pairs than ranks.
    """

    def __init__(
        self,
        source_lengths: np.ndarray,
        target_lengths: np.ndarray,
        batch_size: int,
        unit: str,
        seed: int | tuple[int, ...],
        shuffle: bool,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size: {batch_size}, expected 1 or more")
        if unit not in BATCH_UNITS:
            raise ValueError(f"unit: {unit!r}, expected one of {', '.join(BATCH_UNITS)}")
        if len(source_lengths) != len(target_lengths):
            raise ValueError(f"source_lengths: {len(source_lengths)} of them, but {len(target_lengths)} target_lengths")
        if not 0 <= rank < ranks:
            raise ValueError(f"rank: {rank}, expected 0 to {ranks - 1} (ranks - 1)")
        count = len(source_lengths)
        if 0 < count < ranks:
            raise InputError(f"data: {count} pairs for {ranks} devices, expected one or more for each")
        self.seed = seed if isinstance(seed, tuple) else (seed,)
        self.shuffle = shuffle
        self.epoch = 0
        self.rank = rank
        self.ranks = ranks
        self._lengths = np.stack([source_lengths, target_lengths]).astype(np.int32, copy=False)
        ordered = self._lengths[:, self._order(np.arange(count))]
        starts = _cut(ordered, batch_size, batch_size * _ROOM if unit == "sentences" else batch_size)
        self._starts = _divisible(starts, count, ranks)
        self._stops = np.append(self._starts[1:], count)[: len(self._starts)]
        self._padding_waste = _padding_waste(ordered, self._starts)

    def __len__(self) -> int:
        """Batches of an epoch, every epoch and every rank the same."""
        return len(self._starts) // self.ranks

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
            random = np.random.default_rng([*self.seed, self.epoch])
            order = self._order(random.permutation(count))
            steps = random.permutation(len(self))
        else:
            order, steps = self._order(np.arange(count)), np.arange(len(self))
        for batch in steps * self.ranks + self.rank:
            yield order[self._starts[batch] : self._stops[batch]]

    def _order(self, rows: np.ndarray) -> np.ndarray:
        """`rows` sorted by length; rows of equal lengths keep their order, which is all that shuffling changes."""
        # Training unrolls over the target, decoding a test set follows the source: that length leads. The other one
        # rises and falls by turns, so that a batch which spans two leading lengths holds no two extremes of the other.
        other, leading = self._lengths[:, rows] if self.shuffle else -self._lengths[::-1, rows]
        return rows[np.lexsort((np.where(leading % 2, other, -other), leading))]


def _cut(ordered: np.ndarray, sentences: int, tokens: int) -> np.ndarray:
    """Where each batch starts, when each takes pairs as long as both limits allow: their number and the padded size."""
    lengths = ordered.max(axis=0).astype(np.int64)
    numbers = np.arange(1, sentences + 1) if sentences < len(lengths) else np.arange(1, len(lengths) + 1)
    starts: list[int] = []
    start = 0
    while start < len(lengths):
        starts.append(start)
        # no batch holds more than if all were as long as its first: few rows are looked at twice
        most = max(1, min(sentences, tokens // max(1, int(lengths[start]))))
        longest = np.maximum.accumulate(lengths[start : start + most])
        start += max(1, int(np.count_nonzero(longest * numbers[: len(longest)] <= tokens)))
    return np.array(starts, dtype=np.int64)


def _divisible(starts: np.ndarray, count: int, ranks: int) -> np.ndarray:
    """The same batches, the largest halved until their number is a multiple of `ranks`."""
    while over := len(starts) % ranks:
        sizes = np.diff(np.append(starts, count))
        largest = int(sizes.argmax())
        if sizes[largest] == 1:  # nothing to halve: the first batches, the shortest in training, become pairs
            return np.delete(starts, np.arange(1, 2 * over, 2))
        starts = np.insert(starts, largest + 1, starts[largest] + sizes[largest] // 2)
    return starts


def _padding_waste(ordered: np.ndarray, starts: np.ndarray) -> float:
    if not len(starts):
        return 0.0
    sizes = np.diff(np.append(starts, ordered.shape[1]))
    slots = int((np.maximum.reduceat(ordered, starts, axis=1).sum(axis=0, dtype=np.int64) * sizes).sum())
    return 1 - int(ordered.sum(dtype=np.int64)) / slots if slots else 0.0
