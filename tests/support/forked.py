"""Commands in processes of their own, forked from one that has imported what all commands import.

An interpreter spends seconds on these imports, the same ones for each command. What a command does, prints and leaves
is the same; what only an interpreter of its own shows, such as what it imports, is tested with one.
"""

import atexit
import multiprocessing
import os
import runpy
import sys
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

import pytest

IMPORTED = ["torch", "lightning.pytorch", "datasets", "sacrebleu", "wandb", "lookback.training.fit", "lookback.report"]


def run_forked(
    arguments: Sequence[str], directory: Path, environment: Mapping[str, str], data: bytes, seconds: float
) -> tuple[int, bytes, bytes]:
    """How a command ends: its exit status, as ``subprocess`` says it, and what it has written to both streams.

    Args:
        arguments: a script or ``-m`` with a module, and what follows it.
        directory: where it runs.
        environment: its whole environment. What is read at the imports is that of the first call.
        data: for its standard input, a pipe; 64 kB at most.
        seconds: until it is killed.
    """
    context = multiprocessing.get_context("forkserver")
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    out, err = directory / ".out", directory / ".err"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        context.set_forkserver_preload(IMPORTED)
        process = context.Process(
            target=_command, args=(list(arguments), directory, dict(environment), _Passed(read), out, err)
        )
        process.start()
    os.close(read)
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
    assert process.exitcode is not None
    written = out.read_bytes(), err.read_bytes()
    out.unlink(), err.unlink()
    return process.exitcode, *written


class _Passed:
    """A file descriptor that is there in the other process, too."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> Any:
        return _received, (DupFd(self.number),)


def _received(duplicate: Any) -> int:
    return duplicate.detach()


def _command(
    arguments: list[str], directory: Path, environment: dict[str, str], stdin: int, out: Path, err: Path
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    os.dup2(stdin, 0)
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), number)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1, closefd=False)
    status = 0
    try:
        if arguments[0] == "-m":
            sys.argv, sys.path[0] = arguments[1:], str(directory)
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv, sys.path[0] = arguments, str(Path(arguments[0]).parent)
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        atexit._run_exitfuncs()  # multiprocessing leaves them out
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
