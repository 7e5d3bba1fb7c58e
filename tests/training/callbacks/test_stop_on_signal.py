"""Signals during a training: it is saved at once, and a resumed training ends as one that was never stopped."""

import json
import os
import time
from pathlib import Path
from signal import SIGHUP
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lightning.pytorch.strategies import Strategy

from lookback.common.signals import Interrupted
from lookback.runs.checkpoint import read_checkpoint
from lookback.runs.directory import RunDirectory
from lookback.runs.metrics import read_rows
from lookback.training import fit
from lookback.training.callbacks import LastCheckpoint
from lookback.training.callbacks.stop_on_signal import StopOnSignal
from support.running import numbers, run
from support.trainings import timeless

# three batches an epoch: two for its first update, then a validation, and the third alone for its second update
OPTIONS = (
    "trainer.max_epochs=3",
    "encoder.dropout=0.2",
    "optimizer.lr=0.05",
    "scheduler=plateau",
    "scheduler.patience=0",
    "trainer.accumulate_grad_batches=2",
    "trainer.val_check_interval=2",
    "trainer.check_val_every_n_epoch=1",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, grammar_cache: str) -> tuple[Path, dict[str, Any]]:
    """A training that never stopped."""
    directory = tmp_path_factory.mktemp("whole")
    return directory, run(directory, grammar_cache, *OPTIONS)


def stopped(directory: Path, hook: str, n: int, *options: str, signal: str = "SIGTERM") -> int:
    """The exit code of a training that is sent a signal."""
    send = f"+callbacks.send={{_target_: support.running.Send, signal: {signal}, hook: {hook}, n: {n}}}"
    with pytest.raises(Interrupted) as end:
        run(directory, *options, send)
    assert isinstance(end.value.code, int)
    return end.value.code


@pytest.mark.parametrize(
    ("signal", "hook", "n", "code", "held"),
    [
        ("SIGTERM", "on_train_batch_start", 1, 143, 1),  # before the first checkpoint, in the middle of an update
        ("SIGINT", "on_before_backward", 6, 130, 4),  # in the last batch of the second epoch
        ("SIGHUP", "on_validation_batch_end", 1, 129, 1),
        ("SIGUSR1", "on_validation_start", 3, 138, 5),
        ("SIGUSR2", "on_validation_end", 2, 140, 4),  # while other callbacks save it: after the next update
    ],
)
def test_a_signal_saves_the_update_at_hand_and_nothing_is_lost(
    tmp_path: Path,
    grammar_cache: str,
    whole: tuple[Path, dict[str, Any]],
    signal: str,
    hook: str,
    n: int,
    code: int,
    held: int,
) -> None:
    assert stopped(tmp_path, hook, n, grammar_cache, *OPTIONS, signal=signal) == code
    record = json.loads((tmp_path / "status.json").read_text())
    assert (record["status"], record["reason"]) == ("interrupted", signal)
    assert read_checkpoint(RunDirectory(tmp_path).last)["global_step"] == held

    directory, results = whole
    assert numbers(run(tmp_path, grammar_cache, *OPTIONS)) == numbers(results)
    assert timeless(tmp_path) == timeless(directory)
    for name in ("test/predictions.jsonl", "test/alignments.npz", "test/budgets.npz"):
        assert (tmp_path / name).read_bytes() == (directory / name).read_bytes(), name


@pytest.mark.parametrize("steps", [[], ["trainer.max_epochs=-1", "trainer.max_steps=5"]], ids=["epochs", "steps"])
def test_a_signal_in_the_last_validation_repeats_the_last_update(
    tmp_path: Path, grammar_cache: str, steps: list[str]
) -> None:
    options = (grammar_cache, "trainer.max_epochs=2", "scheduler=luong", "encoder.dropout=0.2", *steps)
    options = (*options, "trainer.check_val_every_n_epoch=null", "trainer.val_check_interval=100")
    whole = run(tmp_path / "whole", *options)
    updates = whole["cost"]["updates"]
    stopped(tmp_path / "parts", "on_validation_start", 1, *options)
    assert read_checkpoint(RunDirectory(tmp_path / "parts").last)["global_step"] == updates - 1
    assert numbers(run(tmp_path / "parts", *options)) == numbers(whole)
    assert timeless(tmp_path / "parts") == timeless(tmp_path / "whole")


