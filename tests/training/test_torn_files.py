"""Every file of a run directory, torn, empty or missing: the run is resumed with the same numbers, or says why not."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from lookback.common.errors import InputError
from lookback.common.signals import Interrupted
from lookback.runs.directory import RunDirectory
from lookback.training.resume import resumed_from
from support.running import numbers, run
from support.trainings import timeless

OPTIONS = ("trainer.max_epochs=3", "encoder.dropout=0.2", "optimizer.lr=0.02")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, grammar_cache: str) -> tuple[Path, dict[str, Any]]:
    """A run that was never stopped."""
    directory = tmp_path_factory.mktemp("runs") / "whole"
    return directory, run(directory, grammar_cache, *OPTIONS)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory, grammar_cache: str) -> Path:
    """The same run, stopped in its second epoch. Its last checkpoint is one update later than its best."""
    directory = tmp_path_factory.mktemp("runs") / "stopped"
    stop = "+callbacks.interrupt={_target_: support.running.Interrupt, update: 5}"
    with pytest.raises(Interrupted):
        run(directory, grammar_cache, *OPTIONS, "callbacks.last.minutes=0", stop)
    return directory


def damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    path.unlink()
    if how != "missing":
        path.write_bytes(b"" if how == "empty" else content[: len(content) // 2])


HOW = ["torn", pytest.param("empty", marks=pytest.mark.slow), pytest.param("missing", marks=pytest.mark.slow)]
FILES = [
    ["checkpoints/last.ckpt"],
    ["checkpoints/best.ckpt"],
    ["checkpoints/last.ckpt", "checkpoints/best.ckpt"],
    ["metrics.csv"],
    ["tokenizer/source.json"],
    ["tokenizer/target.json"],
    ["status.json", "test/alignments.npz", "test/budgets.npz"],
]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("files", FILES, ids=" ".join)
def test_a_stopped_run(
    tmp_path: Path,
    grammar_cache: str,
    whole: tuple[Path, dict[str, Any]],
    stopped: Path,
    capsys: pytest.CaptureFixture[str],
    files: list[str],
    how: str,
) -> None:
    directory = tmp_path / "run"
    shutil.copytree(stopped, directory)
    assert sum(1 for path in directory.rglob("*.*") if path.is_file() and path.name[0] != ".") == len(
        {file for several in FILES for file in several}
    )
    for file in files:
        damage(directory / file, how)
    if files[0].startswith("tokenizer/"):  # what the weights were trained with, which nothing else can say
        with pytest.raises(InputError, match=re.escape(str(directory / files[0]))) as refused:
            run(directory, grammar_cache, *OPTIONS)
        assert "\n" not in str(refused.value)
        return
    resumed = run(directory, grammar_cache, *OPTIONS)
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    assert json.loads((directory / "status.json").read_text())["status"] == "finished"
    if files == ["metrics.csv"]:
        assert [line for line in said if str(directory / "metrics.csv") in line and "rows are missing" in line]
        assert resumed["convergence"] is None
        assert numbers({**resumed, "convergence": whole[1]["convergence"]}) == numbers(whole[1])
        return
    assert numbers(resumed) == numbers(whole[1])
    assert timeless(directory) == timeless(whole[0])
    for name in ("test/predictions.jsonl", "test/alignments.npz", "test/budgets.npz"):
        assert (directory / name).read_bytes() == (whole[0] / name).read_bytes(), name
    if len(files) == 2:
        assert said[-1] == f"note: {directory}: no checkpoint to go on from; the training starts anew"
    elif files == ["checkpoints/best.ckpt"] or (files == ["checkpoints/last.ckpt"] and how != "missing"):
        assert [line for line in said if str(directory / files[0]) in line]


def test_a_best_checkpoint_from_within_an_update_is_passed_over(
    tmp_path: Path, grammar_cache: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every second batch is validated, every third ends an update: the best validation follows batch 4."""
    options = (
        grammar_cache,
        "batch.size=8",
        "trainer.max_epochs=2",
        "trainer.accumulate_grad_batches=3",
        "trainer.val_check_interval=2",
        "trainer.check_val_every_n_epoch=null",
        "optimizer.lr=0.02",
        "~callbacks.budgets",
    )
    whole = run(tmp_path / "whole", *options)
    stopped = RunDirectory(tmp_path / "stopped")
    with pytest.raises(Interrupted):
        run(
            stopped.path,
            *options,
            "+callbacks.send={_target_: support.running.Send, signal: SIGTERM, hook: on_train_batch_start, n: 5}",
        )
    damage(stopped.last, "empty")
    best = torch.load(stopped.best, weights_only=True)
    assert best["loops"]["fit_loop"]["epoch_loop.batch_progress"]["current"]["ready"] % 3
    capsys.readouterr()
    assert numbers(run(stopped.path, *options)) == numbers(whole)
    said = capsys.readouterr().out
    assert f"note: {stopped.best}: written between the batches of an update" in said
    assert f"note: {stopped.path}: no checkpoint to go on from; the training starts anew" in said
    weights = [
        torch.load(each.last, weights_only=True)["state_dict"] for each in (stopped, RunDirectory(tmp_path / "whole"))
    ]
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())


