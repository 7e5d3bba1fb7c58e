"""The lock of a run directory: two processes never train in one."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lookback.common.errors import InputError
from lookback.common.files import read_regular, write_json

_LARGEST = 10_000
"""Bytes of ``.lock.json``."""
_PROBE = 1.0
"""Seconds. ``is_locked`` holds a lock for a moment; a training holds it for longer."""


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Holds a directory for this process. The operating system frees the lock of a process that dies.

    ``.lock`` is locked, and ``.lock.json`` beside it says who holds it: a host and a process. A killed process leaves
    that file; the next holder then says whose place it takes.

    Raises:
        InputError: if another process holds it; the message says who, and how to take it over.
    """
    from filelock import FileLock, Timeout

    directory.mkdir(parents=True, exist_ok=True)
    holder = directory / ".lock.json"
    lock = FileLock(directory / ".lock")
    try:
        lock.acquire(timeout=_PROBE, poll_interval=0.02)
    except Timeout:
        raise InputError(
            f"{directory}: {_said(holder)} trains there; expected another directory, or the end of that process "
            f"(if it is gone, delete {lock.lock_file} to take its place)"
        ) from None
    try:
        if holder.exists():
            print(f"note: {_said(holder)} was killed while it trained in {directory}; taking its place", flush=True)
        write_json(holder, {"host": socket.gethostname(), "process": os.getpid()})
        yield
    finally:
        with suppress(OSError):
            holder.unlink()
        lock.release()


def is_locked(directory: Path) -> bool:
    """Whether another process holds the lock of a run directory."""
    from filelock import FileLock, Timeout

    path = directory / ".lock"
    if not path.exists():
        return False
    try:
        with FileLock(path, blocking=False):
            return False
    except Timeout:
        return True


def holder(directory: Path) -> int | None:
    """The other process on this machine that holds the lock of a run directory; None if there is none."""
    if not is_locked(directory):
        return None
    try:
        record = json.loads(read_regular(directory / ".lock.json", _LARGEST))
        here = record["host"] == socket.gethostname() and record["process"] != os.getpid()
        return int(record["process"]) if here else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _said(holder: Path) -> str:
    """Who holds the lock, in words."""
    try:
        record = json.loads(read_regular(holder, _LARGEST))
        return f"process {record['process']} on {record['host']}"
    except (OSError, ValueError, LookupError, TypeError):
        return "another process"
