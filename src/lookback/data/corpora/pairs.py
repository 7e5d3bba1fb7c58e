"""Pairs of sentences in Arrow files: written once, memory-mapped afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lookback.data.corpora.corpus import SIDES
from lookback.data.preparation.cache import kept

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset, Features, IterableDataset

_FILE = "pairs.arrow"
_FORMAT = 2  # of the files: raise it when what is read from the same text changes


def kept_pairs(kind: str, parts: object, title: str, batches: Callable[[Path], Iterator[pa.RecordBatch]]) -> Dataset:
    """The Dataset of `batches(scratch)`, string columns `source` and `target`, from the cache if it is there.

    `scratch` is an empty folder for as long as the batches are drawn. `kind`, `parts` and `title` are those of
    `lookback.data.preparation.cache.kept`, and so are the errors.
    """
    from datasets import Dataset
    from datasets.table import MemoryMappedTable

    def write(folder: Path) -> None:
        import pyarrow as pa

        schema = pa.schema({side: pa.string() for side in SIDES})
        with pa.OSFile(str(folder / _FILE), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
            scratch = folder / "scratch"
            scratch.mkdir()
            for batch in batches(scratch):
                writer.write_batch(batch)
            shutil.rmtree(scratch)

    made = kept(kind, (_FORMAT, parts), title, write)
    # its fingerprint is what decided its content, wherever the cache is: what is made of it is then found again, too
    return Dataset(MemoryMappedTable.from_file(str(made / _FILE)), fingerprint=made.name)


def top(batches: Iterator[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    """The first `limit` rows; the rest is drawn too, so that its faults are found."""
    left = limit
    for batch in batches:
        if left:
            yield batch.slice(0, left)
            left -= min(left, len(batch))


def subset(pairs: Dataset, limit: int, seed: int) -> Iterator[pa.RecordBatch]:
    """`limit` rows drawn without replacement, in the order of the corpus; all of them where there are no more."""
    rows = np.random.default_rng(seed).choice(len(pairs), min(limit, len(pairs)), replace=False)
    rows.sort()
    start = 0
    for batch in pairs.data.to_batches():
        first, last = np.searchsorted(rows, (start, start + len(batch)))
        if first < last:
            yield batch.take(rows[first:last] - start)
        start += len(batch)


def stream_pairs(batches: Callable[[], Iterator[pa.RecordBatch]]) -> IterableDataset:
    """An IterableDataset of `batches()`, which is called anew each time it is read; nothing of it is kept.

    To go on from a `state_dict`, the batches before it are drawn and thrown away.
    """
    import pyarrow as pa
    from datasets import DatasetInfo, IterableDataset
    from datasets.iterable_dataset import ArrowExamplesIterable

    def tables() -> Iterator[tuple[int, pa.Table]]:
        for number, batch in enumerate(batches()):
            yield number, pa.Table.from_batches([batch])

    return IterableDataset(ArrowExamplesIterable(tables, {}), info=DatasetInfo(features=pair_features()))


def pair_features() -> Features:
    """The string features `source` and `target`."""
    from datasets import Features, Value

    return Features({side: Value("string") for side in SIDES})
