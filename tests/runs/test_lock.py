"""Two processes never train in one directory."""

import os
import signal
import socket
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from lookback.common.errors import InputError
from lookback.runs.lock import locked


def holding(directory: Path) -> int:
    """The id of a process that holds a directory until it is killed."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        with locked(directory):
            os.write(write, b"held")
            signal.pause()
        os._exit(0)
    assert os.read(read, 4) == b"held"
    return child


def test_a_second_process_is_refused_and_hears_of_the_first(tmp_path: Path) -> None:
    child = holding(tmp_path / "run")
    try:
        with (
            pytest.raises(InputError, match=f"process {child} on {socket.gethostname()} trains there") as caught,
            locked(tmp_path / "run"),
        ):
            pytest.fail("two in one directory")
        assert "\n" not in str(caught.value)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_the_place_of_a_killed_process_is_taken_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    child = holding(tmp_path)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with locked(tmp_path):
        assert f"note: process {child} on {socket.gethostname()} was killed" in capsys.readouterr().out
    with locked(tmp_path):  # the one before has ended in order
        assert capsys.readouterr().out == ""


def test_a_glance_at_the_lock_does_not_refuse_a_training(tmp_path: Path) -> None:
    """``is_locked`` of another process holds it for a moment."""
    glance = FileLock(tmp_path / ".lock", thread_local=False)
    glance.acquire()
    threading.Timer(0.2, glance.release).start()
    with locked(tmp_path):
        assert (tmp_path / ".lock.json").exists()
