"""Corpora in a local directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookback.common.checks import FilePath, Text, checked
from lookback.common.errors import InputError
from lookback.data.corpora.datasets_corpus import DatasetsCorpus, Split, load_configuration
from lookback.data.corpora.record_files import check_records, format_of


@checked
@dataclass(kw_only=True, eq=False)
class DirectoryCorpus(DatasetsCorpus):
    """A local directory in the layout of a repository of the Hugging Face Hub.

    For example, it holds ``train.jsonl``, ``validation.jsonl`` and ``test.jsonl``. The prepared pairs are cached
    under the paths, sizes and modification times of the files.

    Args:
        path: the directory.
        name: the configuration, such as "de-en"; None means the only one. If only "en-de" exists, that is taken.
        data_dir: the folder in it that is read; None means all of it.

    The other arguments are those of ``DatasetsCorpus``.

    Raises:
        ValueError: as ``DatasetsCorpus``.
        InputError: as ``DatasetsCorpus``.
    """

    name: Text | None = None
    data_dir: FilePath | None = None

    def _files(self, name: str) -> dict[str, list[Path]]:
        folder = Path(self.path).expanduser()
        if not folder.is_dir():
            raise InputError(f"data.path={self.path}: no such directory; expected one")
        # ``datasets`` decides which of them belong to the split
        return {"": sorted(file for file in folder.resolve().rglob("*") if file.is_file())}

    def _identity(self, split: Split) -> object:
        return self.path, self.name, self.data_dir, split.file_states()

    def _read(self, split: Split, scratch: Path | None, streaming: bool) -> Any:
        for file in split.all_files:
            check_records(file, self._format(file))
        options = {
            "split": split.name,
            "streaming": streaming,
            "data_dir": self.data_dir,
            "cache_dir": None if scratch is None else str(scratch),
        }
        folder = str(Path(self.path).expanduser().resolve())
        with self._explained(split):
            return load_configuration(folder, self.name, self.path, options)

    def _format(self, file: Path) -> str | None:
        return format_of(file)
