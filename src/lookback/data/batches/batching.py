"""Batches of sentences of unequal length, with little padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler

from lookback.common.checks import Size, checked
from lookback.common.special_tokens import EOS, PAD
from lookback.data.tokenizers.tokenizer import Tokenizer

BatchUnit = Literal["sentences", "tokens"]
# Batches that are counted in sentences also have a limit of padded tokens: this many for each sentence. Real text has
# far fewer, and a batch of this size still fits into memory.
_TOKENS_A_SENTENCE = 1000


@dataclass
class Sources:
    """Sentences to translate.

    Attributes:
        source: (B, S) int64 token ids: each sentence ends with EOS, then PAD.
        source_length: (B,) int64, tokens of each sentence, EOS included, PAD not.
    """

    source: Tensor
    source_length: Tensor

    def __len__(self) -> int:
        return len(self.source)

    def to(self, device: torch.device | str) -> Sources:
        return Sources(_to_device(self.source, device), _to_device(self.source_length, device))


class BatchSize(NamedTuple):
    """How much a batch holds."""

    sentences: int
    target_tokens: int


@dataclass  # not frozen: Lightning's half-precision plugins write the fields of a copy
class Batch:
    """Sentence pairs to learn from or to score.

    Attributes:
        ids: (B,) int64, the rows of the pairs in their split.
        source: (B, S) int64 token ids: each sentence ends with EOS, then PAD.
        source_length: (B,) int64, tokens of each source, EOS included, PAD not.
        target: (B, T+1) int64 token ids: BOS y_1 … y_T EOS, then PAD.
        target_tokens: the number of tokens to predict, EOS included. A Python number: reading it waits for no GPU.
        global_size: of the global batch, if this is one rank's share of it; None: this is the whole batch.
    """

    ids: Tensor
    source: Tensor
    source_length: Tensor
    target: Tensor
    target_tokens: int
    global_size: BatchSize | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def whole(self) -> BatchSize:
        """The size of the global batch, which is this batch if one process trains alone."""
        return self.global_size or BatchSize(len(self), self.target_tokens)

    @property
    def inputs(self) -> Tensor:
        """(B, T): what the decoder reads, BOS y_1 … y_T (EOS and PAD follow in shorter sentences)."""
        return self.target[:, :-1]

    @property
    def outputs(self) -> Tensor:
        """(B, T): what the decoder is to predict, y_1 … y_T EOS, and PAD where there is nothing to predict."""
        return self.target[:, 1:]

    def to(self, device: torch.device | str) -> Batch:
        """The batch on another device; Lightning calls this."""
        return Batch(
            _to_device(self.ids, device),
            _to_device(self.source, device),
            _to_device(self.source_length, device),
            _to_device(self.target, device),
            self.target_tokens,
            self.global_size,
        )


def _to_device(tensor: Tensor, device: torch.device | str) -> Tensor:
    """The tensor on another device. A copy to a GPU starts from pinned memory and runs in the background."""
    if torch.device(device).type == "cuda" and tensor.device.type == "cpu":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


@dataclass(frozen=True)
class Sentences:
    """Many sentences in three arrays, without a Python object for each.

    Attributes:
        tokens: (sum of lengths,) int32, all sentences one after the other.
        starts: (N,) int64, where each begins in ``tokens``.
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
        """(len(rows), longest of them) int64: the chosen sentences, each followed by PAD."""
        lengths = self.lengths[rows]
        columns = np.arange(lengths.max(initial=0))
        mask = columns < lengths[:, None]
        padded = np.full(mask.shape, PAD, dtype=np.int64)
        padded[mask] = self.tokens[(self.starts[rows][:, None] + columns)[mask]]
        return padded


def encode_sources(texts: Sequence[str], tokenizer: Tokenizer) -> Sources:
    """Raw sentences as a batch to translate, in their order. A sentence without words is EOS alone."""
    sentences = Sentences.from_lists([[*ids, EOS] for ids in tokenizer.encode(texts)])
    return Sources(
        torch.from_numpy(sentences.padded(np.arange(len(sentences)))), torch.from_numpy(sentences.lengths.copy())
    )


