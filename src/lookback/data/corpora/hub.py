"""Corpora of the Hugging Face Hub."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookback.common.checks import FilePath, Text, checked
from lookback.common.errors import InputError
from lookback.data.corpora.datasets_corpus import DatasetsCorpus, Split, load_configuration
from lookback.data.corpora.directory import DirectoryCorpus
from lookback.data.corpora.record_files import FORMATS
from lookback.data.datasets_private import COMMIT, cached_revision, offline_if_unreachable

if TYPE_CHECKING:
    from datasets import Dataset, IterableDataset

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


@checked
@dataclass(kw_only=True, eq=False)
class HubCorpus(DatasetsCorpus):
    """A corpus of the Hugging Face Hub.

    If the revision is a full commit hash, the prepared pairs are cached under it, and a second start needs no network.
    Otherwise they are cached under a fingerprint of the content that the Hub has now.

    Args:
        path: an id such as "wmt/wmt14". Where it names a directory of this machine, ``DirectoryCorpus`` reads that.
        name: the configuration, such as "de-en"; None means the only one. If only "en-de" exists, that is taken.
        revision: the commit, branch or tag; None means the newest. A directory has none.
        data_dir: the folder of the repository that is read; None means all of it.

    The other arguments are those of ``DatasetsCorpus``.

    Raises:
        ValueError: as ``DatasetsCorpus``.
        InputError: as ``DatasetsCorpus``, and if the Hub cannot be reached and no copy is cached.
    """

    name: Text | None = None
    revision: Text | None = None
    data_dir: FilePath | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path in FORMATS:
            raise ValueError(
                f"path={self.path!r}: expected an id of the Hub or a directory; data={self.path} reads files"
            )

    def load(self, split: str) -> Dataset | IterableDataset:
        """The split, as ``Corpus`` says: memory-mapped, or with ``streaming`` the training split as a stream."""
        if not Path(self.path).expanduser().is_dir():
            return super().load(split)
        same = {field.name: getattr(self, field.name) for field in fields(DirectoryCorpus)}
        return DirectoryCorpus(**same).load(split)

    def _files(self, name: str) -> dict[str, list[Path]]:
        if not _HUB_ID.fullmatch(self.path):
            raise InputError(
                f"data.path={self.path}: no such directory; expected one, or an id of the Hugging Face Hub, as "
                "owner/name"
            )
        return {}

    def _identity(self, split: Split) -> object:
        is_pinned = self.revision is not None and COMMIT.fullmatch(self.revision)
        return (self.path, self.name, self.data_dir, self.revision) if is_pinned else None

    def _read(self, split: Split, scratch: Path | None, streaming: bool) -> Any:
        options = {"split": split.name, "streaming": streaming, "data_dir": self.data_dir, "revision": self.revision}
        with self._explained(split), offline_if_unreachable():
            rows = load_configuration(self.path, self.name, self.path, options)
        if not streaming:
            self._check_revision(rows)
        return rows

    def _format(self, file: Path) -> str | None:
        return None

    def _check_revision(self, rows: Dataset) -> None:
        """Refuse a copy of another revision: without a network, ``datasets`` takes the latest copy that it has."""
        if self.revision is None or not COMMIT.fullmatch(self.revision):
            return
        cached = cached_revision(rows)
        if cached is not None and cached != self.revision:
            raise InputError(
                f"data.revision={self.revision}: the Hub cannot be reached, and the cached copy of {self.path} is of "
                f"revision {cached}; expected a network, or a cached copy of this revision"
            )
