"""Corpora that `datasets` reads: from the Hugging Face Hub, a local directory in its layout, or JSON, CSV, Parquet."""

from __future__ import annotations

import errno
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lookback.common.errors import InputError
from lookback.common.suggestions import listed, nearest, one_of
from lookback.data.corpora.corpus import SPLITS, check_settings
from lookback.data.corpora.fields import text_columns
from lookback.data.corpora.gold_alignment import with_alignment
from lookback.data.corpora.pairs import kept_pairs, pair_features, subset, top
from lookback.data.corpora.record_files import (
    FORMATS,
    check_format,
    check_records,
    csv_fields,
    csv_options,
    format_of,
    refuse_records,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset, IterableDataset

_ROWS = 10_000  # rows checked and written at a time
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_PATIENCE = 5.0  # seconds to find out whether the Hub can be reached; `datasets` alone tries for half a minute


class HubCorpus:
    """A corpus of the Hugging Face Hub, of a local directory in the layout of one, or of JSON, CSV or Parquet files.

    Row i of a split is row i there. A text may hold any Unicode but NUL, at most 1 MiB. A text that is None counts as
    empty in training, where pairs with an empty side are dropped and counted; in validation and test it is refused.
    What was read is kept in the cache: under the revision if that is a whole commit hash (a second start needs no
    network), under the paths, sizes and modification times of local files, or else under what `datasets` says it is.

    Args:
        path: an id such as "wmt/wmt14", a directory, or the format of `files`: "json", "csv" or "parquet".
        train: `{"split": NAME}`, any split or slice that `datasets` knows, such as "train[:1000]".
        validation: the same for validation.
        test: the same for the test set; also `alignment`, the file of its gold word alignment or None, as
            `with_alignment` reads it.
        source_language: of the texts that are translated. The fields and the name of a config file are built from the
            two languages, so that exchanging them turns the corpus round.
        target_language: of their translations.
        source_field: the field that holds the source text; a field of a field has a dot: "translation.de".
        target_field: the field that holds its translation.
        train_max_length: as `TextCorpus` has it, and so are the next two.
        max_length_ratio: see there.
        bleu_tokenize: see there.
        name: the configuration, such as "de-en", None for the only one; where "en-de" alone exists, that is taken.
        revision: the commit, branch or tag of an id; None means the newest.
        data_dir: the folder of the data that holds all that is to be read; None means the whole.
        files: the files of each split, `{"train": FILE, …}`, each a file or a pattern such as "part-*.jsonl". JSON is
            an object a line, or one list of objects; the first line of CSV names the fields.
        limit: as `TextCorpus` has it, and so are the next three. A stream cannot be sliced.
        subset_seed: see there.
        streaming: see there.
        alignment_base: see there.

    Errors: ValueError for a setting out of range. `load` raises InputError, one line, for what is not there (path,
    configuration, split, field; with what is), for fields that hold no text, for a text that is None, overlong or has a
    NUL (with its row, counted from 0), for a file that cannot be parsed (with its line, where a line is at fault), for
    an empty split, and for an id if the Hub cannot be reached and no copy of it is cached.
    """

    def __init__(
        self,
        path: str,
        train: Mapping[str, str],
        validation: Mapping[str, str],
        test: Mapping[str, str | None],
        source_language: str | None,
        target_language: str | None,
        source_field: str,
        target_field: str,
        train_max_length: int | None,
        max_length_ratio: float | None,
        bleu_tokenize: str,
        name: str | None = None,
        revision: str | None = None,
        data_dir: str | None = None,
        files: Mapping[str, str | None] | None = None,
        limit: int | None = None,
        subset_seed: int | None = None,
        streaming: bool = False,
        alignment_base: int = 0,
    ) -> None:
        self._splits: dict[str, Mapping[str, str | None]] = dict(zip(SPLITS, (train, validation, test), strict=True))
        for split, keys in self._splits.items():
            if set(keys) - ({"alignment"} if split == "test" else set()) != {"split"}:
                raise ValueError(f"{split}: has {', '.join(sorted(keys)) or 'nothing'}, expected split")
            if not keys["split"]:
                raise ValueError(f"{split}.split: {keys['split']!r}, expected the name of a split")
        if source_field == target_field:
            raise ValueError(f"source_field, target_field: both are {source_field!r}, expected two fields")
        if (files is not None) != (path in FORMATS):
            raise ValueError(f"files: given for {path!r}, expected files and path={'|'.join(FORMATS)}, or neither")
        check_settings(train_max_length, max_length_ratio, bleu_tokenize, limit, subset_seed, streaming, alignment_base)
        self.path = path
        self.languages = (source_language, target_language)
        self.fields = {"data.source_field": source_field, "data.target_field": target_field}
        self.train_max_length = train_max_length
        self.max_length_ratio = max_length_ratio
        self.bleu_tokenize = bleu_tokenize
        self.name = name
        self.revision = revision
        self.data_dir = data_dir
        self.files = files
        self.limit = limit
        self.subset_seed = subset_seed
        self.streaming = streaming
        self.alignment_base = alignment_base

    def load(self, split: str) -> Dataset | IterableDataset:
        """The split, as `Corpus` says: memory-mapped, or with `streaming` the training split as a stream."""
        part = self._part(split)
        if part.is_training and self.streaming:
            return self._stream(part)
        limit, seed = (self.limit, self.subset_seed) if part.is_training else (None, None)
        identity, rows = self._identity(part), None
        if identity is None:  # nobody but the Hub knows what it holds today
            rows = self._read(part, None, streaming=False)
            identity = rows._fingerprint
        parts = (identity, part.name, tuple(self.fields.values()), part.is_training)
        title = f"Loading {part.where}"

        def batches(scratch: Path) -> Iterator[pa.RecordBatch]:
            return self._batches(part, rows, scratch)

        if limit is None:
            pairs = kept_pairs("hub", parts, title, batches)
        elif seed is None:
            pairs = kept_pairs("hub", (parts, limit), title, lambda scratch: top(batches(scratch), limit))
        else:
            whole = kept_pairs("hub", parts, title, batches)
            pairs = kept_pairs("hub", (parts, limit, seed), title, lambda _: subset(whole, limit, seed))
        alignment = self._splits[split].get("alignment")
        return pairs if alignment is None else with_alignment(pairs, alignment, self.alignment_base)

    def _part(self, split: str) -> _Part:
        name = str(self._splits[split]["split"])
        local = self._local(name)
        # the user knows files by their names
        path = self.path if self.files is None or local is None else ", ".join(str(self.files[of]) for of in local)
        return _Part(f"data.{split}.split", name, f"{path}, split {name}", split == "train", local)

    def _local(self, name: str) -> dict[str, list[Path]] | None:
        """The files that a split is read from, by the split that they make up; None for a corpus of the Hub."""
        if self.files is not None:
            wanted = [split for split in self.files if split in re.findall(r"\w+", name)]
            if not wanted:
                raise InputError(f"data.files: none for split {name!r}, expected {one_of(self.files, name)}")
            missing = [f"data.files.{split}" for split in wanted if not self.files[split]]
            if missing:
                raise InputError(f"{', '.join(missing)}: no file given, expected a {self.path} file or a pattern")
            return {split: _matching(str(self.files[split])) for split in wanted}
        folder = Path(self.path).expanduser()
        if folder.is_dir():
            return {"": sorted(file for file in folder.resolve().rglob("*") if file.is_file())}
        if not _HUB_ID.fullmatch(self.path):
            raise InputError(
                f"data.path: {self.path}: no such directory; expected one, or an id of the Hugging Face Hub, as "
                "owner/name"
            )
        return None

    def _identity(self, part: _Part) -> object:
        """What decides the data, if that can be known without a look at the Hub."""
        if part.local is not None:
            states = [(str(file), (status := file.stat()).st_size, status.st_mtime_ns) for file in part.all_files]
            return self.path, self.name, self.data_dir, states
        pinned = self.revision is not None and _COMMIT.fullmatch(self.revision)
        return (self.path, self.name, self.data_dir, self.revision) if pinned else None

    def _batches(self, part: _Part, rows: Any, scratch: Path) -> Iterator[pa.RecordBatch]:
        if rows is None:
            # `datasets` would copy all splits of local files to get at a slice of one; a whole split it can pass on
            streaming = part.local is not None and re.fullmatch(r"\w+", part.name) is not None
            rows = self._read(part, scratch, streaming)
        first_row = 0
        with self._explained(part):
            for table in rows.with_format("arrow").iter(_ROWS):
                texts = self._texts(table, part, first_row)
                yield from texts.to_batches()
                first_row += len(texts)
        if not first_row:
            raise InputError(f"{part.where}: is empty, expected one pair or more")

    def _stream(self, part: _Part) -> IterableDataset:
        rows = self._read(part, None, streaming=True)
        with self._explained(part):
            if rows.features is None:  # of JSON and CSV they show in the first rows
                rows = rows._resolve_features()
            columns = rows.column_names
        pairs = rows.with_format("arrow").map(
            partial(self._texts, part=part, first_row=None),
            batched=True,
            batch_size=1000,
            features=pair_features(),
            remove_columns=columns,
        )
        pairs = pairs.with_format(None)
        return pairs if self.limit is None else pairs.take(self.limit)

    def _read(self, part: _Part, scratch: Path | None, streaming: bool) -> Any:
        """What `datasets` makes of a split; a copy of local data goes to `scratch`, not into its own cache."""
        options: dict[str, Any] = {"split": part.name, "streaming": streaming, "data_dir": self.data_dir}
        if part.local is None:
            with self._explained(part), _reachable():
                rows = self._of_config(self.path, {**options, "revision": self.revision})
            if not streaming:
                self._check_revision(rows)
            return rows
        for file in part.all_files:
            self._check_file(file)
        options["cache_dir"] = None if scratch is None else str(scratch)
        if self.files is None:
            path = str(Path(self.path).expanduser().resolve())
        else:
            path = self.path
            options["data_files"] = {split: list(map(str, files)) for split, files in part.local.items()}
            if path == "csv":
                options |= csv_options(part.all_files[0])
        with self._explained(part):
            return self._of_config(path, options)

    def _check_file(self, file: Path) -> None:
        if self.files is not None:
            check_format(file, self.path)
        check_records(file, self._format(file))
        if self.path != "csv":
            return
        named = csv_fields(file)
        for key, field in self.fields.items():
            if field not in named:
                raise InputError(
                    f"{key}: {file}:1: names no field {field!r}, but {listed(named)}; "
                    f"expected the names of the fields in the first line{nearest(field, named)}"
                )

    def _format(self, file: Path) -> str | None:
        """What a file is read as: what `data=` says of files, what its name says of one in a directory."""
        return format_of(file) if self.files is None else self.path

    def _of_config(self, path: str, options: dict[str, Any]) -> Any:
        """The data of the configuration, whichever language its name has first."""
        from datasets import load_dataset

        try:
            return load_dataset(path, self.name, **options)
        except ValueError as error:
            available = _available("BuilderConfig", error)
            if available is None:
                raise
            reverse = "-".join(reversed(str(self.name).split("-")))
            if reverse != self.name and reverse in available:
                return load_dataset(path, reverse, **options)
            raise InputError(
                f"data.name: {self.path} has no configuration {self.name!r}, "
                f"expected {one_of(available, str(self.name))}"
            ) from error

    def _check_revision(self, rows: Any) -> None:
        """Without a network, `datasets` takes the latest copy that it has, of whatever revision."""
        if self.revision is None or not _COMMIT.fullmatch(self.revision) or not rows.cache_files:
            return
        held = Path(rows.cache_files[0]["filename"]).parent.name
        if _COMMIT.fullmatch(held) and held != self.revision:
            raise InputError(
                f"data.revision: the cached copy of {self.path} is of revision {held} and the Hub cannot be reached, "
                f"expected {self.revision}"
            )

    def _texts(self, table: pa.Table, part: _Part, first_row: int | None) -> pa.Table:
        def refuse(field: str) -> None:
            for file in part.all_files:
                refuse_records(file, self._format(file), (field,))  # of JSON the line can be named

        return text_columns(table, self.fields, part.where, first_row, part.is_training, refuse)

    @contextmanager
    def _explained(self, part: _Part) -> Iterator[None]:
        """What `datasets` raises inside becomes one line that names what the user can mend."""
        from datasets.data_files import EmptyDatasetError
        from datasets.exceptions import DataFilesNotFoundError, DatasetNotFoundError, DatasetsError
        from huggingface_hub.errors import OfflineModeIsEnabled

        logger = logging.getLogger("datasets")  # it logs what it raises
        level = logger.level
        logger.setLevel(logging.CRITICAL)
        try:
            yield
        except InputError:
            raise
        except (EmptyDatasetError, DataFilesNotFoundError) as error:
            raise InputError(f"data.path: {self.path}: has no data files, expected Parquet, JSON or CSV") from error
        except DatasetNotFoundError as error:
            raise InputError(f"data.path: {_first_line(error)}") from error
        except (ConnectionError, OfflineModeIsEnabled) as error:
            raise InputError(
                f"data.path: {self.path}: no network, and no copy of it in the cache; expected one of the two, or its "
                "files on this machine, as data.path=DIR"
            ) from error
        except (ValueError, RuntimeError, OSError, DatasetsError) as error:
            _raise_if_of_the_cache(error)
            self._refuse(part, error)
        finally:
            logger.setLevel(level)

    def _refuse(self, part: _Part, error: Exception) -> NoReturn:
        splits = _available("Unknown split", error) or _available("Bad split", error)
        if splits is not None:
            is_slice = re.fullmatch(r"\w+", part.name) is None and str(error).startswith("Bad split")
            hint = "; a stream cannot be sliced" if is_slice else ""
            raise InputError(
                f"{part.key}: {self.path} has no split {part.name!r}, expected {one_of(splits, part.name)}{hint}"
            ) from error
        if str(error).startswith("Unrecognized instruction"):
            raise InputError(f"{part.key}: {_first_line(error)}, expected a split or a slice of one") from error
        if str(error).endswith("corresponds to no data!"):  # a slice
            raise InputError(f"{part.where}: is empty, expected one pair or more") from error
        for file in part.all_files:
            refuse_records(file, self._format(file), tuple(self.fields.values()))
        raise InputError(f"{part.where}: {_first_line(error.__cause__ or error)}") from error


@dataclass(frozen=True)
class _Part:
    """One split of a corpus: the setting that names it, its name, how it is told of, and where it is read from."""

    key: str
    name: str
    where: str
    is_training: bool
    local: Mapping[str, Sequence[Path]] | None

    @property
    def all_files(self) -> list[Path]:
        return [file for files in (self.local or {}).values() for file in files]


def _raise_if_of_the_cache(error: BaseException) -> None:
    """A full disk is no fault of the data: the cache says it in its own words."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise cause
        cause = cause.__cause__ or cause.__context__


def _matching(pattern: str) -> list[Path]:
    """The files of a path or pattern, sorted."""
    path = Path(pattern).expanduser()
    if path.is_file():
        return [path.resolve()]
    root = Path(path.anchor or ".")
    found = sorted(file.resolve() for file in root.glob(str(path.relative_to(path.anchor))) if file.is_file())
    if not found:
        what = "is a directory, expected a file" if path.is_dir() else "no such file"
        raise InputError(f"{pattern}: {what}")
    return found


@contextmanager
def _reachable() -> Iterator[None]:
    """Without a network, let `datasets` look into its cache at once instead of trying the network again and again."""
    from datasets import config
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    before = constants.HF_HUB_OFFLINE, config.HF_HUB_OFFLINE
    if not any(before):
        try:
            get_session().head(constants.ENDPOINT, timeout=_PATIENCE)
        except Exception:  # which client it has, and so which error, is the affair of huggingface_hub
            constants.HF_HUB_OFFLINE = config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE, config.HF_HUB_OFFLINE = before


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _available(what: str, error: BaseException) -> list[str] | None:
    """The names that an error of `datasets` about an unknown `what` lists; None if it is about something else."""
    message = str(error)
    listed = re.search(r"\[(.*)\]", message)
    return re.findall(r"['\"](.+?)['\"]", listed[1]) if listed and message.startswith(what) else None
