"""A few of the kills of ``kills.py``, which counts as many as it is asked to."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each training is a fork")
def test_killed_trainings_end_as_one_that_never_stopped(environment: dict[str, str], tmp_path: Path) -> None:
    """Killed inside the writing of a checkpoint, before it gets its name, and stopped at moments that are drawn."""
    script = Path(__file__).with_name("kills.py")
    options = ["--count", "8", "--settings", "1", "--seed", "1", "--folder", "runs"]
    command = [sys.executable, str(script), *options]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    trials = list(csv.DictReader((tmp_path / "kills.csv").open(newline="")))
    assert "SIGKILL half checkpoints/last.ckpt (1); SIGKILL os.rename checkpoints/last.ckpt (1)" in trials[0]["stops"]
    assert trials[0]["exits"] == "-25; -9; -9; -9"  # 25: killed by the operating system in the middle of a file
    assert sum(len(trial["exits"].split("; ")) for trial in trials if trial["exits"]) >= 8
    assert not any(trial["differs"] for trial in trials)