@checked
class BucketBatchSampler(Sampler[np.ndarray]):
    """Yields the rows of each batch: pairs of similar lengths together, every pair exactly once an epoch.

    Pairs are sorted by length and cut into batches. In training (``shuffle``), pairs of equal lengths change places and
    batches change their order from epoch to epoch, depending on ``seed`` and the epoch alone. The batches' sizes, and
    so their number, are the same in every epoch. Without ``shuffle`` the order is always the same, longest sources
    first: a batch that does not fit into memory fails at once, not after an hour.

    When several ranks train together, all have the same sampler: these are the rows of the global batches.

    Args:
        source_lengths: (N,) tokens of each source, EOS included.
        target_lengths: (N,) tokens to predict of each target, EOS included.
        batch_size: sentences of a batch; or tokens, those of its padded source or of its padded target, whichever is
            larger.
        unit: "sentences" or "tokens". A sentence of more tokens than ``batch_size`` is a batch of its own. A batch of B
            sentences also has 1,000 B tokens at most, so that it is not padded to one stray line of 10,000 words.
        seed: of the shuffle: a number or a tuple of numbers.
        shuffle: True for training.

    Raises:
        ValueError: for a batch size below 1, an unknown unit, or lengths that do not pair up.
    """

    def __init__(
        self,
        source_lengths: np.ndarray,
        target_lengths: np.ndarray,
        batch_size: Size,
        unit: BatchUnit,
        seed: int | tuple[int, ...],
        shuffle: bool,
    ) -> None:
        if len(source_lengths) != len(target_lengths):
            raise ValueError(
                f"target_lengths: {len(target_lengths)} of them, expected {len(source_lengths)}, one a source"
            )
        count = len(source_lengths)
        self.seed = seed if isinstance(seed, tuple) else (seed,)
        self.shuffle = shuffle
        self.epoch = 0
        self._lengths = np.stack([source_lengths, target_lengths]).astype(np.int32, copy=False)
        ordered = self._lengths[:, self._order(np.arange(count))]
        self._starts = _batch_starts(
            ordered, batch_size, batch_size * _TOKENS_A_SENTENCE if unit == "sentences" else batch_size
        )
        self._stops = np.append(self._starts[1:], count)[: len(self._starts)]
        self._padding_waste = _padding_waste(ordered, self._starts)

    def __len__(self) -> int:
        """The number of batches of an epoch: the same for every epoch."""
        return len(self._starts)

    @property
    def padding_waste(self) -> float:
        """The share of padding among all source and target tokens of an epoch, 0 to 1; the same every epoch."""
        return self._padding_waste

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch of the next iteration. Lightning calls this before each epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[np.ndarray]:
        count = self._lengths.shape[1]
        if self.shuffle:
            random = np.random.default_rng([*self.seed, self.epoch])
            order = self._order(random.permutation(count))
            steps = random.permutation(len(self))
        else:
            order, steps = self._order(np.arange(count)), np.arange(len(self))
        for batch in steps:
            yield order[self._starts[batch] : self._stops[batch]]

    def _order(self, rows: np.ndarray) -> np.ndarray:
        """``rows`` sorted by length. Rows of equal lengths keep their order, and shuffling changes that order alone."""
        # The first key is the length that decides the running time: the target's in training, because the decoder
        # unrolls over it, and the source's in decoding. The second key is the other length. It alternately rises and
        # falls from one value of the first key to the next, so that a batch that spans two of these values does not
        # hold both the shortest and the longest of the other side.
        other, leading = self._lengths[:, rows] if self.shuffle else -self._lengths[::-1, rows]
        return rows[np.lexsort((np.where(leading % 2, other, -other), leading))]


def _batch_starts(ordered: np.ndarray, sentences: int, tokens: int) -> np.ndarray:
    """The row where each batch starts. Batches take pairs up to the limit of sentences or of padded tokens."""
    lengths = ordered.max(axis=0).astype(np.int64)
    numbers = np.arange(1, sentences + 1) if sentences < len(lengths) else np.arange(1, len(lengths) + 1)
    starts: list[int] = []
    start = 0
    while start < len(lengths):
        starts.append(start)
        # every pair is padded to the first one's length or more, which bounds the number of pairs: few rows are read
        # twice
        most = max(1, min(sentences, tokens // max(1, int(lengths[start]))))
        longest = np.maximum.accumulate(lengths[start : start + most])
        start += max(1, int(np.count_nonzero(longest * numbers[: len(longest)] <= tokens)))
    return np.array(starts, dtype=np.int64)


def _padding_waste(ordered: np.ndarray, starts: np.ndarray) -> float:
    if not len(starts):
        return 0.0
    sizes = np.diff(np.append(starts, ordered.shape[1]))
    padded = int((np.maximum.reduceat(ordered, starts, axis=1).sum(axis=0, dtype=np.int64) * sizes).sum())
    return 1 - int(ordered.sum(dtype=np.int64)) / padded if padded else 0.0
