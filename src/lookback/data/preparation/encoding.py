"""A split of a corpus as token ids: encoded once, then memory-mapped from the cache."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from lookback.common.special_tokens import BOS, EOS, UNK
from lookback.data.batches.batching import Batch, BatchSize, Sentences
from lookback.data.corpora.columns import columns, on_both_sides
from lookback.data.corpora.corpus import SIDES
from lookback.data.datasets_private import datasets_fingerprint
from lookback.data.preparation.cache import cached_folder
from lookback.data.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from datasets import Dataset

_FORMAT = 1  # of the files: raise it when the same text and tokenizers give other bytes
_Encoded = tuple[np.ndarray, np.ndarray, int]
"""The token ids of all texts, with special tokens, one after the other; the length of each text; the number of UNK."""
_TOKENS, _OFFSETS = np.dtype("<i4"), np.dtype("<i8")


@dataclass(frozen=True)
class EncodedPairs:
    """Pairs as token ids: every source ends with EOS, every target begins with BOS and ends with EOS.

    Attributes:
        source: the sources.
        target: as many targets.
        unknown: how many tokens of the sources and of the targets are UNK.
        ids: (N,) int64, the row of each pair in its split; None: pair i is row i.
    """

    source: Sentences
    target: Sentences
    unknown: tuple[int, int]
    ids: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, rows: np.ndarray) -> Batch:
        """The batch of these rows, in their order."""
        return Batch(
            ids=torch.from_numpy(rows.copy() if self.ids is None else self.ids[rows]),
            source=torch.from_numpy(self.source.padded(rows)),
            source_length=torch.from_numpy(self.source.lengths[rows]),
            target=torch.from_numpy(self.target.padded(rows)),
            target_tokens=int(self.target.lengths[rows].sum()) - len(rows),
        )

    def share(self, rows: np.ndarray, rank: int, ranks: int) -> Batch:
        """The part of the global batch of these rows that one rank computes: every ``ranks``-th row from ``rank`` on.

        The rows of a batch are sorted by length, so all shares have similar lengths. The shares hold every row once. A
        share has no rows if there are fewer than ranks.
        """
        if ranks == 1:
            return self[rows]
        batch = self[rows[rank::ranks]]
        batch.global_size = BatchSize(len(rows), int(self.target.lengths[rows].sum()) - len(rows))
        return batch

    @property
    def target_lengths(self) -> np.ndarray:
        """(N,) int64: tokens to predict in each target. EOS is one of them, BOS is not."""
        return self.target.lengths - 1

    def describe(self) -> dict[str, float]:
        """The number of pairs, the tokens of each side, and the share of them that is UNK, 0 to 1.

        Tokens are those of the text and one EOS a sentence; the share of UNK is among those of the text.
        """
        pairs, tokens = len(self), (len(self.source.tokens), len(self.target.tokens) - len(self))
        numbers: dict[str, float] = {"pairs": pairs}
        numbers |= {f"{side}_tokens": count for side, count in zip(SIDES, tokens, strict=True)}
        for side, count, unknown in zip(SIDES, tokens, self.unknown, strict=True):
            numbers[f"{side}_unknown"] = unknown / (count - pairs) if count > pairs else 0.0
        return numbers


def encode_pairs(
    texts: Dataset, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, keep: np.ndarray | None = None
) -> EncodedPairs:
    """Encode the columns ``source`` and ``target`` of a split, or read what was cached for equal text and tokenizers.

    Args:
        texts: the split.
        source_tokenizer: of its sources.
        target_tokenizer: of its targets.
        keep: (N,) bool, the pairs to encode; None: all. Pair i of the result is the i-th of these.
    """
    tokenizers = (source_tokenizer, target_tokenizer)
    digests = tuple(hashlib.sha256(tokenizer.to_json().encode()).hexdigest() for tokenizer in tokenizers)
    keep = None if keep is None or keep.all() else keep
    chosen = None if keep is None else hashlib.sha256(np.packbits(keep).tobytes()).hexdigest()
    count = len(texts) if keep is None else int(np.count_nonzero(keep))

    def write(folder: Path) -> None:
        unknown = [0, 0]
        lengths: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
        with open(folder / "source.tokens", "wb") as source, open(folder / "target.tokens", "wb") as target:
            for sides in columns(texts, keep):
                encoded = _encode_both(*sides, *tokenizers)
                for i, (file, (tokens, counts, unknowns)) in enumerate(zip((source, target), encoded, strict=True)):
                    tokens.astype(_TOKENS, copy=False).tofile(file)
                    lengths[i].append(counts)
                    unknown[i] += unknowns
        for side, parts in zip(SIDES, lengths, strict=True):
            np.cumsum(np.concatenate([np.zeros(1, np.int64), *parts]), dtype=_OFFSETS).tofile(
                folder / f"{side}.offsets"
            )
        (folder / "unknown.json").write_text(json.dumps(unknown), encoding="utf-8")

    parts = (_FORMAT, datasets_fingerprint(texts), chosen, digests)
    folder = cached_folder("ids", parts, f"Encoding {count:,} pairs", write)
    source, target = (_mapped_sentences(folder, side) for side in SIDES)
    unknown = json.loads((folder / "unknown.json").read_text(encoding="utf-8"))
    return EncodedPairs(source, target, (unknown[0], unknown[1]))


def encode_arrays(
    source: pa.Array, target: pa.Array, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, ids: np.ndarray
) -> EncodedPairs:
    """Encode pairs in memory; ``ids``, (N,) int64, are their rows in the split."""
    encoded = _encode_both(source, target, source_tokenizer, target_tokenizer)
    sides = [Sentences(tokens, np.cumsum(lengths) - lengths, lengths) for tokens, lengths, _ in encoded]
    return EncodedPairs(sides[0], sides[1], (encoded[0][2], encoded[1][2]), ids)


def _encode_both(
    source: pa.Array, target: pa.Array, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer
) -> tuple[_Encoded, _Encoded]:
    sides = (source, source_tokenizer, False), (target, target_tokenizer, True)
    return on_both_sides(lambda side: _encode(*side), *sides)


def _encode(texts: pa.Array, tokenizer: Tokenizer, with_bos: bool) -> _Encoded:
    text_tokens, counts = tokenizer.encode_column(texts)
    lengths = counts + 1 + with_bos
    ends = np.cumsum(lengths)
    tokens = np.empty(len(text_tokens) + len(lengths) * (1 + with_bos), np.int32)
    is_text = np.ones(len(tokens), dtype=bool)
    is_text[ends - 1] = False
    tokens[ends - 1] = EOS
    if with_bos:
        is_text[ends - lengths] = False
        tokens[ends - lengths] = BOS
    tokens[is_text] = text_tokens
    return tokens, lengths, int(np.count_nonzero(text_tokens == UNK))


def _mapped_sentences(folder: Path, side: str) -> Sentences:
    offsets = _mapped_array(folder / f"{side}.offsets", _OFFSETS)
    return Sentences(_mapped_array(folder / f"{side}.tokens", _TOKENS), offsets[:-1], np.diff(offsets))


def _mapped_array(path: Path, kind: np.dtype) -> np.ndarray:
    if not path.stat().st_size:  # an empty file cannot be mapped
        return np.zeros(0, kind)
    return np.memmap(path, kind, "r").view(np.ndarray)
