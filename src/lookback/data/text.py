"""Aligned text files: line N of one is the translation of line N of the other."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from lookback.data.corpus import SPLITS
from lookback.data.lines import check_file, read_lines
from lookback.data.progress import step
from lookback.errors import InputError

if TYPE_CHECKING:
    from datasets import Dataset

SIDES = ("source", "target")
_FORMAT = "1"  # of the cached Arrow files: raise it when reading changes
_ROWS = 10_000  # lines written at a time


class TextCorpus:
    """A corpus from six files that the user names, one sentence a line, plain or gzipped.

    Every line counts: row i of a split is line i+1 of its files. What a line may hold is said at `read_pair`. A blank
    line stays where it is, so that no test sentence changes its number; `TranslationData` drops training pairs with a
    blank side and says how many.

    Args:
        train: the two files of the training split, `{"source": FILE, "target": FILE}`.
        validation: the same for validation.
        test: the same for the test set.
        train_max_length: longest source of a training pair in words; None means no limit.
        bleu_tokenize: a tokenizer that sacreBLEU knows: "13a" for raw text, "none" for text that is tokenised already.
        limit: read this many training pairs, from the top of the files; None reads all. The files are checked to their
            end nevertheless.
        max_length_ratio: training pairs whose longer side has more than this many times the words of the shorter are
            dropped; None means no limit.

    Errors: ValueError for a setting out of range. `load` raises InputError for a file that was not given, and as
    `read_pair` does.
    """

    def __init__(
        self,
        train: Mapping[str, str | None],
        validation: Mapping[str, str | None],
        test: Mapping[str, str | None],
        train_max_length: int | None,
        bleu_tokenize: str,
        limit: int | None,
        max_length_ratio: float | None = None,
    ) -> None:
        from sacrebleu.metrics.bleu import BLEU

        self._files = dict(zip(SPLITS, (train, validation, test), strict=True))
        for split, files in self._files.items():
            if set(files) != set(SIDES):
                raise ValueError(
                    f"{split}: has {', '.join(sorted(files)) or 'nothing'}, expected {' and '.join(SIDES)}"
                )
        if train_max_length is not None and train_max_length < 1:
            raise ValueError(f"train_max_length: {train_max_length}, expected 1 or more, or null for no limit")
        if bleu_tokenize not in BLEU.TOKENIZERS:
            raise ValueError(f"bleu_tokenize: {bleu_tokenize!r}, expected one of {', '.join(BLEU.TOKENIZERS)}")
        if limit is not None and limit < 1:
            raise ValueError(f"limit: {limit}, expected 1 or more, or null for all pairs")
        self.train_max_length = train_max_length
        self.max_length_ratio = max_length_ratio
        self.bleu_tokenize = bleu_tokenize
        self.limit = limit

    def load(self, split: str) -> Dataset:
        """The split, features `source` and `target`, memory-mapped. The files of other splits need not exist."""
        # all that are missing in one line, not one a try; a test set alone is enough to score a trained run
        wanted = SPLITS if split == "train" else (split,)
        missing = [f"data.{name}.{side}" for name in wanted for side in SIDES if not self._files[name][side]]
        if missing:
            raise InputError(f"{', '.join(missing)}: no file given, expected a text file each, as {missing[0]}=FILE")
        if split != "train":
            self._warn_of_training_files(split)
        files = self._files[split]
        return read_pair(str(files["source"]), str(files["target"]), self.limit if split == "train" else None)

    def _warn_of_training_files(self, split: str) -> None:
        for side in SIDES:
            ours, training = Path(str(self._files[split][side])), Path(str(self._files["train"][side]))
            if ours.exists() and training.exists() and ours.samefile(training):
                print(
                    f"warning: data.{split}.{side} is the file of data.train.{side}: "
                    "scores on it say nothing about new text",
                    file=sys.stderr,
                )


def read_pair(source: str | os.PathLike[str], target: str | os.PathLike[str], limit: int | None = None) -> Dataset:
    """Read two aligned files into a memory-mapped Dataset with the string features `source` and `target`.

    Both files are UTF-8, plain or gzipped (then named .gz), with one sentence a line; row i is line i+1 of both. A line
    ends with LF or CR LF and nowhere else, the last one also without; a byte-order mark at the start is dropped; blank
    lines, very long lines and control characters stay as they are. The result is kept in the cache of `datasets`, under
    the paths, sizes and modification times of the files: a changed file is read anew.

    Args:
        source: the file of source sentences.
        target: the file of their translations, as many lines.
        limit: keep this many pairs from the top, None keeps all; the files are checked to their end nevertheless.

    Errors: InputError, one line with file and line number, if the line counts differ, a file is missing, empty, given
    as both sides, no regular file or not gzip as its name says, and for invalid UTF-8, a NUL, or damaged gzip data.
    Nothing of a refused file is kept.
    """
    from datasets import Dataset, config

    paths = (Path(source).expanduser(), Path(target).expanduser())
    for path in paths:
        check_file(path)
    if paths[0].samefile(paths[1]):
        raise InputError(f"{paths[1]}: given as source and as target, expected two files that translate each other")
    cached = Path(config.HF_DATASETS_CACHE) / "lookback_text" / f"{_cache_key(paths, limit)}.arrow"
    if not cached.exists():
        with step(f"Reading {paths[0]} and {paths[1].name}"):
            _write_arrow(cached, _aligned(paths), limit)
    return Dataset.from_file(str(cached))


def _cache_key(paths: tuple[Path, Path], limit: int | None) -> str:
    states = [(str(path.resolve()), status.st_size, status.st_mtime_ns) for path in paths if (status := path.stat())]
    return hashlib.sha256(repr((_FORMAT, states, limit)).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _aligned(paths: tuple[Path, Path]) -> Iterator[tuple[str, str]]:
    """The pairs of two files, InputError at the end if one has more lines."""
    sides = (read_lines(paths[0]), read_lines(paths[1]))
    for number, (source, target) in enumerate(zip_longest(*sides), start=1):
        if source is None or target is None:
            shorter = 0 if source is None else 1
            longer_count = number + sum(1 for _ in sides[1 - shorter])
            raise InputError(
                f"{paths[1 - shorter]}:{number}: has no partner: this file has {longer_count:,} lines, "
                f"{paths[shorter]} has {number - 1:,}; expected as many, line N of one to translate line N of the other"
            )
        yield source, target


def _write_arrow(path: Path, pairs: Iterator[tuple[str, str]], limit: int | None) -> None:
    """Write a stream of record batches that `Dataset.from_file` maps; the file appears whole or not at all."""
    import pyarrow as pa

    schema = pa.schema({side: pa.string() for side in SIDES})
    temporary = path.with_name(f"{path.name}.{os.getpid()}.incomplete")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
                kept = islice(pairs, limit)
                while rows := list(islice(kept, _ROWS)):
                    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
                    writer.write_batch(pa.record_batch(columns, schema=schema))
                for _ in pairs:  # past the limit: read to the end, so that files out of step are refused
                    pass
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"{path.parent}: {error}; expected a folder to cache the corpus in, HF_DATASETS_CACHE names another"
        ) from error
