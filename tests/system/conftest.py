"""Whole commands, each in a process of its own, in an empty directory."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from support.forked import run_forked
from support.running import PROJECT, TINY_DATA, TINY_MODEL, TINY_TRAINING

TINY = [*TINY_DATA, *TINY_MODEL, *TINY_TRAINING]


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str


Command = Callable[..., Done]
Start = Callable[..., Any]

SECONDS = 600
"""How long a command may take, whatever else the machine does: one that hangs is killed, and its test fails."""


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """No account, no colours, and caches of its own; one thread, so that two processes do not fight for two cores."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "HYDRA"))}
    return {
        **kept,
        "NETRC": "/nowhere/netrc",
        "HF_DATASETS_CACHE": str(tmp_path_factory.mktemp("datasets")),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "200",
    }


def arguments(name: str, overrides: Sequence[str]) -> list[str]:
    """A script at the top of the project, or a command that the program alone has."""
    script = PROJECT / f"{name}.py"
    return [sys.executable, *([str(script)] if script.exists() else ["-m", "lookback", name]), *overrides]


@pytest.fixture
def command(environment: dict[str, str], tmp_path: Path) -> Command:
    """`command("train", "attention=none")`, typed in an empty directory.

    It has an interpreter of its own only where it gets a variable that an interpreter reads, `PYTHON…`, or where there
    are no forks.
    """

    def run(script: str, *overrides: str, stdin: str | bytes = b"", **more: str) -> Done:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        typed, variables = arguments(script, overrides), {**environment, **more}
        if hasattr(os, "fork") and not any(name.startswith("PYTHON") for name in more):
            status, out, err = run_forked(typed[1:], tmp_path, variables, data, SECONDS)
            return Done(status, out.decode(), err.decode())
        ended = subprocess.run(typed, cwd=tmp_path, env=variables, input=data, capture_output=True, timeout=SECONDS)
        return Done(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    return run


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Start:
    """`with start("translate", "run=DIR", stdin=PIPE) as process:` is a command that goes on while the test does."""

    @contextmanager
    def run(script: str, *overrides: str, **pipes: Any) -> Iterator[subprocess.Popen[bytes]]:
        with subprocess.Popen(arguments(script, overrides), cwd=tmp_path, env=environment, **pipes) as process:
            late: list[str] = []
            timer = Timer(SECONDS, lambda: (late.append(script), process.kill()))  # the pipes then end
            timer.start()
            try:
                yield process
            finally:
                timer.cancel()
                process.kill()  # nobody waits for what a failed test has left
                assert not late, f"{script}.py still ran after {SECONDS} seconds"

    return run


@pytest.fixture(scope="session")
def trained(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory, grammar_cache: str) -> Path:
    """A run of the real command; tests only read it."""
    directory = tmp_path_factory.mktemp("trained") / "a run"
    ended = subprocess.run(
        arguments("train", [*TINY, grammar_cache, f"hydra.run.dir='{directory}'", "trainer.max_epochs=2"]),
        cwd=directory.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    return directory
