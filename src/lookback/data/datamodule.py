"""A corpus as batches for Lightning."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import lightning
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from lookback.data.batching import BATCH_UNITS, Batch, BucketBatchSampler
from lookback.data.corpus import SPLITS, Corpus
from lookback.data.encoding import EncodedPairs, encode_pairs, unknown_rate
from lookback.data.filtering import filter_pairs
from lookback.data.progress import step
from lookback.data.tokenizer import Tokenizer, train_word_tokenizer
from lookback.errors import InputError
from lookback.symbols import SYMBOLS

if TYPE_CHECKING:
    import datasets

_Value = TypeVar("_Value")


class TranslationData(lightning.LightningDataModule):
    """Loads a corpus, trains the tokenizers on its training split, and serves batches.

    Nothing is left out of the validation and test splits. Training pairs without words on a side, or longer than the
    corpus' `train_max_length`, are dropped, counted and printed.

    Args:
        corpus: where the text comes from.
        vocabulary_size: ids of each side at most, the four symbols included.
        min_frequency: a word that occurs less often in the training split becomes `<unk>`.
        batch_size: training pairs or tokens a batch, as `batch_unit` says.
        batch_unit: "sentences", or "tokens": of the larger side, padding included.
        evaluation_batch_size: pairs of a validation or test batch.
        seed: of the order of the training pairs.
        source_tokenizer: of a trained model; None trains one.
        target_tokenizer: the same for the target side.

    Errors: ValueError for an argument out of range; `setup` raises InputError if the corpus cannot be read or a split
    is empty.
    """

    def __init__(
        self,
        corpus: Corpus,
        vocabulary_size: int,
        min_frequency: int,
        batch_size: int,
        batch_unit: str,
        evaluation_batch_size: int,
        seed: int,
        source_tokenizer: Tokenizer | None = None,
        target_tokenizer: Tokenizer | None = None,
    ) -> None:
        super().__init__()
        for name, value in (
            ("min_frequency", min_frequency),
            ("batch_size", batch_size),
            ("evaluation_batch_size", evaluation_batch_size),
        ):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}: {value}, expected a whole number, 1 or more")
        if vocabulary_size <= len(SYMBOLS):
            raise ValueError(f"vocabulary_size: {vocabulary_size}, expected more than {len(SYMBOLS)} (the symbols)")
        if batch_unit not in BATCH_UNITS:
            raise ValueError(f"batch_unit: {batch_unit!r}, expected one of {', '.join(BATCH_UNITS)}")
        self.corpus = corpus
        self.vocabulary_size = vocabulary_size
        self.min_frequency = min_frequency
        self.batch_size = batch_size
        self.batch_unit = batch_unit
        self.evaluation_batch_size = evaluation_batch_size
        self.seed = seed
        self._source_tokenizer = source_tokenizer
        self._target_tokenizer = target_tokenizer
        self._texts: dict[str, datasets.Dataset] = {}
        self._encoded: dict[str, EncodedPairs] = {}
        self._samplers: dict[str, BucketBatchSampler] = {}
        self._dropped: dict[str, int] = {}
        self._fingerprint = ""

    def setup(self, stage: str | None = None) -> None:
        """Read, filter and encode all splits, or with stage "test" that split alone; a second call does nothing."""
        if self._encoded:
            return
        for split in ("test",) if stage == "test" else SPLITS:
            texts = self.corpus.load(split)
            if split == "train":
                texts = self._filtered(texts)
            if not len(texts):
                raise InputError(f"data: no pairs in the {split} split, expected one or more")
            self._texts[split] = texts
        self._fingerprint = fingerprint(self._texts["test"])
        if self._source_tokenizer is None:
            self._source_tokenizer = self._train_tokenizer("source")
        if self._target_tokenizer is None:
            self._target_tokenizer = self._train_tokenizer("target")
        with step(f"Preparing {sum(map(len, self._texts.values())):,} pairs"):
            for split, rows in self._texts.items():
                self._encoded[split] = encode_pairs(rows, self._source_tokenizer, self._target_tokenizer)
                self._samplers[split] = self._sampler(split)

    def _filtered(self, texts: datasets.Dataset) -> datasets.Dataset:
        kept, self._dropped = filter_pairs(texts, self.corpus.train_max_length)
        if self._dropped:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self._dropped.items())
            print(f"training pairs: {len(kept):,} of {len(texts):,} (dropped: {reasons})", file=sys.stderr)
        return kept

    @property
    def source_tokenizer(self) -> Tokenizer:
        """Known from the start if it was given, after `setup` otherwise."""
        return _ready(self._source_tokenizer)

    @property
    def target_tokenizer(self) -> Tokenizer:
        """Known from the start if it was given, after `setup` otherwise."""
        return _ready(self._target_tokenizer)

    @property
    def fingerprint(self) -> str:
        """A hash of the test set's raw text: runs are compared only where it is the same."""
        return _ready(self._fingerprint)

    def texts(self, split: str) -> datasets.Dataset:
        """The raw text of "train" (what training uses of it), "validation" or "test"; `Batch.ids` are its rows.

        Features: source, target, and alignment where the corpus has it.
        """
        return _ready(self._texts)[split]

    def describe(self) -> dict[str, Any]:
        """Numbers of the prepared data, as plain containers.

        For each split: pairs, tokens of each side (source: words and EOS; target: what is predicted, words and EOS) and
        the share of unknown words. `dropped`: training pairs left out, by reason. `padding_waste`: the share of a
        training epoch's token slots that is padding. The two vocabulary sizes include the four symbols.
        """
        splits = {
            split: {
                "pairs": len(pairs),
                "source_tokens": len(pairs.source.tokens),
                "target_tokens": len(pairs.target.tokens) - len(pairs),
                "source_unknown": unknown_rate(pairs.source),
                "target_unknown": unknown_rate(pairs.target),
            }
            for split, pairs in _ready(self._encoded).items()
        }
        return {
            **splits,
            "dropped": dict(self._dropped),
            "padding_waste": self._samplers["train"].padding_waste,
            "source_vocabulary": len(self.source_tokenizer),
            "target_vocabulary": len(self.target_tokenizer),
        }

    def save_tokenizers(self, directory: str | os.PathLike[str]) -> None:
        """Write `source.json` and `target.json` into `directory`."""
        self.source_tokenizer.save(Path(directory) / "source.json")
        self.target_tokenizer.save(Path(directory) / "target.json")

    def train_dataloader(self) -> DataLoader[Batch]:
        return self._loader("train")

    def val_dataloader(self) -> DataLoader[Batch]:
        return self._loader("validation")

    def test_dataloader(self) -> DataLoader[Batch]:
        return self._loader("test")

    def _train_tokenizer(self, side: str) -> Tokenizer:
        return train_word_tokenizer(_column(self._texts["train"], side), self.vocabulary_size, self.min_frequency)

    def _sampler(self, split: str) -> BucketBatchSampler:
        if split == "train":
            return _sampler(self._encoded[split], self.batch_size, self.batch_unit, self.seed, shuffle=True)
        return _sampler(self._encoded[split], self.evaluation_batch_size, "sentences", self.seed, shuffle=False)

    def _loader(self, split: str) -> DataLoader[Batch]:
        return _loader(_ready(self._encoded)[split], self._samplers[split])


