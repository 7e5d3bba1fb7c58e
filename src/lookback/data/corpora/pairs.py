"""Pairs of sentences in Arrow files: written once, memory-mapped afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lookback.data.corpora.corpus import SIDES
from lookback.data.datasets_private import memory_mapped, stream_of
from lookback.data.preparation.cache import cached_folder

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset, Features, IterableDataset

_FILE = "pairs.arrow"
_FORMAT = 2  # of the files: raise it when what is read from the same text changes


def cached_pairs(kind: str, parts: object, title: str, batches: Callable[[Path], Iterator[pa.RecordBatch]]) -> Dataset:
    """The Dataset of ``batches(scratch)``, string columns ``source`` and ``target``, from the cache if they are there.

    Args:
        kind: as in ``cached_folder``.
        parts: as in ``cached_folder``.
        title: as in ``cached_folder``.
        batches: gives the pairs. Its argument ``scratch`` is an empty folder that is removed after the last batch.

    Raises:
        InputError: as ``cached_folder``.
        Exception: whatever ``batches`` raises.
    """

    def write(folder: Path) -> None:
        import pyarrow as pa

        schema = pa.schema({side: pa.string() for side in SIDES})
        with pa.OSFile(str(folder / _FILE), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
            scratch = folder / "scratch"
            scratch.mkdir()
            for batch in batches(scratch):
                writer.write_batch(batch)
            shutil.rmtree(scratch)

    folder = cached_folder(kind, (_FORMAT, parts), title, write)
    # The folder's name is a hash of everything that the content depends on. As the Dataset's fingerprint, it is part of
    # the keys of all further caches, which therefore stay valid even if the whole cache is moved.
    return memory_mapped(folder / _FILE, fingerprint=folder.name)


def first_rows(batches: Iterator[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    """The first ``limit`` rows. All batches are read, so that errors in the other rows are found too."""
    left = limit
    for batch in batches:
        if left:
            yield batch.slice(0, left)
            left -= min(left, len(batch))


def random_rows(pairs: Dataset, limit: int, seed: int) -> Iterator[pa.RecordBatch]:
    """``limit`` rows drawn without replacement, in the order of the corpus; all rows if there are fewer."""
    rows = np.random.default_rng(seed).choice(len(pairs), min(limit, len(pairs)), replace=False)
    rows.sort()
    start = 0
    for batch in pairs.data.to_batches():
        first, last = np.searchsorted(rows, (start, start + len(batch)))
        if first < last:
            yield batch.take(rows[first:last] - start)
        start += len(batch)


def stream_pairs(batches: Callable[[], Iterator[pa.RecordBatch]]) -> IterableDataset:
    """A stream of the pairs of ``batches()``, which is called each time it is read; nothing is written to the disk.

    After ``load_state_dict``, the batches before that place are read again and thrown away.
    """
    return stream_of(batches, pair_features())


def pair_features() -> Features:
    """The string features ``source`` and ``target``."""
    from datasets import Features, Value

    return Features({side: Value("string") for side in SIDES})
