"""A cache of folders. Folders are written atomically, and other processes wait while one writes."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from lookback.common.errors import InputError
from lookback.data.progress import step


def cached_folder(
    kind: str, parts: object, title: str, write: Callable[[Path], None], cache: str | os.PathLike[str] | None = None
) -> Path:
    """The folder that ``write`` filled, now or in an earlier call with equal ``parts``.

    It is in the cache of ``datasets`` (HF_DATASETS_CACHE), under ``kind`` and a hash of ``parts``. ``write`` fills an
    empty folder beside it, which is renamed when it is done. So the files of a killed process are never used. A
    second process that wants the same folder waits for the first and takes its result.

    Args:
        kind: what is cached, a name for a folder, such as "text".
        parts: everything that the content depends on, the version of its format included. Its ``repr`` is hashed.
        title: shown to the user while the folder is written, such as "Reading a.en".
        write: fills the folder.
        cache: a folder to use instead of the cache of ``datasets``, without a folder for each ``kind``.

    Returns:
        The folder, filled.

    Raises:
        InputError: if the disk is full or the cache cannot be written.
        Exception: whatever ``write`` raises.
    """
    from datasets import config
    from filelock import FileLock, Timeout

    root = Path(config.HF_DATASETS_CACHE) / "lookback" / kind if cache is None else Path(cache)
    folder = root / hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    if folder.is_dir():
        return folder
    try:
        root.mkdir(parents=True, exist_ok=True)
        # the operating system frees the lock of a process that dies
        lock = FileLock(folder.with_suffix(".lock"))
        try:
            lock.acquire(blocking=False)
        except Timeout:
            with step(f"Waiting for another process: {title}"):
                lock.acquire()
        try:
            if not folder.is_dir():
                _make(folder, title, write)
        finally:
            lock.release()
    except OSError as error:
        raise InputError(
            f"{root}: {(error.strerror or str(error)).lower()}; expected room to keep prepared text, "
            "HF_DATASETS_CACHE names another folder"
        ) from error
    return folder


def _make(folder: Path, title: str, write: Callable[[Path], None]) -> None:
    # this process holds the lock, so any other folder of this name was left by a killed process
    for leftover in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        with step(title):
            write(partial)
        for path in partial.rglob("*"):
            if path.is_file():
                _flush_to_disk(path)
        os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _flush_to_disk(path: Path) -> None:
    """Wait until the content of the file is on the disk: otherwise a power cut could leave an empty file."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
