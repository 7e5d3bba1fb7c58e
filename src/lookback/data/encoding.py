"""A split of a corpus as ids: encoded once, cached by `datasets`, memory-mapped afterwards."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookback.data.batching import Sentences
from lookback.data.tokenizer import Tokenizer
from lookback.symbols import BOS, EOS, UNK

if TYPE_CHECKING:
    from datasets import Dataset

_ROWS = 20_000  # sentences encoded at a time


@dataclass(frozen=True)
class EncodedPairs:
    """One split: every source ends with EOS, every target begins with BOS and ends with EOS."""

    source: Sentences
    target: Sentences

    def __len__(self) -> int:
        return len(self.source)


def encode_pairs(texts: Dataset, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> EncodedPairs:
    """Encode the columns `source` and `target` of a split; with equal text and tokenizers again, read the cache."""
    tokenizers = hashlib.sha256()
    for part in (texts._fingerprint, source_tokenizer.to_json(), target_tokenizer.to_json()):
        tokenizers.update(hashlib.sha256(part.encode()).digest())
    encoded = (
        texts.select_columns(["source", "target"])
        .with_format("arrow")
        .map(
            partial(_encode, source_tokenizer=source_tokenizer, target_tokenizer=target_tokenizer),
            batched=True,
            batch_size=_ROWS,
            writer_batch_size=_ROWS,
            new_fingerprint=tokenizers.hexdigest()[:32],
            desc="Encoding",
        )
    )
    return EncodedPairs(_sentences(encoded, "source"), _sentences(encoded, "target"))


def unknown_rate(sentences: Sentences) -> float:
    """The share of unknown words, 0 to 1; marks are no words."""
    words = int((sentences.tokens > EOS).sum() + (sentences.tokens == UNK).sum())
    return int((sentences.tokens == UNK).sum()) / words if words else 0.0


def _encode(table: pa.Table, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> pa.Table:
    sources = source_tokenizer.encode(table.column("source").to_pylist())
    targets = target_tokenizer.encode(table.column("target").to_pylist())
    kind = pa.list_(pa.int32())
    return pa.table(
        {
            "source": pa.array([[*ids, EOS] for ids in sources], kind),
            "target": pa.array([[BOS, *ids, EOS] for ids in targets], kind),
        }
    )


def _sentences(encoded: Dataset, column: str) -> Sentences:
    chunks = [chunk for chunk in encoded.data.column(column).chunks if len(chunk)]
    lengths = [chunk.value_lengths().to_numpy() for chunk in chunks]
    every_length = np.concatenate([np.zeros(0, np.int64), *lengths]).astype(np.int64)
    tokens = np.concatenate([np.zeros(0, np.int32), *(chunk.flatten().to_numpy() for chunk in chunks)])
    return Sentences(tokens, np.cumsum(every_length) - every_length, every_length)
