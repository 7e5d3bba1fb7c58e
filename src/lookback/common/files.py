"""Files that are written whole or not at all, and files of a stranger's that are read.

An atomic write gives a file a temporary name in its folder, puts it on the disk, and then renames it.
"""

import errno
import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

_TEMPORARY = ".tmp"
"""The end of a temporary file's name."""


@contextmanager
def atomic_write(path: Path | str) -> Iterator[BinaryIO]:
    """Opens ``path`` for writing bytes. A reader sees the old file or the new one, after a power cut too.

    The bytes are on the disk before the file gets its name. An exception leaves the old file and nothing else.

    Raises:
        OSError: if the file cannot be written, as on a full disk. It names ``path``.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_TEMPORARY}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        if error.errno is not None and error.filename in (None, str(temporary)):  # on a full disk it names no file
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):  # it is not there, or the folder cannot be changed, which the error above says
            temporary.unlink()


def open_regular(path: Path | str, largest: int) -> BinaryIO:
    """Opens a file of a run directory for reading. It may be a stranger's.

    Args:
        path: of the file.
        largest: how many bytes it may have; more than any honest one.

    Raises:
        OSError: if it cannot be read, is too large, or is a device or a pipe, which may never end.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)  # a pipe is opened without waiting
    number = os.open(path, flags)
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
        if status.st_size > largest:
            raise OSError(errno.EFBIG, f"over {largest:,} bytes", str(path))
        return open(number, "rb")
    except BaseException:
        os.close(number)
        raise


def read_regular(path: Path | str, largest: int) -> bytes:
    """The content of a file of a run directory, see ``open_regular``."""
    with open_regular(path, largest) as file:
        return file.read(largest)


def remove_temporaries(folder: Path) -> None:
    """Removes what killed processes left half written below ``folder``. No process may be writing there now."""
    for path in folder.rglob(f".*.*{_TEMPORARY}"):
        path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Puts the names of a folder's files on the disk."""
    with suppress(OSError):  # some file systems cannot sync a folder; the file itself is safe
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def write_json(path: Path | str, value: Any) -> None:
    """Write ``value`` as indented UTF-8 JSON, atomically.

    Raises:
        ValueError: for NaN and infinity, which JSON lacks.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with atomic_write(path) as file:
        file.write(text.encode())


def write_json_once(path: Path | str, value: Any) -> bool:
    """Write ``value`` as ``write_json`` does, unless the file is there already, also if many processes do it at once.

    Returns:
        Whether it was written.
    """
    path = Path(path)
    own = path.with_name(f".{path.name}.{uuid4().hex}{_TEMPORARY}")  # another machine may have this process's number
    write_json(own, value)
    try:
        os.link(own, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if path.exists():
            return False
        os.replace(own, path)
    finally:
        own.unlink(missing_ok=True)
    return True


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: for what is no JSON, also where Python reads it: NaN, infinity, numbers beyond a float or beyond 64
            bits, and lists in lists in lists without end.
    """
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite, parse_int=_whole)
    except RecursionError:
        raise ValueError("too deep") from None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _whole(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**63:
        raise ValueError(f"{text[:20]} is too large a number")
    return number
