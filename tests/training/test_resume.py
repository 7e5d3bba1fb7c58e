"""Resumed trainings: they end with the numbers of a training that never stopped, or are refused."""

import errno
import json
import os
import shutil
from pathlib import Path
from signal import SIGINT

import pytest
import torch
from omegaconf import OmegaConf

from lookback.common.configs import explain
from lookback.common.errors import InputError
from lookback.common.signals import Interrupted
from lookback.runs import read_run
from lookback.runs.checkpoint import read_checkpoint
from lookback.runs.directory import RunDirectory
from lookback.training import fit
from lookback.training.build import build_data
from lookback.training.resume import Resumed, check_same_settings, check_same_text
from support.running import compose, numbers, run
from support.trainings import make_stream, timeless


@pytest.mark.parametrize("scheduler", ["luong", "plateau"])
@pytest.mark.parametrize("update", [3, 5])
def test_a_resumed_run_ends_as_one_that_never_stopped(
    tmp_path: Path, grammar_cache: str, scheduler: str, update: int
) -> None:
    """Stopped at the end of the first of three epochs, or in the middle of the second."""
    options = (
        grammar_cache,
        "trainer.max_epochs=3",
        "encoder.dropout=0.2",
        "decoder.dropout=0.2",
        "optimizer.lr=0.02",
        f"scheduler={scheduler}",
    )
    whole = run(tmp_path / "whole", *options)
    stop = f"+callbacks.interrupt={{_target_: support.running.Interrupt, update: {update}}}"
    with pytest.raises(Interrupted):
        run(tmp_path / "parts", *options, stop)
    assert json.loads((tmp_path / "parts" / "status.json").read_text())["status"] == "interrupted"
    assert not (tmp_path / "parts" / "test" / "results.json").exists()

    resumed = run(tmp_path / "parts", *options)
    assert json.loads((tmp_path / "parts" / "status.json").read_text())["status"] == "finished"
    assert numbers(resumed) == numbers(whole)
    assert timeless(tmp_path / "parts") == timeless(tmp_path / "whole")
    for name in ("test/predictions.jsonl", "test/alignments.npz", "test/budgets.npz"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


STREAM = ["batch.shuffle_buffer=17", "trainer.max_steps=9", "trainer.val_check_interval=4"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ["trainer.max_epochs=3"],
        ["trainer.max_epochs=5", "trainer.accumulate_grad_batches=2"],
        ["trainer.max_epochs=-1", "trainer.max_steps=8"],
        ["trainer.max_epochs=4", "trainer.limit_train_batches=2"],
        ["trainer.max_epochs=3", "trainer.check_val_every_n_epoch=2", "scheduler=plateau"],
        ["trainer.max_epochs=3", "trainer.check_val_every_n_epoch=null", "trainer.val_check_interval=2"],
        ["trainer.max_epochs=5", "trainer.check_val_every_n_epoch=2", "trainer.max_steps=8"],
        STREAM,
        [*STREAM, "trainer.accumulate_grad_batches=2", "scheduler=plateau", "scheduler.patience=0"],
    ],
    ids=lambda options: " ".join(options),
)
def test_a_run_goes_on_from_any_update(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    """A checkpoint at every update: stopped anywhere and twice, a run loses nothing and ends with the same numbers."""
    if options[: len(STREAM)] == STREAM:
        make_stream(monkeypatch)
    always = (grammar_cache, "encoder.dropout=0.2", "optimizer.lr=0.05", "callbacks.last.minutes=0", *options)
    whole = run(tmp_path / "whole", *always)
    updates = whole["cost"]["updates"]
    assert updates > 4
    stopped = tmp_path / "stopped"
    for update in (updates // 3, updates - 1):
        with pytest.raises(Interrupted):
            run(stopped, *always, f"+callbacks.interrupt={{_target_: support.running.Interrupt, update: {update}}}")
        held = read_checkpoint(RunDirectory(stopped).last)["global_step"]
        assert update - held <= 1
    assert numbers(run(stopped, *always)) == numbers(whole)
    assert timeless(stopped) == timeless(tmp_path / "whole")
    for name in ("test/predictions.jsonl", "test/alignments.npz", "test/budgets.npz"):
        assert (stopped / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_a_run_that_max_steps_ended_goes_on_in_its_epoch(tmp_path: Path, grammar_cache: str) -> None:
    options = (grammar_cache, "encoder.dropout=0.2", "scheduler=constant", "trainer.max_epochs=-1")
    run(tmp_path / "whole", *options, "trainer.max_steps=8")
    run(tmp_path / "parts", *options, "trainer.max_steps=5")
    run(tmp_path / "parts", *options, "trainer.max_steps=8")
    weights = [read_checkpoint(RunDirectory(tmp_path / name).last)["state_dict"] for name in ("whole", "parts")]
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())


def test_a_finished_run_started_again_only_tests_again(tmp_path: Path, grammar_cache: str) -> None:
    once = run(tmp_path, grammar_cache)
    assert numbers(run(tmp_path, grammar_cache)) == numbers(once)


def test_old_scores_are_never_those_of_a_training_that_was_made_longer(tmp_path: Path, grammar_cache: str) -> None:
    """Typed and not begun, stopped before and after its first new checkpoint, and ended."""

    def typed(epochs: int, *more: str) -> list[str]:
        """What is trained, with the file that Hydra writes before it begins."""
        options = [grammar_cache, f"trainer.max_epochs={epochs}", *more]
        (tmp_path / ".hydra").mkdir(exist_ok=True)
        (tmp_path / ".hydra" / "config.yaml").write_text(OmegaConf.to_yaml(compose(tmp_path, *options)))
        return options

    def shown() -> tuple[str, int, int | None]:
        found = read_run(tmp_path)
        updates = None if found.results is None else found.results["cost"]["updates"]
        return found.status, found.settings["trainer.max_epochs"], updates

    run(tmp_path, *typed(1))
    typed(3)
    assert shown() == ("finished", 1, 3)
    for update, expected in ((3, ("finished", 1, 3)), (7, ("interrupted", 3, None))):
        with pytest.raises(Interrupted):
            run(tmp_path, *typed(3, f"+callbacks.interrupt={{_target_: support.running.Interrupt, update: {update}}}"))
        assert shown() == expected
    run(tmp_path, *typed(3))
    assert shown() == ("finished", 3, 9)


def test_the_best_checkpoint_stays_the_best_after_the_run_is_moved_or_copied(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of four validations is the best one. The run is stopped after it, copied, and moved."""
    options = (grammar_cache, "trainer.max_epochs=4", "optimizer.lr=0.2", "scheduler=constant", "~callbacks.budgets")
    whole = run(tmp_path / "whole", *options)
    with pytest.raises(Interrupted):
        run(tmp_path / "a", *options, "+callbacks.interrupt={_target_: support.running.Interrupt, update: 5}")
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    before = contents(tmp_path / "a")
    assert numbers(run(tmp_path / "copy", *options)) == numbers(whole)
    assert contents(tmp_path / "a") == before
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a").rename(tmp_path / "elsewhere" / "b")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert numbers(run("b", *options)) == numbers(whole)


EARLY = ("callbacks=early_stopping", "callbacks.early_stopping.patience=1", "optimizer.lr=1e-9", "trainer.max_epochs=9")


@pytest.mark.parametrize(
    "validations",
    ["trainer.check_val_every_n_epoch=1", "trainer.check_val_every_n_epoch=null"],
    ids=["at the end of an epoch", "at any update"],
)
def test_early_stopping_goes_on_where_it_was_and_what_it_ended_is_only_tested_again(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch, validations: str
) -> None:
    options = (grammar_cache, *EARLY, validations)
    whole = run(tmp_path / "whole", *options)
    updates = whole["cost"]["updates"]
    assert 3 < updates < 9
    stop = f"+callbacks.interrupt={{_target_: support.running.Interrupt, update: {updates - 1}}}"
    with pytest.raises(Interrupted):
        run(tmp_path / "parts", *options, stop)

    def killed(*_: object, **__: object) -> None:
        raise Interrupted(SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr("lookback.training.fit.test", killed)
        with pytest.raises(Interrupted):
            run(tmp_path / "parts", *options)
    assert json.loads((tmp_path / "parts" / "status.json").read_text())["status"] == "interrupted"
    for _ in range(2):
        assert numbers(run(tmp_path / "parts", *options)) == numbers(whole)
        assert json.loads((tmp_path / "parts" / "status.json").read_text())["status"] == "finished"
    assert timeless(tmp_path / "parts") == timeless(tmp_path / "whole")
    budgets = "test/budgets.npz"
    assert (tmp_path / "parts" / budgets).read_bytes() == (tmp_path / "whole" / budgets).read_bytes()


def test_fewer_epochs_than_were_trained_are_refused(tmp_path: Path, grammar_cache: str) -> None:
    run(tmp_path, grammar_cache, "trainer.max_epochs=3")
    with pytest.raises(InputError, match=r"trainer\.max_epochs=1: the run has trained for 2; expected that"):
        run(tmp_path, grammar_cache, "trainer.max_epochs=1")
    assert json.loads((tmp_path / "status.json").read_text())["status"] == "finished"


def test_another_network_does_not_go_on_from_a_checkpoint(tmp_path: Path, grammar_cache: str) -> None:
    run(tmp_path, grammar_cache)
    with pytest.raises(
        InputError, match=r"attention\._target_=\S+AdditiveAttention, .*attention\._target_=\S+FixedContext"
    ):
        run(tmp_path, grammar_cache, "attention=none", "trainer.max_epochs=2")


@pytest.mark.parametrize(
    ("override", "named"),
    [
        (
            "scheduler=constant",
            r"scheduler\._target_=\S+cosine, which cannot go on with scheduler\._target_=\S+constant",
        ),
        ("loss.normalize=sentences", r"loss\.normalize=tokens, which cannot go on with loss\.normalize=sentences"),
        ("label_smoothing=0.1", r"label_smoothing=0\.0, which cannot go on with label_smoothing=0\.1"),
    ],
)
def test_another_schedule_or_loss_does_not_go_on(tmp_path: Path, grammar_cache: str, override: str, named: str) -> None:
    run(tmp_path, grammar_cache)
    with pytest.raises(InputError, match=named):
        run(tmp_path, grammar_cache, override, "trainer.max_epochs=2")


def test_another_rate_is_refused_where_the_checkpoint_would_win(tmp_path: Path, grammar_cache: str) -> None:
    run(tmp_path, grammar_cache, "optimizer.lr=0.01")
    with pytest.raises(InputError, match=r"optimizer\.lr=0\.01, which cannot go on with optimizer\.lr=0\.02; expected"):
        run(tmp_path, grammar_cache, "optimizer.lr=0.02", "trainer.max_epochs=2")


def test_what_changes_no_number_may_change(tmp_path: Path) -> None:
    """So that a job of a sweep goes on where the text is cached elsewhere."""
    before = {"data": {"max_length": 60, "cache": "here"}, "batch": {"size": 64, "evaluation_size": 64}}
    now = {"data": {"max_length": 60, "cache": "there"}, "batch": {"size": 64, "evaluation_size": 8}}
    check_same_settings(before, now, RunDirectory(tmp_path))
    with pytest.raises(InputError, match=r"batch\.size=64, which cannot go on with batch\.size=8"):
        check_same_settings(before, {**now, "batch": {"size": 8}}, RunDirectory(tmp_path))


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_another_text_does_not_go_on(tmp_path: Path) -> None:
    """The same files by name, with another word, or the same words at other lines: nothing of the run changes."""
    files = []
    for split in ("train", "validation", "test"):
        for side in ("source", "target"):
            (tmp_path / f"{split}.{side}").write_text("a b c\nd e\n" * 10)
            files.append(f"data.{split}.{side}='{tmp_path}/{split}.{side}'")
    options = ["data=text", *files, "data.bleu_tokenize=none"]
    first = run(tmp_path / "run", *options, tiny_data=False)
    before = contents(tmp_path / "run")
    for split in ("train", "validation", "test"):
        for text in ("a b c\nd f\n", "d e\na b c\n"):
            (tmp_path / f"{split}.target").write_text(text * 10)
            with pytest.raises(InputError, match=f"holds a run with another {split} text than data.{split}") as caught:
                run(tmp_path / "run", *options, "trainer.max_epochs=2", tiny_data=False)
            assert "\n" not in str(caught.value)
            assert contents(tmp_path / "run") == before
        (tmp_path / f"{split}.target").write_text("a b c\nd e\n" * 10)
    assert (
        run(tmp_path / "run", *options, "trainer.max_epochs=2", tiny_data=False)["cost"]["updates"]
        == 2 * (first["cost"]["updates"])
    )


def test_another_tokenizer_does_not_go_on(tmp_path: Path, grammar_cache: str) -> None:
    """It is all that a checkpoint of an earlier version, and that of a stream, says of the training text."""
    data = build_data(compose(tmp_path, grammar_cache))
    data.setup()
    directory = RunDirectory(tmp_path)
    data.save_tokenizers(directory.tokenizers)
    earlier = Resumed(directory.last, 1, 0, {}, {})
    check_same_text(earlier, data, directory)
    shutil.copy(directory.tokenizers / "source.json", directory.tokenizers / "target.json")
    with pytest.raises(InputError, match="holds a run with another target tokenizer than the training text") as caught:
        check_same_text(earlier, data, directory)
    assert "\n" not in str(caught.value)


def test_a_disk_that_fills_up_leaves_the_last_good_checkpoint_and_one_line(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is full when the second last.ckpt is written; with room again, the run goes on from the first."""
    sync, written = os.fsync, []

    def full(number: int) -> None:
        if ".last.ckpt." in os.readlink(f"/proc/self/fd/{number}"):
            written.append(number)
            if len(written) > 1:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(number)

    options = (grammar_cache, "trainer.max_epochs=3", "optimizer.lr=0.02", "~callbacks.budgets")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left") as caught:
            run(tmp_path, *options)
    last = RunDirectory(tmp_path).last
    assert explain(caught.value) == f"{last}: No space left on device"
    status = json.loads((tmp_path / "status.json").read_text())
    assert (status["status"], status["reason"]) == ("failed", f"{last}: No space left on device")
    assert read_checkpoint(last)["global_step"] == 3
    assert not [*tmp_path.rglob("*.tmp")]
    assert run(tmp_path, *options)["cost"]["updates"] == 9


def test_a_resumed_run_keeps_the_name_of_its_arm(tmp_path: Path, grammar_cache: str) -> None:
    """Also where it was moved away from the sweep that the name comes from."""
    for name, expected in (("dot, dropout=0.1", "dot, dropout=0.1"), ("${oc.env:HOME}",) * 2, (None, "bahdanau")):
        config = compose(tmp_path, grammar_cache)
        fit._settle(config, RunDirectory(tmp_path), Resumed(tmp_path, 1, 0, {"names": {"arm": name}}, {}))
        assert config.names.arm == expected