def test_a_signal_before_the_training_leaves_nothing_to_resume(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(fit, "build_data", lambda config: os.kill(os.getpid(), SIGHUP))
        with pytest.raises(Interrupted):
            run(tmp_path, grammar_cache)
    record = json.loads((tmp_path / "status.json").read_text())
    assert (record["status"], record["reason"]) == ("interrupted", "SIGHUP")
    run(tmp_path, grammar_cache)
    assert json.loads((tmp_path / "status.json").read_text())["status"] == "finished"


def test_metrics_never_trail_a_checkpoint(tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a checkpoint is written, the rows of all its updates are in the file."""
    seen = []
    save = Strategy.save_checkpoint

    def saved(strategy: Strategy, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        seen.append((Path(path).name, checkpoint["global_step"], max(read_rows(tmp_path / "metrics.csv"))))
        save(strategy, checkpoint, path, storage_options)

    monkeypatch.setattr(Strategy, "save_checkpoint", saved)
    run(tmp_path, grammar_cache, "trainer.max_epochs=2", "callbacks.last.minutes=0")
    assert {name for name, _, _ in seen} == {"best.ckpt", "last.ckpt"}
    assert len(seen) > 6
    assert [row for _, _, row in seen] == [updates - 1 for _, updates, _ in seen]


def test_a_slurm_job_is_requeued_after_our_checkpoint_and_not_lightnings(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    scontrol = tmp_path / "bin" / "scontrol"
    scontrol.write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/asked"\n')
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", str(scontrol.parent), prepend=os.pathsep)
    for name, value in {"JOB_ID": "17", "NTASKS": "1", "JOB_NAME": "training", "PROCID": "0", "LOCALID": "0"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)  # where Lightning finds a job of Slurm
    options = (grammar_cache, "trainer.max_epochs=2")
    left = [tmp_path / "run" / "hpc_ckpt_1.ckpt", tmp_path / "run" / "test" / "hpc_ckpt_1.ckpt"]
    left[1].parent.mkdir(parents=True)
    for path in left:
        path.write_text("what Lightning would start from, or test, in a job of Slurm")
    assert stopped(tmp_path / "run", "on_before_backward", 2, *options, signal="SIGUSR1") == 138
    assert (tmp_path / "asked").read_text() == "requeue 17\n"
    assert sorted(tmp_path.rglob("hpc_ckpt*")) == left
    assert read_checkpoint(RunDirectory(tmp_path / "run").last)["global_step"] == 2
    assert run(tmp_path / "run", *options)["cost"]["updates"] == 6


class Ranks:
    """Two ranks, of which the other one has what ``others`` says."""

    root_device = torch.device("cpu")

    def __init__(self, *others: int) -> None:
        self.others = torch.tensor(others, dtype=torch.int)
        self.asked = 0

    def reduce(self, tensor: torch.Tensor, reduce_op: str) -> torch.Tensor:
        assert reduce_op == "sum"
        self.asked += 1
        return tensor + self.others


def test_ranks_agree_once_an_update(tmp_path: Path) -> None:
    last = LastCheckpoint(str(tmp_path / "last.ckpt"), minutes=60)
    last._written = time.monotonic()
    stop = StopOnSignal()
    module: Any = None
    for stops, late, due in ((0, 0, False), (0, 1, True), (1, 0, True)):
        last.due, ranks = False, Ranks(stops, late)
        trainer: Any = SimpleNamespace(
            world_size=2, strategy=ranks, callbacks=[stop, last], accumulate_grad_batches=2, is_last_batch=False,
            global_step=1, estimated_stepping_batches=10, enable_validation=True, check_val_every_n_epoch=1,
            current_epoch=0, should_stop=False, val_check_batch=2, fit_loop=SimpleNamespace(batch_idx=0),
        )  # fmt: skip
        for batch in range(4):
            trainer.fit_loop.batch_idx = batch
            for callback in (stop, last):
                callback.on_train_batch_end(trainer, module, None, module, batch)
        assert ranks.asked == 2
        assert last.due is due
        assert stop._stops is bool(stops)
