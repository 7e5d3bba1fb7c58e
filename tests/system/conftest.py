"""Whole commands, each in a process of its own, in an empty directory."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from running import PROJECT, TINY_DATA, TINY_MODEL, TINY_TRAINING

TINY = [*TINY_DATA, *TINY_MODEL, *TINY_TRAINING]


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str


Command = Callable[..., Done]


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


def arguments(script: str, overrides: Sequence[str]) -> list[str]:
    return [sys.executable, str(PROJECT / f"{script}.py"), *overrides]


@pytest.fixture
def command(environment: dict[str, str], tmp_path: Path) -> Command:
    """`command("train", "attention=none")`, typed in an empty directory."""

    def run(script: str, *overrides: str, stdin: str | bytes = b"", **more: str) -> Done:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        ended = subprocess.run(
            arguments(script, overrides),
            cwd=tmp_path,
            env={**environment, **more},
            input=data,
            capture_output=True,
            timeout=600,
        )
        return Done(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

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
    )
    assert ended.returncode == 0, ended.stderr
    return directory
