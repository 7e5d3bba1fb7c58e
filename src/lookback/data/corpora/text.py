"""Aligned text files: line N of one is the translation of line N of the other."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lookback.common.checks import Seed, Size, checked
from lookback.common.errors import InputError
from lookback.data.corpora.corpus import (
    SIDES,
    SPLITS,
    AlignmentBase,
    BleuTokenizer,
    Files,
    LengthRatio,
    TestFiles,
    check_subset,
)
from lookback.data.corpora.gold_alignment import with_alignment
from lookback.data.corpora.lines import check_file, read_blocks
from lookback.data.corpora.pairs import cached_pairs, first_rows, random_rows, stream_pairs

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset, IterableDataset

_Item = TypeVar("_Item")


@checked
class TextCorpus:
    """A corpus in six aligned text files, one sentence a line, plain or gzipped.

    Row i of a split is line i+1 of its files, as ``read_pair`` reads them. A blank line is a row too, so that the
    numbers of test sentences stay; ``TranslationData`` drops training pairs with a blank side and counts them.

    Args:
        train: the two files of the training split, ``{"source": FILE, "target": FILE}``.
        validation: the same for validation.
        test: the same for the test set; also ``alignment``, the file of its gold word alignment or None, as
            ``with_alignment`` reads it.
        train_max_length: longest source of a training pair in words; None means no limit.
        bleu_tokenize: one of sacreBLEU's tokenizers: "13a" for raw text, "none" for text that is tokenised already.
        limit: the number of training pairs; None means all. The files are checked to their end in any case.
        max_length_ratio: training pairs whose longer side has more than this many times the words of the shorter are
            dropped; None means no limit.
        subset_seed: None takes the first ``limit`` pairs; a number is the seed of a draw from all pairs, which keep
            their order.
        streaming: whether the training files are read while training, without a copy of them on the disk.
        alignment_base: the number of a sentence's first word in the alignment file, 0 or 1.

    Raises:
        ValueError: for a setting out of range.
        InputError: from ``load``, for a file that was not given, and where ``read_pair`` and ``with_alignment`` raise
            it. With ``streaming``, errors in the training files are raised when the stream is read.
    """

    def __init__(
        self,
        train: Files,
        validation: Files,
        test: TestFiles,
        train_max_length: Size | None,
        bleu_tokenize: BleuTokenizer,
        limit: Size | None,
        max_length_ratio: LengthRatio | None = None,
        subset_seed: Seed | None = None,
        streaming: bool = False,
        alignment_base: AlignmentBase = 0,
    ) -> None:
        check_subset(subset_seed, limit, streaming)
        self._files: dict[str, Mapping[str, Any]] = dict(zip(SPLITS, (train, validation, test), strict=True))
        self.train_max_length = train_max_length
        self.max_length_ratio = max_length_ratio
        self.bleu_tokenize = bleu_tokenize
        self.limit = limit
        self.subset_seed = subset_seed
        self.streaming = streaming
        self.alignment_base = alignment_base

    def load(self, split: str) -> Dataset | IterableDataset:
        """The split, features ``source`` and ``target``, memory-mapped. The files of other splits need not exist.

        A gold alignment of the test set is two more features. With ``streaming``, the training split is an
        IterableDataset.
        """
        # Training needs all files, so all missing ones are named at once. Scoring a trained run needs only the test
        # set.
        wanted = SPLITS if split == "train" else (split,)
        missing = [f"data.{name}.{side}" for name in wanted for side in SIDES if not self._files[name][side]]
        if missing:
            absent = ", ".join(f"{key}=null" for key in missing)
            raise InputError(f"{absent}: expected a text file each, as {missing[0]}=FILE")
        files = self._files[split]
        source, target = str(files["source"]), str(files["target"])
        if split == "train":
            if self.streaming:
                return stream_pair(source, target, self.limit)
            return read_pair(source, target, self.limit, self.subset_seed)
        self._warn_of_training_files(split)
        pairs = read_pair(source, target)
        alignment = files.get("alignment")
        return pairs if alignment is None else with_alignment(pairs, alignment, self.alignment_base)

    def _warn_of_training_files(self, split: str) -> None:
        for side in SIDES:
            ours, training = Path(str(self._files[split][side])), Path(str(self._files["train"][side]))
            if ours.exists() and training.exists() and ours.samefile(training):
                print(
                    f"warning: data.{split}.{side} is the file of data.train.{side}: "
                    "scores on it say nothing about new text",
                    file=sys.stderr,
                )


def read_pair(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    limit: int | None = None,
    subset_seed: int | None = None,
) -> Dataset:
    """Read two aligned files into a memory-mapped Dataset with the string features ``source`` and ``target``.

    Both files are UTF-8, plain or gzipped (then named .gz), with one sentence a line; row i is line i+1 of both. How
    lines end and what they may hold is described at ``lookback.data.corpora.lines.read_blocks``. The result is cached
    under the paths, sizes and modification times of the files: a changed file is read again.

    Args:
        source: the file of source sentences.
        target: the file of their translations, as many lines.
        limit: the number of pairs; None means all. The files are checked to their end in any case.
        subset_seed: the seed of a draw of these pairs among all; None takes the first.

    Raises:
        InputError: in one line with file and line number: if the line counts differ; if a file is missing, empty, given
            as both sides, no regular file, or gzip data where its name does not end in .gz (or the reverse); and for
            invalid UTF-8, a NUL, a line of more than 1 MiB, or damaged gzip data. Nothing of a refused file is cached.
    """
    paths = _checked_paths(source, target)
    states = [(str(path.resolve()), status.st_size, status.st_mtime_ns) for path in paths if (status := path.stat())]
    title = f"Reading {paths[0]} and {paths[1].name}"
    if limit is None:
        return cached_pairs("text", states, title, lambda _: _aligned_pairs(paths))
    if subset_seed is None:
        return cached_pairs("text", (states, limit), title, lambda _: first_rows(_aligned_pairs(paths), limit))
    whole = read_pair(*paths)
    title = f"Drawing {limit:,} pairs of {paths[0]} and {paths[1].name}"
    return cached_pairs("text", (states, limit, subset_seed), title, lambda _: random_rows(whole, limit, subset_seed))


def stream_pair(
    source: str | os.PathLike[str], target: str | os.PathLike[str], limit: int | None = None
) -> IterableDataset:
    """The pairs that ``read_pair`` gives, with its checks, as a stream; nothing is written to the disk."""
    paths = _checked_paths(source, target)
    stream = stream_pairs(partial(_aligned_pairs, paths))
    return stream if limit is None else stream.take(limit)


def read_pairs(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> Iterator[pa.RecordBatch]:
    """The pairs that ``read_pair`` gives, in their order and with its checks, a part of them in memory at a time.

    A file that cannot be read is refused at once; a bad line is refused when it is reached.
    """
    return _aligned_pairs(_checked_paths(source, target))


def _checked_paths(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> tuple[Path, Path]:
    paths = (Path(source).expanduser(), Path(target).expanduser())
    for path in paths:
        check_file(path)
    if paths[0].samefile(paths[1]):
        raise InputError(f"{paths[1]}: given as source and as target, expected two files that translate each other")
    return paths


def _aligned_pairs(paths: tuple[Path, Path]) -> Iterator[pa.RecordBatch]:
    """The pairs of two files, many at a time.

    Raises:
        InputError: at the end, if one file has more lines.
    """
    import pyarrow as pa

    with ExitStack() as stack:
        # closed here, and not by the garbage collector in whichever thread it runs: a thread could wait for itself
        sides = [stack.enter_context(closing(_read_ahead(read_blocks(path)))) for path in paths]
        empty = pa.array([], pa.string())
        # for each side: the lines whose other side is not read yet, and the number of lines read so far
        waiting, counts = [empty, empty], [0, 0]
        while True:
            for side, blocks in enumerate(sides):
                if not len(waiting[side]):
                    waiting[side] = next(blocks, empty)
                    counts[side] += len(waiting[side])
            rows = min(map(len, waiting))
            if not rows:
                break
            yield pa.record_batch([lines[:rows] for lines in waiting], names=list(SIDES))
            waiting = [lines[rows:] for lines in waiting]
        for longer, shorter in ((0, 1), (1, 0)):
            if len(waiting[longer]):
                counts[longer] += sum(map(len, sides[longer]))
                raise InputError(
                    f"{paths[longer]}:{counts[shorter] + 1}: has no partner: this file has {counts[longer]:,} lines, "
                    f"{paths[shorter]} has {counts[shorter]:,}; "
                    "expected as many, line N of one to translate line N of the other"
                )


def _read_ahead(items: Iterator[_Item]) -> Generator[_Item, None, None]:
    """The same items. A thread makes the next while one is used: two files are unpacked at the same time."""
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, items, None)
        while (item := following.result()) is not None:
            following = thread.submit(next, items, None)
            yield item
