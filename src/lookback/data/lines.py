"""One text file, line by line, whole or refused."""

from __future__ import annotations

import gzip
import io
import stat
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from lookback.errors import InputError

_GZIP_MAGIC = b"\x1f\x8b"
_EXPECTED = "expected a UTF-8 text file, plain or .gz, one sentence a line"


def check_file(path: Path) -> None:
    """Refuse what cannot be a text file, before anything is read.

    Errors: InputError if `path` is missing, a directory, unreadable, a pipe or device, or if its name and its
    content disagree about gzip.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(f"{path}: {_reason(error)}, {_EXPECTED}") from error
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{path}: is a directory, {_EXPECTED}")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path}: is no regular file, {_EXPECTED}")
    try:
        with path.open("rb") as stream:
            is_gzip = stream.read(2) == _GZIP_MAGIC
    except OSError as error:
        raise InputError(f"{path}: {_reason(error)}, {_EXPECTED}") from error
    if status.st_size and is_gzip != (path.suffix == ".gz"):
        found, name = ("is", "does not end") if is_gzip else ("is not", "ends")
        raise InputError(f"{path}: {found} gzip data, but its name {name} in .gz; expected name and content to agree")


def read_lines(path: Path) -> Iterator[str]:
    """The sentences of a file, without line ends, decompressed if its name ends in .gz.

    A line ends with LF or CR LF, the last one also with the end of the file, and nowhere else: a form feed, NEL
    (U+0085), line separator (U+2028) or lone CR stays inside its sentence and, like every white space of
    `str.split()`, separates words there. A byte-order mark at the start of the file is dropped. Other control
    characters stay as they are.

    Errors: InputError naming the file if it is empty, the file and line for invalid UTF-8, a NUL, or damaged or cut-off
    gzip data.
    """
    number, offset = 0, 0
    with _open(path) as stream:
        while raw := _next_line(stream, path, number + 1):
            number += 1
            line = raw.removesuffix(b"\n").removesuffix(b"\r")
            mark = len(BOM_UTF8) if number == 1 and line.startswith(BOM_UTF8) else 0
            if b"\0" in line:
                raise InputError(f"{path}:{number}: holds a NUL byte (is it binary, or UTF-16?), {_EXPECTED}")
            try:
                yield line[mark:].decode("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}:{number}: invalid UTF-8 at byte {mark + error.start + 1} of the line, "
                    f"{offset + mark + error.start + 1:,} of the text, {_EXPECTED}"
                ) from error
            offset += len(raw)
    if not number:
        raise InputError(f"{path}: is empty, {_EXPECTED}")


def _next_line(stream: BinaryIO, path: Path, number: int) -> bytes:
    try:
        return stream.readline()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}:{number}: damaged or cut-off gzip data ({error}), expected a whole file") from error
    except OSError as error:
        raise InputError(f"{path}:{number}: {_reason(error)}, {_EXPECTED}") from error


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        # GzipFile.readline is slow by itself: a buffer around it reads lines in C.
        return io.BufferedReader(gzip.open(path), 1 << 20)
    return path.open("rb", buffering=1 << 20)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
