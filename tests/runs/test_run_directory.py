"""Run directories: what is in one, how it says how it ended, and what is none."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from lookback.common.configs import one_line
from lookback.common.errors import InputError
from lookback.runs.directory import RunDirectory
from lookback.runs.provenance import git_revision, versions
from lookback.runs.status import read_status, recording


def status(path: Path) -> dict[str, str | None]:
    return json.loads((path / "status.json").read_text())


def test_status_runs_then_finishes(tmp_path: Path) -> None:
    with recording(tmp_path / "status.json", one_line, tmp_path / "last.ckpt"):
        assert status(tmp_path)["status"] == "running"
        assert status(tmp_path)["ended"] is None
    record = status(tmp_path)
    assert (record["status"], record["reason"]) == ("finished", None)
    assert datetime.fromisoformat(record["started"]) <= datetime.fromisoformat(record["ended"])


@pytest.mark.parametrize(
    ("error", "expected", "reason"),
    [
        (InputError("a.txt:3: not UTF-8"), "failed", "a.txt:3: not UTF-8"),
        (RuntimeError("two\nlines"), "failed", "RuntimeError: two lines"),
        (MemoryError(), "failed", "MemoryError:"),
        (KeyboardInterrupt(), "interrupted", None),
    ],
)
def test_status_of_what_went_wrong(tmp_path: Path, error: BaseException, expected: str, reason: str | None) -> None:
    with pytest.raises(type(error)), recording(tmp_path / "status.json", one_line, tmp_path / "last.ckpt"):
        raise error
    assert read_status(tmp_path / "status.json") == (expected, reason)


def test_what_is_no_run_directory_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such directory"):
        RunDirectory.existing(tmp_path / "absent")
    run = RunDirectory(tmp_path / "sweep" / "0")
    run.checkpoints.mkdir(parents=True)
    run.last.touch()
    assert RunDirectory.existing(run.path).last == run.last
    with pytest.raises(InputError, match=r"no trained run; runs inside it: .*sweep.0"):
        RunDirectory.existing(tmp_path / "sweep")
    with pytest.raises(InputError, match="not a readable checkpoint") as caught:
        run.checkpoint()
    assert "\n" not in str(caught.value)


def test_a_checkpoint_that_would_run_code_is_refused(tmp_path: Path) -> None:
    import torch

    run = RunDirectory(tmp_path)
    run.checkpoints.mkdir()
    torch.save({"config": RunDirectory(tmp_path)}, run.best)
    with pytest.raises(InputError, match=r"best\.ckpt: not a readable checkpoint"):
        run.checkpoint()


def test_versions_and_revision() -> None:
    assert {"python", "torch", "sacrebleu", "lookback"} <= versions().keys()
    revision = git_revision()
    assert revision is None or len(revision.rstrip("+")) == 40
