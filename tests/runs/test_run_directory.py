"""Run directories: what is in one, how it says how it ended, and what is none."""

import json
import signal
from datetime import datetime
from pathlib import Path

import pytest

from lookback.common.configs import one_line
from lookback.common.errors import InputError
from lookback.common.signals import Interrupted
from lookback.runs.directory import RunDirectory
from lookback.runs.provenance import git_revision, versions
from lookback.runs.status import read_status, recording


def status(path: Path) -> dict[str, str | None]:
    return json.loads((path / "status.json").read_text())


def test_status_runs_then_finishes(tmp_path: Path) -> None:
    with recording(tmp_path / "status.json", one_line, [tmp_path / "last.ckpt"]):
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
        (KeyboardInterrupt(), "interrupted", "SIGINT"),
        (Interrupted(signal.SIGTERM), "interrupted", "SIGTERM"),
    ],
)
def test_status_of_what_went_wrong(tmp_path: Path, error: BaseException, expected: str, reason: str | None) -> None:
    with pytest.raises(type(error)), recording(tmp_path / "status.json", one_line, [tmp_path / "last.ckpt"]):
        raise error
    assert read_status(tmp_path / "status.json") == (expected, reason)


def test_a_finished_run_stays_finished_if_nothing_was_trained(tmp_path: Path) -> None:
    best, last = tmp_path / "best.ckpt", tmp_path / "last.ckpt"
    last.write_text("update 9")
    path = tmp_path / "status.json"
    with recording(path, one_line, [last, best]):
        pass
    for error in (RuntimeError("a chart"), KeyboardInterrupt()):
        with pytest.raises(type(error)), recording(path, one_line, [last, best]):
            raise error
        assert read_status(path) == ("finished", None)

    def train_on(changed: Path) -> None:
        with recording(path, one_line, [last, best]):
            changed.unlink(missing_ok=True)
            changed.write_text("update 10")
            raise RuntimeError("later")

    for changed in (best, last):  # in the order in which a validation writes them
        with recording(path, one_line, [last, best]):
            pass
        with pytest.raises(RuntimeError):
            train_on(changed)
        assert read_status(path) == ("failed", "RuntimeError: later")


def test_a_status_that_cannot_be_written_does_not_hide_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def train() -> None:
        with recording(tmp_path / "status.json", one_line, [tmp_path / "last.ckpt"]):
            monkeypatch.setattr("os.fsync", full)
            raise RuntimeError("the first")

    with pytest.raises(RuntimeError, match="the first"):
        train()
    monkeypatch.undo()
    assert read_status(tmp_path / "status.json") == ("running", None)


@pytest.mark.parametrize("state", ["missing", "torn"])
def test_the_last_checkpoint_never_silently_takes_the_place_of_the_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], state: str
) -> None:
    import torch

    run = RunDirectory(tmp_path)
    run.checkpoints.mkdir()
    whole = {"config": {"seed": 1}, "global_step": 1, "epoch": 0, "state_dict": {"weight": torch.zeros(1)}}
    torch.save(whole, run.last)
    if state == "torn":
        run.best.write_bytes(run.last.read_bytes()[:-9])
    assert run.checkpoint()["config"] == {"seed": 1}
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"note: {run.best}: {state}; last.ckpt takes its place\n")


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
