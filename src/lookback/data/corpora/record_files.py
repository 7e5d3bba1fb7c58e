"""Checks of JSON, CSV and Parquet files, with errors that name the line; those of ``datasets`` do not."""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections.abc import Generator
from contextlib import closing
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal, get_args

from lookback.common.errors import InputError
from lookback.data.corpora.lines import check_file, read_blocks, read_lines

Format = Literal["json", "csv", "parquet"]
FORMATS = get_args(Format)
_FORMAT_NAMES = dict(zip(FORMATS, ("JSON", "CSV", "Parquet"), strict=True))
_SUFFIXES = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}
_PARQUET_MAGIC = b"PAR1"
# what the JSON reader of ``datasets`` takes for a null: 1e999 too. Also found in a list inside a record
_NULL_RECORD = re.compile(rb"[\[,]\s*(null|NaN|-?Infinity|-?\d+(\.\d*)?[eE]\+?\d+)\s*[,\]]")
_JSON_START = re.compile(rb'(\[\s*)?\{\s*["}]|\[\s*\]')  # the start of an object, or of a list of objects


def format_of(file: Path) -> str | None:
    """The format that a file's ending stands for; None if it is unknown."""
    return _SUFFIXES.get(Path(file.name.removesuffix(".gz")).suffix)


def check_format(file: Path, expected: str) -> None:
    """Refuse a file whose content is of another format than ``data=expected`` reads, whatever its name."""
    found = _detected_format(file)
    # a file that is neither Parquet nor JSON may be CSV; damaged JSON is reported with its line when it is read
    is_other = found != expected if "parquet" in (found, expected) else (found, expected) == ("json", "csv")
    if is_other:
        name = _FORMAT_NAMES[expected]
        holds = f"holds {_FORMAT_NAMES[found]}" if found else f"holds no {name}"
        other = f", or data={found}" if found else ""
        raise InputError(f"{file}: {holds}, data={expected} reads {name}; expected a {name} file{other}")


def check_records(file: Path, format: str | None) -> None:
    """Refuse a JSON or CSV file whose lines ``read_blocks`` refuses, and a null in place of a JSON object.

    A JSON list has no lines: its parser checks it. But a null among the first records ends the process inside pyarrow.
    """
    import pyarrow.compute as pc

    if format not in ("json", "csv"):
        return
    check_file(file)
    if format == "json" and _is_list(file):
        if _NULL_RECORD.search(_content(file)):
            _refuse_list(file)
        return
    number, above = 1, ""
    for lines in read_blocks(file):
        if format == "json":
            nulls = pc.indices_nonzero(pc.starts_with(pc.ascii_ltrim_whitespace(lines), "null"))
            for place in nulls.to_pylist():
                before = lines[place - 1].as_py() if place else above
                if not before.rstrip().endswith((":", ",", "[")):  # or it is a value of an object over several lines
                    _refuse_object(lines[place].as_py(), (), f"{file}:{number + place}")
            above = lines[-1].as_py()
        number += len(lines)


def csv_fields(file: Path) -> list[str]:
    """The names in the first line of a CSV file."""
    return next(_csv_rows(file))[1]


def csv_options(file: Path) -> dict[str, Any]:
    """The options with which ``datasets`` reads every cell as text.

    Without them, digits become numbers, and the words NA, null and None become missing values.
    """
    from datasets import Features, Value

    features = Features({name: Value("string") for name in csv_fields(file)})
    return {"sep": _separator(file), "features": features, "keep_default_na": False, "na_filter": False}


def refuse_records(file: Path, format: str | None, fields: tuple[str, ...]) -> None:
    """Refuse a file that is not of its format or has no text in a field.

    Raises:
        InputError: with the line, where the format has lines.
    """
    if format == "json" and _is_list(file):
        _refuse_list(file)
    elif format == "json":
        for number, line in enumerate(read_lines(file), start=1):
            _refuse_object(line, fields, f"{file}:{number}")
    elif format == "csv":
        with closing(_csv_rows(file)) as cells:  # or the error would keep the file open
            _, header = next(cells)
            for ended_at, row in cells:
                if len(row) > len(header):
                    raise InputError(
                        f"{file}:{ended_at}: has {len(row)} cells, expected {len(header)}, as the first line has"
                    )
    elif format == "parquet":
        _refuse_parquet(file)


def _refuse_list(file: Path) -> None:
    try:
        records = json.loads(_content(file), strict=False)  # control characters in a text are no fault
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is no JSON ({error}), expected a list of objects, or an object a line") from error
    for number, record in enumerate(records):
        if not isinstance(record, dict):
            raise InputError(f"{file}: record {number} (from 0) is no JSON object, expected a list of objects")


def _refuse_object(line: str, fields: tuple[str, ...], where: str) -> None:
    if not line.strip():
        return
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is no JSON ({error}), expected an object a line") from error
    if not isinstance(value, dict):
        raise InputError(f"{where}: is no JSON object, expected one a line")
    for field in fields:
        inside: Any = value if field not in value else {field: value[field]}
        for name in [field] if field in value else field.split("."):
            inside = inside.get(name) if isinstance(inside, dict) else inside
        if inside is not None and not isinstance(inside, str):
            raise InputError(f"{where}: {field} is {json.dumps(inside)[:40]}, expected text")


def _refuse_parquet(file: Path) -> None:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        whole = ParquetFile(file)
        for _ in whole.iter_batches():
            pass
    # a UnicodeDecodeError: pyarrow shows a damaged name of a field
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: is no whole Parquet file ({str(error).splitlines()[0]}), expected one") from error
    if not whole.metadata.num_rows:  # ``datasets`` fails on it with another message
        raise InputError(f"{file}: is empty, expected one pair or more")


def _csv_rows(file: Path) -> Generator[tuple[int, list[str]], None, None]:
    """The rows of a CSV file, each with the line that it ends in. The first row names the fields."""
    rows = csv.reader((f"{line}\n" for line in read_lines(file)), delimiter=_separator(file))
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:
        raise InputError(f"{file}:{rows.line_num}: is no CSV ({error}), expected a row of cells") from error


def _separator(file: Path) -> str:
    return "\t" if file.name.removesuffix(".gz").endswith(".tsv") else ","


def _detected_format(file: Path) -> str | None:
    """The format that the first bytes of a file show: "parquet" or "json". None for CSV and anything else."""
    check_file(file)
    with file.open("rb") as stream:
        if stream.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC:
            return "parquet"
    return "json" if _JSON_START.match(_first_bytes(file)) else None


def _is_list(file: Path) -> bool:
    """Whether a JSON file is one list, on any number of lines, rather than an object a line."""
    return _first_bytes(file).startswith(b"[")


def _first_bytes(file: Path) -> bytes:
    """The first bytes of a text file, without a byte-order mark and white space before them."""
    try:
        with _open(file) as stream:
            return stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    except (OSError, EOFError, zlib.error):  # damaged gzip data: reading the whole file will name the line
        return b""


def _content(file: Path) -> bytes:
    try:
        with _open(file) as stream:
            return stream.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{file}: damaged or cut-off gzip data ({error}), expected a whole file") from error


def _open(file: Path) -> gzip.GzipFile | BufferedReader:
    return gzip.open(file) if file.suffix == ".gz" else file.open("rb")
