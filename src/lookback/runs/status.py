"""`status.json`: how a run ended."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from lookback.common.errors import InputError
from lookback.common.files import write_json

STATUSES = ("running", "finished", "failed", "interrupted")


@contextmanager
def recording(path: Path, in_words: Callable[[BaseException], str]) -> Iterator[None]:
    """Keep the file up to date: running, then finished, failed (with the reason, ``in_words``) or interrupted."""
    started = _now()
    write_json(path, {"status": "running", "reason": None, "started": started, "ended": None})
    status, reason = "failed", None
    try:
        yield
        status = "finished"
    except KeyboardInterrupt:
        status = "interrupted"
        raise
    except BaseException as error:
        reason = in_words(error)
        raise
    finally:
        write_json(path, {"status": status, "reason": reason, "started": started, "ended": _now()})


def read_status(path: Path) -> tuple[str, str | None]:
    """Status and reason; "unknown" where there is no such file. Raises `InputError` for any other file."""
    if not path.exists():
        return "unknown", "the run left no status.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}; expected a JSON object with status and reason") from None
    if not isinstance(record, dict) or record.get("status") not in STATUSES:
        raise InputError(f"{path}: expected a JSON object whose status is one of {', '.join(STATUSES)}")
    return record["status"], record.get("reason")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
