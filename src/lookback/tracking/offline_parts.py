"""The files that W&B writes on this machine: a run that was resumed has several parts, under one id."""

import re
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

from lookback.common.errors import InputError
from lookback.common.files import atomic_write, read_regular

_ID = "run-id"
_LARGEST = 10_000_000_000
_HEADER = b":W&B"
_HEADER_SIZE, _BLOCK, _RECORD_HEADER = 7, 32768, 7


def run_id(directory: Path | str) -> str:
    """The id of the W&B run of a run directory: made once, and kept there, so that a resumed training goes on in it."""
    path = Path(directory, "wandb", _ID)
    found = read_regular(path, 100).decode(errors="replace").strip() if path.is_file() else ""
    if not found:
        found = token_hex(4)
        with atomic_write(path) as file:
            file.write(found.encode())
    # the id is sent: a stranger's file, or a link to one of the user's, may hold anything
    if not re.fullmatch(r"[0-9a-z]{8}", found):
        raise InputError(f"{path}: expected the id of a W&B run, 8 letters and digits")
    return found


def offline_parts(directory: Path | str) -> list[Path]:
    """The parts of a run that no server has, in the order in which they were written."""
    found = [part for part in Path(directory, "wandb").glob("offline-run-*") if part.is_dir()]
    return sorted(part for part in found if not any(part.glob("*.wandb.synced")))


def is_whole(part: Path) -> bool:
    """Whether all records of a part can be read. A process that was killed may leave one without an end."""
    files = list(part.glob("*.wandb"))
    return bool(files) and all(_is_whole(read_regular(path, _LARGEST)) for path in files)


def _is_whole(data: bytes) -> bool:
    """W&B writes the log format of LevelDB: blocks of 32 KiB; a record never begins in the last 6 bytes of one."""
    if not data.startswith(_HEADER) or len(data) <= _HEADER_SIZE:
        return False
    return all(end <= len(data) for end in _record_ends(data))


def _record_ends(data: bytes) -> Iterator[int]:
    at = _HEADER_SIZE
    while at < len(data):
        left = _BLOCK - at % _BLOCK
        if left < _RECORD_HEADER:
            at += left
            continue
        size = int.from_bytes(data[at + 4 : at + 6], "little")  # after four bytes of checksum, before one of kind
        at += _RECORD_HEADER + size
        yield at
