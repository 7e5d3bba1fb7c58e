"""`status.json`: how a run ended."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from lookback.common.errors import InputError
from lookback.common.files import atomic_write, parse_json, read_regular, write_json
from lookback.common.signals import Interrupted, at_once, deferred
from lookback.common.visible_text import visible

_LARGEST = 1_000_000
"""Bytes. The reason of a failure is one line."""
STATUSES = ("running", "finished", "failed", "interrupted")


@contextmanager
def recording(path: Path, in_words: Callable[[BaseException], str], checkpoints: Sequence[Path]) -> Iterator[None]:
    """Keeps the file up to date: running, then finished, failed or interrupted.

    A finished run that is started again stays finished if an error ends that before anything was trained.

    Args:
        path: the file.
        in_words: the reason of a failure. The reason of an interrupted run is the name of the signal.
        checkpoints: one of them changes when something is trained.
    """
    before = read_regular(path, _LARGEST) if _status(path) == "finished" else None
    trained = _modified(checkpoints)
    with deferred():  # a signal does not disturb the writing
        started = _now()
        write_json(path, {"status": "running", "reason": None, "started": started, "ended": None})
        try:
            with at_once():
                yield
        except BaseException as error:
            status, reason = _how_it_ended(error, in_words)
            with suppress(OSError):  # on a full disk the error that counts is the first one
                if before is not None and _modified(checkpoints) == trained:
                    with atomic_write(path) as file:
                        file.write(before)
                else:
                    write_json(path, {"status": status, "reason": reason, "started": started, "ended": _now()})
            raise
        write_json(path, {"status": "finished", "reason": None, "started": started, "ended": _now()})


def record_failure(path: Path, reason: str) -> None:
    """Marks a run as failed where its process can only be ended: nothing of ``recording`` runs any more."""
    started = parse_json(path.read_text(encoding="utf-8"))["started"]
    write_json(path, {"status": "failed", "reason": reason, "started": started, "ended": _now()})


def _how_it_ended(error: BaseException, in_words: Callable[[BaseException], str]) -> tuple[str, str]:
    """Status and reason of a run that ended with an error."""
    if isinstance(error, Interrupted):
        return "interrupted", error.signal.name
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "SIGINT"
    return "failed", in_words(error)


def read_status(path: Path) -> tuple[str, str | None]:
    """Status and reason; "unknown" where there is no such file. Raises `InputError` for any other file."""
    if not path.exists():
        return "unknown", "the run left no status.json"
    try:
        record = parse_json(read_regular(path, _LARGEST).decode())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; expected a JSON object with status and reason") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}; expected a JSON object with status and reason") from None
    if not isinstance(record, dict) or record.get("status") not in STATUSES:
        raise InputError(f"{path}: expected a JSON object whose status is one of {', '.join(STATUSES)}")
    reason = record.get("reason")
    return record["status"], visible(reason) if isinstance(reason, str) else None


def _status(path: Path) -> str | None:
    try:
        return read_status(path)[0]
    except InputError:
        return None


def _modified(paths: Sequence[Path]) -> list[int | None]:
    return [path.stat().st_mtime_ns if path.is_file() else None for path in paths]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
