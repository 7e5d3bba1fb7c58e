"""Corpora in JSON, CSV and Parquet files that the user names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookback.common.checks import checked
from lookback.common.errors import InputError
from lookback.common.suggestions import listed, nearest, one_of
from lookback.data.corpora.corpus import SplitFiles
from lookback.data.corpora.datasets_corpus import DatasetsCorpus, Split
from lookback.data.corpora.record_files import Format, check_format, check_records, csv_fields, csv_options


@checked
@dataclass(kw_only=True, eq=False)
class RecordsCorpus(DatasetsCorpus):
    """JSON files (an object a line, or one list of objects), CSV files (the first line names the fields), or Parquet.

    The prepared pairs are cached under the paths, sizes and modification times of the files.

    Args:
        path: the format of the files: "json", "csv" or "parquet".
        files: the files of each split, ``{"train": FILE, …}``, each a file or a pattern such as "part-*.jsonl".

    The other arguments are those of ``DatasetsCorpus``.

    Raises:
        ValueError: as ``DatasetsCorpus``.
        InputError: as ``DatasetsCorpus``.
    """

    path: Format
    files: SplitFiles

    def _files(self, name: str) -> dict[str, list[Path]]:
        named = [split for split in self.files if split in re.findall(r"\w+", name)]
        if not named:
            raise InputError(f"split={name}: no such split in data.files; expected {one_of(self.files, name)}")
        missing = [f"data.files.{split}=null" for split in named if not self.files.get(split)]
        if missing:
            raise InputError(f"{', '.join(missing)}: expected a {self.path} file or a pattern")
        return {split: _matching(str(self.files.get(split))) for split in named}

    def _identity(self, split: Split) -> object:
        return self.path, None, None, split.file_states()

    def _read(self, split: Split, scratch: Path | None, streaming: bool) -> Any:
        from datasets import load_dataset

        for file in split.all_files:
            self._check(file)
        options: dict[str, Any] = {
            "data_files": {name: list(map(str, files)) for name, files in split.files.items()},
            "split": split.name,
            "streaming": streaming,
            "cache_dir": None if scratch is None else str(scratch),
        }
        if self.path == "csv":
            options |= csv_options(split.all_files[0])
        with self._explained(split):
            return load_dataset(self.path, **options)

    def _format(self, file: Path) -> str | None:
        return self.path

    def _title(self, files: Mapping[str, Sequence[Path]]) -> str:
        return ", ".join(str(self.files.get(split)) for split in files)

    def _check(self, file: Path) -> None:
        check_format(file, self.path)
        check_records(file, self.path)
        if self.path != "csv":
            return
        named = csv_fields(file)
        for key, field in self.fields.items():
            if field not in named:
                raise InputError(
                    f"{key}={field}: no such field in {file}:1, which names {listed(named)}; "
                    f"expected the names of the fields in the first line{nearest(field, named)}"
                )


def _matching(pattern: str) -> list[Path]:
    """The files of a path or pattern, sorted."""
    path = Path(pattern).expanduser()
    if path.is_file():
        return [path.resolve()]
    root = Path(path.anchor or ".")
    found = sorted(file.resolve() for file in root.glob(str(path.relative_to(path.anchor))) if file.is_file())
    if not found:
        what = "is a directory" if path.is_dir() else "no such file"
        raise InputError(f"{pattern}: {what}, expected a file or a pattern")
    return found
