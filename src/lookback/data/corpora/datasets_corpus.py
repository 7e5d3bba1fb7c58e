"""The common part of the corpora that the library ``datasets`` reads: from the Hub, a directory or files of records."""

from __future__ import annotations

import errno
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lookback.common.checks import Seed, Size, Text
from lookback.common.errors import InputError
from lookback.common.suggestions import one_of
from lookback.data.corpora.corpus import (
    AlignmentBase,
    BleuTokenizer,
    LengthRatio,
    SplitName,
    TestSplitName,
    check_subset,
)
from lookback.data.corpora.fields import text_columns
from lookback.data.corpora.gold_alignment import with_alignment
from lookback.data.corpora.pairs import cached_pairs, first_rows, pair_features, random_rows, stream_pairs
from lookback.data.corpora.record_files import refuse_records
from lookback.data.datasets_private import (
    datasets_fingerprint,
    has_no_files,
    is_empty_slice,
    is_no_slice,
    is_of_a_stream,
    known_configurations,
    known_splits,
    with_features,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset, IterableDataset

_ROWS_AT_A_TIME = 10_000  # rows checked and written at a time
_STREAMED_ROWS_AT_A_TIME = 1000
_WHOLE_SPLIT = re.compile(r"\w+")


@dataclass(frozen=True)
class Split:
    """One split as it is read.

    Attributes:
        key: the setting that names it, such as "data.train.split".
        name: its name or slice, such as "train[:1000]".
        where: its name in messages.
        is_training: whether it is the training split.
        files: the local files that it is read from, grouped by the name of the split they belong to. Empty for an id of
            the Hub.
    """

    key: str
    name: str
    where: str
    is_training: bool
    files: Mapping[str, Sequence[Path]]

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole split rather than a slice."""
        return _WHOLE_SPLIT.fullmatch(self.name) is not None

    @property
    def all_files(self) -> list[Path]:
        return [file for files in self.files.values() for file in files]

    def file_states(self) -> list[tuple[str, int, int]]:
        """Path, size and modification time of each file: a changed file is read again."""
        return [(str(file), (status := file.stat()).st_size, status.st_mtime_ns) for file in self.all_files]


@dataclass(kw_only=True, eq=False)
class DatasetsCorpus(ABC):
    """Rows that the library ``datasets`` reads. Two fields of a row are its source and its target.

    Row i of a split is row i of the rows that are read. A text may hold any Unicode character but NUL, and 1 MiB at
    most. In training, a text that is None counts as empty, and pairs with an empty side are dropped and counted; in
    validation and test it is refused. The pairs are written to the cache once and memory-mapped from then on.

    Args:
        path: what is read; each subclass says what it is.
        train: ``{"split": NAME}``, any split or slice that ``datasets`` knows, such as "train[:1000]".
        validation: the same for validation.
        test: the same for the test set; also ``alignment``, the file of its gold word alignment or None, as
            ``with_alignment`` reads it.
        source_language: the language that is translated. Config files build the fields and the configuration's name
            from the two languages, so that exchanging them reverses the direction.
        target_language: the language that it is translated into.
        source_field: the field that holds the source text. A dot leads into a field of a field: "translation.de".
        target_field: the field that holds its translation.
        train_max_length: as in ``TextCorpus``.
        max_length_ratio: as in ``TextCorpus``.
        bleu_tokenize: as in ``TextCorpus``.
        limit: as in ``TextCorpus``.
        subset_seed: as in ``TextCorpus``.
        streaming: as in ``TextCorpus``. A stream cannot be sliced.
        alignment_base: as in ``TextCorpus``.

    Raises:
        ValueError: for a setting out of range.
        InputError: from ``load``, in one line: for a path, configuration, split or field that is not there (with those
            that are); for fields that hold no text; for a text that is None, too long or has a NUL (with its row,
            counted from 0); for a file that cannot be parsed (with its line where it is known); and for an empty split.
    """

    path: Text
    train: SplitName
    validation: SplitName
    test: TestSplitName
    source_language: Text | None
    target_language: Text | None
    source_field: Text
    target_field: Text
    train_max_length: Size | None
    max_length_ratio: LengthRatio | None
    bleu_tokenize: BleuTokenizer
    limit: Size | None = None
    subset_seed: Seed | None = None
    streaming: bool = False
    alignment_base: AlignmentBase = 0

    def __post_init__(self) -> None:
        if self.source_field == self.target_field:
            raise ValueError(f"target_field={self.target_field!r}: expected another field than source_field")
        check_subset(self.subset_seed, self.limit, self.streaming)

    @property
    def fields(self) -> dict[str, str]:
        """The two fields that hold the texts; the keys are the settings that name them."""
        return {"data.source_field": self.source_field, "data.target_field": self.target_field}

    def load(self, split: str) -> Dataset | IterableDataset:
        """The split, as ``Corpus`` says: memory-mapped, or with ``streaming`` the training split as a stream."""
        settings = getattr(self, split)
        name = str(settings["split"])
        files = self._files(name)
        where = f"{self._title(files)}, split {name}"
        read = Split(f"data.{split}.split", name, where, split == "train", files)
        if read.is_training and self.streaming:
            return self._stream(read)
        pairs = self._pairs(read)
        alignment = settings.get("alignment")
        return pairs if alignment is None else with_alignment(pairs, alignment, self.alignment_base)

    @abstractmethod
    def _files(self, name: str) -> dict[str, list[Path]]:
        """The local files that a split or slice is read from, grouped by the name of the split they belong to."""

    @abstractmethod
    def _identity(self, split: Split) -> object:
        """Everything that the rows depend on; None if only the Hub knows its present content."""

    @abstractmethod
    def _read(self, split: Split, scratch: Path | None, streaming: bool) -> Any:
        """The rows as ``datasets`` reads them. If it copies local files, the copy goes to ``scratch``."""

    @abstractmethod
    def _format(self, file: Path) -> str | None:
        """The format that a local file is read as: "json", "csv" or "parquet". None where it is unknown."""

    def _title(self, files: Mapping[str, Sequence[Path]]) -> str:
        """The name of the corpus in messages."""
        return self.path

    def _pairs(self, split: Split) -> Dataset:
        limit, seed = (self.limit, self.subset_seed) if split.is_training else (None, None)
        identity, rows = self._identity(split), None
        if identity is None:
            rows = self._read(split, None, streaming=False)
            identity = datasets_fingerprint(rows)
        parts = (identity, split.name, tuple(self.fields.values()), split.is_training)
        title = f"Loading {split.where}"

        def batches(scratch: Path) -> Iterator[pa.RecordBatch]:
            return self._batches(split, rows, scratch)

        if limit is None:
            return cached_pairs("hub", parts, title, batches)
        if seed is None:
            return cached_pairs("hub", (parts, limit), title, lambda scratch: first_rows(batches(scratch), limit))
        whole = cached_pairs("hub", parts, title, batches)
        return cached_pairs("hub", (parts, limit, seed), title, lambda _: random_rows(whole, limit, seed))

    def _batches(self, split: Split, rows: Any, scratch: Path | None) -> Iterator[pa.RecordBatch]:
        if rows is None:
            # for a slice of local files, ``datasets`` copies all their splits; a whole split can be read as a stream
            rows = self._read(split, scratch, streaming=bool(split.files) and split.is_whole)
        first_row = 0
        with self._explained(split):
            for table in rows.with_format("arrow").iter(_ROWS_AT_A_TIME):
                texts = self._texts(table, split, first_row)
                yield from texts.to_batches()
                first_row += len(texts)
        if not first_row:
            self._refuse_empty(split)

    def _stream(self, split: Split) -> IterableDataset:
        rows = self._read(split, None, streaming=True)
        with self._explained(split):
            rows = with_features(rows)
            columns = rows.column_names
        if columns is None:
            self._refuse_empty(split)
        if split.files:  # read here, an error in a row that is reached later is explained like one in the first
            pairs = stream_pairs(partial(self._batches, split, None, None))
            return pairs if self.limit is None else pairs.take(self.limit)
        pairs = rows.with_format("arrow").map(
            partial(self._texts, split=split, first_row=None),
            batched=True,
            batch_size=_STREAMED_ROWS_AT_A_TIME,
            features=pair_features(),
            remove_columns=columns,
        )
        pairs = pairs.with_format(None)
        return pairs if self.limit is None else pairs.take(self.limit)

    def _refuse_empty(self, split: Split) -> NoReturn:
        for file in split.all_files:  # what is no record may have been passed over
            refuse_records(file, self._format(file), tuple(self.fields.values()))
        raise InputError(f"{split.where}: is empty, expected one pair or more")

    def _texts(self, table: pa.Table, split: Split, first_row: int | None) -> pa.Table:
        def refuse(field: str) -> None:
            for file in split.all_files:
                refuse_records(file, self._format(file), (field,))  # for JSON, this error names the line

        return text_columns(table, self.fields, split.where, first_row, split.is_training, refuse)

    @contextmanager
    def _explained(self, split: Split) -> Iterator[None]:
        """Turn an error of ``datasets`` that is raised inside into one line that says what the user can correct."""
        from datasets.exceptions import DatasetNotFoundError, DatasetsError
        from huggingface_hub.errors import OfflineModeIsEnabled

        logger = logging.getLogger("datasets")  # it also logs the errors that it raises
        level = logger.level
        logger.setLevel(logging.CRITICAL)
        try:
            yield
        except InputError:
            raise
        except DatasetNotFoundError as error:
            raise InputError(
                f"data.path={self.path}: {_first_line(error)}; expected an id of the Hub or a directory"
            ) from error
        except (ConnectionError, OfflineModeIsEnabled) as error:
            raise InputError(
                f"data.path={self.path}: no network, and no copy of it in the cache; expected one of the two, or its "
                "files on this machine, as data.path=DIR"
            ) from error
        # a TypeError: its JSON reader takes damaged records for lists; an OverflowError: digits in a damaged CSV file;
        # a MemoryError: a damaged Parquet file asks for any size
        except (
            ValueError,
            TypeError,
            LookupError,
            OverflowError,
            MemoryError,
            RuntimeError,
            OSError,
            DatasetsError,
        ) as error:
            _raise_if_disk_is_full(error)
            self._refuse(split, error)
        finally:
            logger.setLevel(level)

    def _refuse(self, split: Split, error: Exception) -> NoReturn:
        if has_no_files(error):
            raise InputError(f"data.path={self.path}: no data files; expected Parquet, JSON or CSV") from error
        splits = known_splits(error)
        if splits is not None:
            hint = "; a stream cannot be sliced" if is_of_a_stream(error) and not split.is_whole else ""
            raise InputError(
                f"{split.key}={split.name}: no such split of {self.path}; expected {one_of(splits, split.name)}{hint}"
            ) from error
        if is_no_slice(error):
            raise InputError(
                f"{split.key}={split.name}: {_first_line(error)}; expected a split or a slice of one"
            ) from error
        if is_empty_slice(error):
            raise InputError(f"{split.where}: is empty, expected one pair or more") from error
        for file in split.all_files:
            refuse_records(file, self._format(file), tuple(self.fields.values()))
        raise InputError(f"{split.where}: {_first_line(error.__cause__ or error)}") from error


def load_configuration(path: str, name: str | None, shown: str, options: Mapping[str, Any]) -> Any:
    """Load a configuration with ``datasets.load_dataset``, whichever language its name has first.

    Args:
        path: an id of the Hub or a directory.
        name: the configuration; None for the only one. For "en-de", "de-en" is taken if only that exists.
        shown: the name of the path in messages.
        options: other arguments of ``load_dataset``.

    Raises:
        InputError: if there is no such configuration.
        Exception: whatever else ``load_dataset`` raises.
    """
    from datasets import load_dataset

    try:
        return load_dataset(path, name, **options)
    except ValueError as error:
        known = known_configurations(error)
        if known is None:
            raise
        reverse = "-".join(reversed(str(name).split("-")))
        if reverse != name and reverse in known:
            return load_dataset(path, reverse, **options)
        raise InputError(
            f"data.name={name}: no such configuration of {shown}; expected {one_of(known, str(name))}"
        ) from error


def _raise_if_disk_is_full(error: BaseException) -> None:
    """Raise the cause again if it is a full disk: then the data are not at fault, and the cache reports it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise cause
        cause = cause.__cause__ or cause.__context__


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
