"""The data module: gives Lightning the batches of a corpus."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import lightning
import numpy as np
import pyarrow as pa
import tokenizers

from lookback.common.checks import Seed, Size, checked
from lookback.common.errors import InputError
from lookback.data.batches.batching import Batch, BatchUnit, BucketBatchSampler
from lookback.data.batches.loading import BatchLoader, Loader
from lookback.data.batches.streaming import StreamLoader, StreamPosition, Window, windows
from lookback.data.corpora.columns import columns, word_counts
from lookback.data.corpora.corpus import SIDES, SPLITS, Corpus
from lookback.data.datasets_private import datasets_fingerprint
from lookback.data.preparation.cache import cached_folder
from lookback.data.preparation.encoding import EncodedPairs, encode_arrays, encode_pairs
from lookback.data.preparation.filtering import Limits, Selection, report_dropped
from lookback.data.preparation.fingerprint import fingerprint
from lookback.data.tokenizers.tokenization import Tokenization
from lookback.data.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    import datasets

_Value = TypeVar("_Value")
_TOKENIZERS_FORMAT = 1  # raise it when the same text and recipe give another tokenizer


@checked
class TranslationData(lightning.LightningDataModule):
    """Loads a corpus, learns the tokenizers from its training split, and serves batches.

    The validation and test splits are used whole. Training pairs without words on a side, or beyond the corpus'
    ``train_max_length`` or ``max_length_ratio``, are dropped, counted and printed. What is prepared is cached: which
    pairs are kept, the tokenizers, and the token ids, which are memory-mapped. A second start only reads the cache.

    A training split that is a stream is never prepared as a whole: windows of ``shuffle_buffer`` pairs are filtered,
    encoded, shuffled and cut into batches as training reaches them, and the tokenizers are learnt from the first
    window. The stream's length is not known, and neither are the counts that depend on it. Dropped pairs are counted as
    far as training has read, and printed at its end.

    Args:
        corpus: the text.
        tokenization: how the tokenizers are learnt.
        batch_size: training pairs or tokens a batch, as ``batch_unit`` says; those of all ranks together.
        batch_unit: "sentences" or "tokens"; tokens are those of the larger side, padding included.
        evaluation_batch_size: pairs of a validation or test batch.
        shuffle_buffer: pairs of a stream that are shuffled together.
        seed: of the order of the training pairs.
        source_tokenizer: the one of a trained model; None means that ``tokenization`` learns it.
        target_tokenizer: the same for the target side.

    Raises:
        ValueError: for an argument out of range.
        InputError: from ``setup``, if the corpus cannot be read or a split is empty.
    """

    def __init__(
        self,
        corpus: Corpus,
        tokenization: Tokenization,
        batch_size: Size,
        batch_unit: BatchUnit,
        evaluation_batch_size: Size,
        shuffle_buffer: Size,
        seed: Seed,
        source_tokenizer: Tokenizer | None = None,
        target_tokenizer: Tokenizer | None = None,
    ) -> None:
        super().__init__()
        self.corpus = corpus
        self.tokenization = tokenization
        self.batch_size = batch_size
        self.batch_unit = batch_unit
        self.evaluation_batch_size = evaluation_batch_size
        self.shuffle_buffer = shuffle_buffer
        self.seed = seed
        self._limits = Limits(corpus.train_max_length, corpus.max_length_ratio)
        self._source_tokenizer = source_tokenizer
        self._target_tokenizer = target_tokenizer
        self._texts: dict[str, datasets.Dataset] = {}
        self._stream: datasets.IterableDataset | None = None
        # the reading of a stream that began when the tokenizers were learnt: epoch 0 goes on with it
        self._first_reading: Iterator[Window] | None = None
        self._selection: Selection | None = None
        self._encoded: dict[str, EncodedPairs] = {}
        self._samplers: dict[str, BucketBatchSampler] = {}
        self._training: Loader | None = None
        self._resumed: dict[str, Any] = {}
        self._fingerprints: dict[str, str] = {}

    def setup(self, stage: str | None = None) -> None:
        """Read, filter and encode all splits, or with the stage "test" that split alone. A second call does nothing."""
        if self._encoded:
            return
        for split in ("test",) if stage == "test" else SPLITS:
            self._load(split)
        self._fingerprints = {split: fingerprint(texts) for split, texts in self._texts.items() if split != "train"}
        if "train" in self._texts:
            self._selection = self._select()
            self._fingerprints["train"] = self._selection.fingerprint  # cached with the choice: it may be a large text
        if self._source_tokenizer is None or self._target_tokenizer is None:
            source, target = self._tokenizers()
            self._source_tokenizer = self._source_tokenizer or source
            self._target_tokenizer = self._target_tokenizer or target
        for split, texts in self._texts.items():
            keep = self._selection.keep if split == "train" and self._selection else None
            self._encoded[split] = encode_pairs(texts, self.source_tokenizer, self.target_tokenizer, keep)

    @property
    def source_tokenizer(self) -> Tokenizer:
        """The given tokenizer, or after ``setup`` the learnt one."""
        return _after_setup(self._source_tokenizer)

    @property
    def target_tokenizer(self) -> Tokenizer:
        """The given tokenizer, or after ``setup`` the learnt one."""
        return _after_setup(self._target_tokenizer)

    @property
    def fingerprint(self) -> str:
        """A hash of the test set's raw text: runs are compared only where it is the same."""
        return self.fingerprints["test"]

    @property
    def fingerprints(self) -> dict[str, str]:
        """A hash of the raw text of each split that was read, before filtering. A stream has none."""
        return _after_setup(self._fingerprints)

    @property
    def streams(self) -> bool:
        """Whether the training split is a stream."""
        return self.corpus.streaming

    def texts(self, split: str) -> datasets.Dataset:
        """The raw text of "train" (the pairs that are kept), "validation" or "test". ``Batch.ids`` are its rows.

        Features: ``source``, ``target``, and ``alignment`` if the corpus has it. A stream has no "train" here.
        """
        texts = _after_setup(self._texts)[split]
        if split == "train" and self._selection is not None and self._selection.dropped:
            return texts.select(np.flatnonzero(self._selection.keep))
        return texts

    def describe(self) -> dict[str, Any]:
        """Numbers of the prepared data, as plain containers.

        ``train``, ``validation``, ``test``: as ``EncodedPairs.describe``. ``dropped``: training pairs that were
        dropped, by reason; of a stream, among those that training has reached, each counted once however often it is
        read. ``overlap``: how many test pairs are also in the training split, as ``Selection`` has it.
        ``padding_waste``: the share of padding among the tokens of a training epoch. The two vocabulary sizes include
        the four special tokens. What depends on the length of a stream is None.
        """
        counts = {split: pairs.describe() for split, pairs in _after_setup(self._encoded).items()}
        return {
            "train": None,
            **counts,
            "dropped": self._dropped(),
            "overlap": dict(self._selection.overlap) if self._selection else None,
            "padding_waste": self._sampler("train").padding_waste if "train" in counts else None,
            "source_vocabulary": len(self.source_tokenizer),
            "target_vocabulary": len(self.target_tokenizer),
        }

    def save_tokenizers(self, directory: str | os.PathLike[str]) -> None:
        """Write ``source.json`` and ``target.json`` into ``directory``."""
        self.source_tokenizer.save(Path(directory) / "source.json")
        self.target_tokenizer.save(Path(directory) / "target.json")

    def teardown(self, stage: str) -> None:
        """Print the dropped pairs of a stream: their number is known when training ends and Lightning calls this."""
        if stage == "fit" and isinstance(self._training, StreamLoader) and self._training.reached.dropped:
            reached = self._training.reached
            report_dropped(reached.pairs - sum(reached.dropped.values()), reached.dropped)

    def train_dataloader(self) -> Loader:
        """The training batches of this rank, from the place that ``load_state_dict`` was given."""
        rank, ranks = self._rank()
        counted = self.trainer is not None
        if self._stream is None:
            pairs = _after_setup(self._encoded)["train"]
            self._training = BatchLoader(pairs, self._sampler("train"), rank, ranks, counted)
        else:
            cut = (self.batch_size, self.batch_unit, self.seed)
            self._training = StreamLoader(self._windows, self._encode, *cut, rank, ranks, counted)
        if self._resumed:
            self._training.load_state_dict(self._resumed)
            self._resumed = {}
        return self._training

    def val_dataloader(self) -> BatchLoader:
        return self._evaluation("validation")

    def test_dataloader(self) -> BatchLoader:
        return self._evaluation("test")

    def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        """Count the training batches. Lightning calls this for each batch before it is used."""
        if self._training is not None and self.trainer is not None and self.trainer.training:
            self._training.take()
        return batch

    # Lightning also saves the state of a loader. But it does not restore that state if something asks for the number of
    # steps before training begins, as schedules do (lightning 2.6.6). It always restores the state of the data module.

    def state_dict(self) -> dict[str, Any]:
        """The place in the epoch that training has reached, in plain containers, for a checkpoint."""
        return {} if self._training is None else self._training.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Make the next ``train_dataloader`` go on from a state of ``state_dict``."""
        self._resumed = state_dict

    def _load(self, split: str) -> None:
        from datasets import IterableDataset

        texts = self.corpus.load(split)
        is_stream = isinstance(texts, IterableDataset)
        if is_stream != (self.streams and split == "train"):
            found, expected = ("a stream", "a Dataset") if is_stream else ("no stream", "one, as streaming=true says")
            raise TypeError(f"{type(self.corpus).__name__}.load: the {split} split is {found}, expected {expected}")
        if is_stream:
            self._stream = texts
            return
        if not len(texts):
            raise InputError(_no_pairs(split))
        for side in SIDES if split != "train" else ():  # blank lines are kept there, as the numbers of sentences are
            if not word_counts(texts, side).any():
                raise InputError(f"data.{split}: no {side} has a word; expected text to translate and to compare with")
        self._texts[split] = texts

    def _select(self) -> Selection:
        selection = Selection.of(self._texts["train"], self._limits, self._texts["test"])
        selection.report(len(self._texts["test"]))
        if not selection.pairs:
            raise InputError(_no_pairs("train"))
        return selection

    def _tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """The tokenizers, learnt from the training split or from the first window of a stream, or cached."""
        if self._selection is not None:
            texts, keep = self._texts["train"], self._selection.keep if self._selection.dropped else None
            identity = f"{datasets_fingerprint(texts)} {self._limits}"

            def pairs() -> Iterator[tuple[pa.Array, pa.Array]]:
                return columns(texts, keep)

        else:
            reading = self._windows(0, StreamPosition())
            first = next(reading, None)
            if not first:  # None, or without pairs
                raise InputError(_no_pairs("train"))
            self._first_reading = chain([first], reading)
            sentences = [*first.source.to_pylist(), *first.target.to_pylist()]
            identity = hashlib.sha256("\0".join(sentences).encode()).hexdigest()

            def pairs() -> Iterator[tuple[pa.Array, pa.Array]]:
                yield first.source, first.target

        def write(folder: Path) -> None:
            learnt = self.tokenization.learn(lambda side: (pair[SIDES.index(side)] for pair in pairs()))
            for side, tokenizer in zip(SIDES, learnt, strict=True):
                tokenizer.save(folder / f"{side}.json")

        parts = (_TOKENIZERS_FORMAT, tokenizers.__version__, identity, repr(self.tokenization))
        folder = cached_folder("tokenizers", parts, "Learning the vocabularies", write)
        source = Tokenizer.load(folder / "source.json")
        return source, source if self.tokenization.joint else Tokenizer.load(folder / "target.json")

    def _dropped(self) -> dict[str, int] | None:
        if self._selection is not None:
            return dict(self._selection.dropped)
        return dict(self._training.reached.dropped) if isinstance(self._training, StreamLoader) else None

    def _windows(self, epoch: int, place: StreamPosition) -> Iterator[Window]:
        if self._first_reading is not None and (epoch, place) == (0, StreamPosition()):
            reading, self._first_reading = self._first_reading, None
            return reading
        return windows(_after_setup(self._stream), self.shuffle_buffer, self._limits, epoch, place)

    def _encode(self, window: Window) -> EncodedPairs:
        return encode_arrays(window.source, window.target, self.source_tokenizer, self.target_tokenizer, window.ids)

    def _rank(self) -> tuple[int, int]:
        return (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)

    def _sampler(self, split: str) -> BucketBatchSampler:
        if split not in self._samplers:
            pairs = _after_setup(self._encoded)[split]
            size: tuple[int, BatchUnit] = (self.evaluation_batch_size, "sentences")
            if split == "train":
                size = (self.batch_size, self.batch_unit)
            self._samplers[split] = BucketBatchSampler(
                pairs.source.lengths, pairs.target_lengths, *size, self.seed, split == "train"
            )
        return self._samplers[split]

    def _evaluation(self, split: str) -> BatchLoader:
        return BatchLoader(_after_setup(self._encoded)[split], self._sampler(split), *self._rank())


def evaluation_loader(
    texts: datasets.Dataset, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, batch_size: int
) -> BatchLoader:
    """Batches of any text with the columns ``source`` and ``target``, as ``test_dataloader`` gives them for a corpus.

    Every row comes once, in a fixed order, the longest sources first. ``Batch.ids`` are rows of ``texts``.
    """
    pairs = encode_pairs(texts, source_tokenizer, target_tokenizer)
    sampler = BucketBatchSampler(
        pairs.source.lengths, pairs.target_lengths, batch_size, "sentences", seed=0, shuffle=False
    )
    return BatchLoader(pairs, sampler)


def _no_pairs(split: str) -> str:
    return f"data: no pairs in the {split} split, expected one or more"


def _after_setup(value: _Value | None) -> _Value:
    if not value:
        raise RuntimeError("call setup() first")
    return value