@pytest.mark.parametrize("torn", [False, True])
def test_a_validation_that_was_repeated_is_not_repeated_again(tmp_path: Path, grammar_cache: str, torn: bool) -> None:
    """Both checkpoints are written after it. ``plateau`` counts validations: one more lowers the rate."""
    options = (
        grammar_cache,
        "trainer.max_epochs=3",
        "scheduler=plateau",
        "scheduler.patience=0",
        "optimizer.lr=0.05",
        "~callbacks.budgets",
    )
    whole = run(tmp_path / "whole", *options)
    parts = RunDirectory(tmp_path / "parts")
    for stop in ("hook: on_validation_epoch_start, n: 2", "hook: on_train_batch_start, n: 1"):
        with pytest.raises(Interrupted):
            run(parts.path, *options, f"+callbacks.send={{_target_: support.running.Send, signal: SIGTERM, {stop}}}")
    for path in (parts.last, parts.best):
        progress = torch.load(path, weights_only=True)["loops"]["fit_loop"]["epoch_loop.val_loop.batch_progress"]
        assert len(set(progress["total"].values())) == 1
    if torn:  # it goes on from the best one
        damage(parts.last, "empty")
    assert numbers(run(parts.path, *options)) == numbers(whole)
    assert timeless(parts.path) == timeless(tmp_path / "whole")


def test_weights_alone_are_passed_over(tmp_path: Path, stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As ``callbacks.checkpoint.save_weights_only=true`` once wrote them."""
    shutil.copytree(stopped, tmp_path / "run")
    run = RunDirectory(tmp_path / "run")
    damage(run.last, "empty")
    found = resumed_from(run)
    assert found is not None
    assert found.path == run.best
    capsys.readouterr()
    best = torch.load(run.best, weights_only=True)
    torch.save({key: best[key] for key in best.keys() - {"optimizer_states", "lr_schedulers", "callbacks"}}, run.best)
    assert resumed_from(run) is None
    assert f"note: {run.best}: weights without the state of the optimizer, so no" in capsys.readouterr().out


@pytest.mark.parametrize("how", HOW)
def test_a_finished_run_writes_its_results_again(
    tmp_path: Path, grammar_cache: str, whole: tuple[Path, dict[str, Any]], how: str
) -> None:
    directory = tmp_path / "run"
    shutil.copytree(whole[0], directory)
    for name in ("predictions.jsonl", "segments.npz", "results.json"):
        damage(directory / "test" / name, how)
    assert numbers(run(directory, grammar_cache, *OPTIONS)) == numbers(whole[1])
    for name in ("predictions.jsonl", "segments.npz"):
        assert (directory / "test" / name).read_bytes() == (whole[0] / "test" / name).read_bytes(), name