def evaluation_loader(
    texts: datasets.Dataset, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, batch_size: int
) -> DataLoader[Batch]:
    """Batches of any text with the columns `source` and `target`, as `test_dataloader` gives them for a corpus.

    Every row comes once, in a fixed order, the longest sources first; `Batch.ids` are rows of `texts`.
    """
    with step(f"Preparing {len(texts):,} pairs"):
        pairs = encode_pairs(texts, source_tokenizer, target_tokenizer)
    return _loader(pairs, _sampler(pairs, batch_size, "sentences", seed=0, shuffle=False))


def fingerprint(texts: datasets.Dataset) -> str:
    """A hash of the raw text of a split: equal text, equal fingerprint, wherever it was read from."""
    digest = hashlib.sha256()
    for side in ("source", "target"):
        # Lengths first, so that no text can move from one sentence to the next unnoticed.
        for text in _column(texts, side):
            data = text.encode()
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
    return digest.hexdigest()


class _Pairs(Dataset[Batch]):
    """Builds a whole batch from the rows that the sampler names."""

    def __init__(self, pairs: EncodedPairs) -> None:
        self._pairs = pairs

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, rows: np.ndarray) -> Batch:
        source, target = self._pairs.source, self._pairs.target
        return Batch(
            ids=torch.from_numpy(rows.copy()),
            source=torch.from_numpy(source.padded(rows)),
            source_length=torch.from_numpy(source.lengths[rows]),
            target=torch.from_numpy(target.padded(rows)),
        )


def _sampler(pairs: EncodedPairs, batch_size: int, unit: str, seed: int, shuffle: bool) -> BucketBatchSampler:
    target_lengths = pairs.target.lengths - 1  # BOS is not predicted
    return BucketBatchSampler(pairs.source.lengths, target_lengths, batch_size, unit, seed, shuffle)


def _loader(pairs: EncodedPairs, sampler: BucketBatchSampler) -> DataLoader[Batch]:
    # A batch is a few numpy calls: a worker process would only add the cost of sending it.
    return DataLoader(_Pairs(pairs), sampler=sampler, batch_size=None, collate_fn=_unchanged)


def _unchanged(batch: Any) -> Any:
    return batch


def _column(texts: datasets.Dataset, side: str) -> Iterator[str]:
    for batch in texts.select_columns([side]).with_format("arrow").iter(10_000):
        yield from batch.column(side).to_pylist()


def _ready(value: _Value | None) -> _Value:
    if not value:
        raise RuntimeError("call setup() first")
    return value
