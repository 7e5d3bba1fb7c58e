"""Reads the lines of text files and checks them: a file is read to its end or refused."""

from __future__ import annotations

import gzip
import io
import stat
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

import numpy as np

from lookback.common.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_LINE = 1 << 20  # bytes, about 100,000 words: a longer line has probably lost its line ends
_BLOCK_BYTES = 8 << 20  # bytes that are read, checked and split into lines at a time
_READ_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_EXPECTED_TEXT_FILE = "expected a UTF-8 text file, plain or .gz, one sentence a line"


def check_file(path: Path) -> None:
    """Refuse a path that cannot be a text file, before its text is read.

    Raises:
        InputError: if ``path`` is missing, a directory, unreadable, a pipe or a device, or if its name and its content
            disagree about gzip.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(f"{path}: {_reason(error)}, {_EXPECTED_TEXT_FILE}") from error
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{path}: is a directory, {_EXPECTED_TEXT_FILE}")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path}: is no regular file, {_EXPECTED_TEXT_FILE}")
    try:
        with path.open("rb") as stream:
            is_gzip = stream.read(2) == _GZIP_MAGIC
    except OSError as error:
        raise InputError(f"{path}: {_reason(error)}, {_EXPECTED_TEXT_FILE}") from error
    if status.st_size and is_gzip != (path.suffix == ".gz"):
        found, name = ("is", "does not end") if is_gzip else ("is not", "ends")
        raise InputError(f"{path}: {found} gzip data, but its name {name} in .gz; expected name and content to agree")


def read_lines(path: Path) -> Iterator[str]:
    """The lines that ``read_blocks`` gives, one by one."""
    for lines in read_blocks(path):
        yield from lines.to_pylist()


def read_blocks(path: Path) -> Iterator[pa.StringArray]:
    """The lines of a file, many at a time, without line ends, decompressed if its name ends in .gz.

    A line ends with LF or CR LF, and the last one also with the end of the file. Nothing else ends a line: a form feed,
    NEL (U+0085), line separator (U+2028) or lone CR stays in its line and separates words there, as in ``str.split()``.
    A byte-order mark at the start of the file is dropped. Other control characters stay as they are. However large the
    file or one of its lines is, a few blocks of 8 MiB are in memory at once.

    Raises:
        InputError: with the file, if it is empty; with the file and line, for invalid UTF-8, a NUL, a line of more than
            ``LONGEST_LINE`` bytes, or damaged or cut-off gzip data.
    """
    number, offset = 1, 0  # the number of the block's first line, from 1, and its offset in the text, in bytes
    for block in _whole_lines(path):
        bom = len(BOM_UTF8) if number == 1 and block.startswith(BOM_UTF8) else 0
        lines = _split_lines(block[bom:])
        if lines is None:
            _refuse(path, block, bom, number, offset)
        yield lines
        number += len(lines)
        offset += len(block)
    if number == 1:
        raise InputError(f"{path}: is empty, {_EXPECTED_TEXT_FILE}")


def _split_lines(block: bytes) -> pa.StringArray | None:
    """The lines of a block; None if one of them must be refused. The block is checked as a whole, which is fast."""
    import pyarrow as pa

    if b"\r" in block:
        block = block.removesuffix(b"\r").replace(b"\r\n", b"\n")
    if not block.endswith(b"\n"):
        block += b"\n"
    # The block is checked as one value. No byte of a longer UTF-8 character is an LF, so the block is valid UTF-8 if
    # and only if all its lines are.
    whole = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, len(block)], np.int32)), pa.py_buffer(block))
    try:
        whole.validate(full=True)
    except pa.ArrowInvalid:
        return None
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends - np.arange(len(ends))  # where each line ends after the LFs before it are removed
    if b"\0" in block or np.diff(offsets).max() > LONGEST_LINE:
        return None
    return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(block.replace(b"\n", b"")))


def _refuse(path: Path, block: bytes, bom: int, number: int, offset: int) -> NoReturn:
    """Refuse the first bad line of a block.

    Raises:
        InputError: always, with the file and the line.
    """
    for at, raw in enumerate(io.BytesIO(block), start=number):
        line = raw.removesuffix(b"\n").removesuffix(b"\r")[bom:]
        if len(line) > LONGEST_LINE:
            _refuse_long(path, at)
        if b"\0" in line:
            raise InputError(f"{path}:{at}: holds a NUL byte (is it binary, or UTF-16?), {_EXPECTED_TEXT_FILE}")
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}:{at}: invalid UTF-8 at byte {bom + error.start + 1} of the line, "
                f"{offset + bom + error.start + 1:,} of the text, {_EXPECTED_TEXT_FILE}"
            ) from error
        offset += len(raw)
        bom = 0
    raise AssertionError(f"{path}: refused without a reason")


def _refuse_long(path: Path, number: int) -> NoReturn:
    raise InputError(f"{path}:{number}: a line of more than {LONGEST_LINE:,} bytes, {_EXPECTED_TEXT_FILE}")


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The content of a file in blocks of whole lines."""
    rest, number = b"", 1  # the start of a line whose end is not read yet, and the number of that line
    with _open(path) as stream:
        while True:
            data, error = _read(stream)
            block, end, last = data.rpartition(b"\n")
            if end:
                yield b"".join((rest, block, end))
                number += block.count(b"\n") + 1
                rest = last
            else:
                rest += last
            if error is not None:
                if isinstance(error, (EOFError, zlib.error, gzip.BadGzipFile)):
                    raise InputError(
                        f"{path}:{number}: damaged or cut-off gzip data ({error}), expected a whole file"
                    ) from error
                raise InputError(f"{path}:{number}: {_reason(error)}, {_EXPECTED_TEXT_FILE}") from error
            if len(rest) > LONGEST_LINE + len(BOM_UTF8) + 1:  # a byte-order mark and a CR do not count
                _refuse_long(path, number)
            if not data:
                break
    if rest:
        yield rest


def _read(stream: BinaryIO) -> tuple[bytes, OSError | EOFError | zlib.error | None]:
    """Up to a block of bytes, and the error that stopped the reading, or None. Bytes before the error are kept."""
    pieces: list[bytes] = []
    size = 0
    try:
        while size < _BLOCK_BYTES and (piece := stream.read1(_READ_BYTES)):  # type: ignore[attr-defined]
            pieces.append(piece)
            size += len(piece)
    except (EOFError, zlib.error, OSError) as error:  # BadGzipFile is an OSError
        return b"".join(pieces), error
    return b"".join(pieces), None


def _open(path: Path) -> BinaryIO:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
