"""All uses of what ``datasets`` may change without notice: private names, error messages, the layout of its cache.

pyproject.toml caps the version. A newer ``datasets`` may be allowed when the tests of this module pass with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset, Features, IterableDataset

COMMIT = re.compile(r"[0-9a-f]{40}")
"""A full commit hash."""
_HUB_TIMEOUT = 5.0  # seconds to find out whether the Hub can be reached; ``datasets`` alone tries for half a minute


def datasets_fingerprint(dataset: Dataset) -> str:
    """The fingerprint by which ``datasets`` knows a split: equal for equal content that was made in the same way."""
    return dataset._fingerprint


def memory_mapped(file: Path, fingerprint: str) -> Dataset:
    """The rows of an Arrow stream file, without a copy in memory, under a given fingerprint."""
    from datasets import Dataset
    from datasets.table import MemoryMappedTable

    return Dataset(MemoryMappedTable.from_file(str(file)), fingerprint=fingerprint)


def stream_of(batches: Callable[[], Iterator[pa.RecordBatch]], features: Features) -> IterableDataset:
    """A stream of the rows of ``batches()``, which is called each time the stream is read from its start."""
    import pyarrow as pa
    from datasets import DatasetInfo, IterableDataset
    from datasets.iterable_dataset import ArrowExamplesIterable

    def tables() -> Iterator[tuple[int, pa.Table]]:
        for number, batch in enumerate(batches()):
            yield number, pa.Table.from_batches([batch])

    return IterableDataset(ArrowExamplesIterable(tables, {}), info=DatasetInfo(features=features))


def gives_tables(stream: IterableDataset) -> bool:
    """Whether a stream reads Arrow tables, rather than a Python object for each row."""
    return getattr(stream._ex_iterable, "iter_arrow", None) is not None


def with_features(stream: IterableDataset) -> IterableDataset:
    """The stream with its features known: those of some formats are found in the first rows. Without rows they stay
    unknown (None)."""
    if stream.features is not None:
        return stream
    try:
        return stream._resolve_features()
    except StopIteration:
        return stream


def cached_revision(dataset: Dataset) -> str | None:
    """The commit of the cached files of a Hub dataset: the name of their folder. None if that is no commit."""
    if not dataset.cache_files:
        return None
    folder = Path(dataset.cache_files[0]["filename"]).parent.name
    return folder if COMMIT.fullmatch(folder) else None


@contextmanager
def offline_if_unreachable() -> Iterator[None]:
    """Let ``datasets`` read its cache at once if the Hub cannot be reached, instead of retrying the connection."""
    from datasets import config
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    before = constants.HF_HUB_OFFLINE, config.HF_HUB_OFFLINE
    if not any(before):
        try:
            get_session().head(constants.ENDPOINT, timeout=_HUB_TIMEOUT)
        except Exception:  # the kind of error depends on the HTTP client that huggingface_hub uses
            constants.HF_HUB_OFFLINE = config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE, config.HF_HUB_OFFLINE = before


def has_no_files(error: BaseException) -> bool:
    """Whether the error says that a repository or directory holds no data files."""
    from datasets.data_files import EmptyDatasetError
    from datasets.exceptions import DataFilesNotFoundError

    return isinstance(error, EmptyDatasetError | DataFilesNotFoundError)


def known_configurations(error: BaseException) -> list[str] | None:
    """The configurations that exist, if the error says that one does not; otherwise None."""
    return _names_in_brackets(error) if str(error).startswith("BuilderConfig") else None


def known_splits(error: BaseException) -> list[str] | None:
    """The splits that exist, if the error says that one does not or that a stream has no slices; otherwise None."""
    return _names_in_brackets(error) if str(error).startswith(("Unknown split", "Bad split")) else None


def is_of_a_stream(error: BaseException) -> bool:
    """Whether an error with ``known_splits`` comes from a stream, which can only be read by whole splits."""
    return str(error).startswith("Bad split")


def is_no_slice(error: BaseException) -> bool:
    """Whether the error says that the name of a split cannot be read as a split or a slice."""
    return str(error).startswith("Unrecognized instruction")


def is_empty_slice(error: BaseException) -> bool:
    """Whether the error says that a slice has no rows."""
    return str(error).endswith("corresponds to no data!")


def _names_in_brackets(error: BaseException) -> list[str] | None:
    """The names in brackets at the end of a message, as Python writes a list of strings."""
    brackets = re.search(r"\[(.*)\]", str(error))
    return re.findall(r"['\"](.+?)['\"]", brackets[1]) if brackets else None
