"""Two ranks against one process: the same batches, the same numbers, one writer, and an end whatever happens."""

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lightning
import pytest
import torch

from lookback.common.errors import InputError
from lookback.common.signals import Interrupted
from lookback.data import BucketBatchSampler, TranslationData
from lookback.runs import read_predictions
from lookback.runs.checkpoint import read_checkpoint
from lookback.runs.directory import RunDirectory
from lookback.runs.status import read_status
from lookback.training.build import build_data, build_module, plain_config
from lookback.training.module import TranslationModule
from lookback.training.quiet import quiet
from lookback.training.ranks import SameOnAllRanks, _end_if_stuck, _Rank, check_ranks, environments, strategy
from support.running import compose, numbers, run
from support.trainings import metrics

DOUBLE = "+callbacks.double={_target_: support.running.Double}"
# batches of few tokens: some hold one sentence, of which the second rank gets none
OPTIONS = [
    "batch.unit=tokens",
    "batch.size=24",
    "optimizer=sgd",
    "optimizer.lr=0.5",
    "label_smoothing=0.1",
    "trainer.gradient_clip_val=0.5",
    "trainer.accumulate_grad_batches=2",
    "trainer.max_epochs=-1",
    "trainer.max_steps=9",
    "trainer.check_val_every_n_epoch=null",
    "trainer.val_check_interval=6",
    "validation_sentences=5",
    "batch.evaluation_size=5",
]
DDP = ["trainer=ddp", "trainer.accelerator=cpu"]


def weights(directory: Path) -> dict[str, torch.Tensor]:
    return read_checkpoint(RunDirectory(directory).last)["state_dict"]


def children() -> list[str]:
    """The ranks that this process has started and that still run."""
    found = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "args="], capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if "lookback.training.ranks" in line]


def launching() -> dict[str, str]:
    """The environment variables by which ranks find one another, and the one that limits their threads."""
    names = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "NODE_RANK", "LOCAL_RANK", "RANK", "OMP_NUM_THREADS")
    return {name: os.environ[name] for name in names if name in os.environ}


Trained = dict[str, tuple[Path, dict[str, Any]]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, grammar_cache: str) -> Trained:
    """The same training in float64 by one process and by two ranks."""
    folder, found = tmp_path_factory.mktemp("ranks"), {}
    for name, settings in (("one", []), ("two", DDP)):
        environment = launching()
        found[name] = (folder / name, run(folder / name, grammar_cache, *OPTIONS, DOUBLE, *settings))
        assert launching() == environment, "the next job of a sweep starts anew"
    assert not children()
    assert not torch.distributed.is_initialized()
    return found


def test_two_ranks_end_with_the_weights_of_one_process(trained: Trained) -> None:
    one, two = (weights(trained[name][0]) for name in ("one", "two"))
    assert one.keys() == two.keys()
    assert any(weight.dtype == torch.float64 for weight in one.values())
    for name, weight in one.items():
        torch.testing.assert_close(two[name], weight, rtol=0, atol=1e-12, msg=name)


def test_two_ranks_log_and_test_as_one_process(trained: Trained) -> None:
    (one, one_results), (two, two_results) = trained["one"], trained["two"]
    for mine, theirs in zip(metrics(one), metrics(two), strict=True):
        for name in mine.keys() - {"cost/seconds"}:
            assert mine[name] == theirs[name] or float(mine[name]) == pytest.approx(float(theirs[name]), rel=1e-5), name
    assert numbers(two_results)["cost"] == numbers(one_results)["cost"], "tokens of all ranks"
    assert two_results["cost"]["peak_memory_mb"] > 1.3 * one_results["cost"]["peak_memory_mb"], "memory of all ranks"
    assert two_results.keys() == one_results.keys()
    assert two_results["perplexity"] == pytest.approx(one_results["perplexity"], rel=1e-6)
    written = [read_predictions(path / "test" / "predictions.jsonl") for path in (one, two)]
    assert len(written[1]) == 24
    assert [line.hypothesis for line in written[1]] == [line.hypothesis for line in written[0]]


def test_ranks_begin_without_a_line_each() -> None:
    quiet()
    assert not logging.getLogger("lightning.fabric.utilities.distributed").isEnabledFor(logging.INFO)


def test_one_rank_writes(trained: Trained) -> None:
    files = [sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) for folder, _ in trained.values()]
    assert files[0] == files[1]
    assert read_status(trained["two"][0] / "status.json") == ("finished", None)


def test_some_batches_had_a_single_sentence(trained: Trained, grammar_cache: str) -> None:
    config = compose(trained["one"][0], grammar_cache, *OPTIONS)
    data = build_data(config)
    data.setup()
    shares = [len(batch) for batch in data.train_dataloader()]
    assert 1 in shares
    assert max(shares) > 2


def test_a_signal_stops_all_ranks_and_another_number_of_them_goes_on(
    trained: Trained, tmp_path: Path, grammar_cache: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Two ranks, then one, then two: each gets SIGTERM in the middle of an update, rank 0 or rank 1."""
    options = [grammar_cache, *OPTIONS, DOUBLE, "callbacks.last.minutes=60"]
    for updates, hook, n, settings in (
        (3, "on_before_backward", 5, DDP),
        (6, "on_train_batch_start", 5, []),
        (8, "on_train_batch_start", 3, [*DDP, "+callbacks.send.rank=1"]),
    ):
        send = f"+callbacks.send={{_target_: support.running.Send, signal: SIGTERM, hook: {hook}, n: {n}}}"
        with pytest.raises(Interrupted) as end:
            run(tmp_path, *options, send, *settings)
        assert end.value.code == 143
        assert not children()
        assert read_status(tmp_path / "status.json") == ("interrupted", "SIGTERM")
        assert read_checkpoint(RunDirectory(tmp_path).last)["global_step"] == updates
    resumed = run(tmp_path, *options)
    printed = capfd.readouterr()
    assert printed.out.count("going on from") == 3, "one rank prints"
    assert "sync_dist" not in printed.err
    directory, results = trained["one"]
    expected = weights(directory)
    for name, weight in weights(tmp_path).items():
        torch.testing.assert_close(weight, expected[name], rtol=0, atol=1e-12, msg=name)
    assert numbers(resumed)["cost"] == numbers(results)["cost"]
    for mine, theirs in zip(metrics(directory), metrics(tmp_path), strict=True):
        for name in mine.keys() - {"cost/seconds"}:
            assert mine[name] == theirs[name] or float(mine[name]) == pytest.approx(float(theirs[name]), rel=1e-5), name


def test_a_failed_rank_ends_the_training_in_one_line(tmp_path: Path, grammar_cache: str) -> None:
    fault = "+callbacks.fault={_target_: support.running.Fault, update: 2, rank: 1}"
    with pytest.raises(InputError, match=r"^rank 1 failed: RuntimeError: on purpose$"):
        run(tmp_path, grammar_cache, *OPTIONS, *DDP, fault)
    assert not children()
    assert read_status(tmp_path / "status.json") == ("failed", "rank 1 failed: RuntimeError: on purpose")


@pytest.fixture
def lonely_rank() -> _Rank:
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "WORLD_SIZE": "2", "NODE_RANK": "0"}
    return _Rank(1, shared, json.dumps({"config": {"seed": "none", "names": {"arm": "a"}}, "directory": "nowhere"}))


def test_a_rank_is_not_of_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a stranger's run. What the user's own paths have is found there."""
    for name, says in (("own", "ready"), ("strange", "strange")):
        folder = tmp_path / name / "lookback" / "training"
        folder.mkdir(parents=True)
        for package in (folder, folder.parent):
            (package / "__init__.py").touch()
        (folder / "ranks.py").write_text(f"print('{says}')\n")
    monkeypatch.chdir(tmp_path / "strange")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "own"), *filter(None, sys.path)])
    rank = _Rank(1, {}, "{}")
    rank.wait_until_ready()
    rank.end()


def test_a_rank_that_fails_at_its_start_says_why(lonely_rank: _Rank) -> None:
    with pytest.raises(InputError, match=r"^rank 1 failed: seed=none: expected a whole number, 0 to"):
        lonely_rank.wait_until_ready()
    lonely_rank.end()


def test_no_rank_outlives_rank_zero(lonely_rank: _Rank) -> None:
    stdin = lonely_rank._process.stdin
    assert stdin is not None
    stdin.close()  # as the operating system does when rank 0 is killed
    assert lonely_rank._process.wait(120) == 1
    lonely_rank._errors.seek(0)
    assert lonely_rank._errors.read() == b""
    lonely_rank.end()


def test_rank_zero_does_not_wait_for_ever_for_a_dead_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing else of it runs any more, so its end is recorded there."""

    class Ended(Exception):
        pass

    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr("lookback.training.ranks._GRACE", 0.1)
    monkeypatch.setattr("os._exit", end)
    status, said = tmp_path / "status.json", "rank 1 was ended by SIGKILL"
    failed: Any = SimpleNamespace(failure=lambda wait: said)
    started = {"status": "running", "reason": None, "started": "2026-01-01T00:00:00+00:00", "ended": None}
    status.write_text(json.dumps(started))
    with pytest.raises(Ended, match="1"):
        _end_if_stuck([failed], threading.Event(), status)
    assert capsys.readouterr().err == f"error: {said}\n"
    assert read_status(status) == ("failed", said)
    assert json.loads(status.read_text())["started"] == started["started"]


def everyone(module: TranslationModule, data: TranslationData, ranks: int) -> list[torch.Tensor]:
    """The gradient that DDP gives of each weight for one batch: the mean over ranks."""
    pairs = data._encoded["train"]
    sampler = BucketBatchSampler(pairs.source.lengths, pairs.target_lengths, 5, "sentences", 1, True)
    rows = next(iter(sampler))
    module._trainer = SimpleNamespace(world_size=ranks)  # type: ignore[assignment]
    sums = [torch.zeros_like(weight) for weight in module.model.parameters()]
    for rank in range(ranks):
        module.zero_grad()
        module.training_step(pairs.share(rows, rank, ranks), 0)["loss"].backward()
        for total, weight in zip(sums, module.model.parameters(), strict=True):
            assert weight.grad is not None, "DDP waits for the gradient of every weight"
            total += weight.grad / ranks
    return sums


@pytest.mark.parametrize("attention", ["none", "bahdanau", "general"])
@pytest.mark.parametrize("normalize", ["tokens", "sentences"])
@pytest.mark.parametrize(("precision", "tolerance"), [("double", 1e-12), ("float", 1e-5)])
def test_the_mean_gradient_of_the_ranks_is_that_of_the_batch(
    attention: str,
    normalize: str,
    precision: str,
    tolerance: float,
    tmp_path: Path,
    grammar_cache: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For 1 to 7 ranks, which share a batch of five sentences."""
    config = compose(tmp_path, grammar_cache, f"attention={attention}", f"loss.normalize={normalize}")
    data = build_data(config)
    data.setup()
    lightning.seed_everything(1, verbose=False)
    module = build_module(config, data.source_tokenizer, data.target_tokenizer, "none")
    getattr(module, precision)()
    monkeypatch.setattr(module, "_end_curve_point", lambda: None)  # of the training curve: nobody trains here
    alone = everyone(module, data, 1)
    assert any(gradient.abs().max() > 1e-3 for gradient in alone)
    for ranks in (2, 3, 7):
        for mine, theirs in zip(everyone(module, data, ranks), alone, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=0, atol=tolerance)


def test_ranks_with_different_settings_do_not_train(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = compose(tmp_path, grammar_cache)
    data = build_data(config)
    data.setup()
    plain = plain_config(config)
    mine = SameOnAllRanks(plain, data)

    def train(**others: Any) -> None:
        other = SameOnAllRanks(plain | others, data)

        def gather(found: list[Any], own: Any) -> None:
            found[:] = [own, other._digests]

        monkeypatch.setattr("torch.distributed.all_gather_object", gather)
        mine.setup(SimpleNamespace(world_size=2), None, "fit")  # type: ignore[arg-type]

    train()
    with pytest.raises(InputError, match=r"^rank 1 has another optimizer\.lr than rank 0; expected the same config"):
        train(optimizer=plain["optimizer"] | {"lr": 0.5})


def test_nodes_are_refused_if_nobody_starts_their_ranks(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^trainer\.num_nodes=2: expected 1, or a start of every rank by torchrun or"):
        check_ranks(compose(tmp_path, "trainer=ddp", "trainer.num_nodes=2"))


def test_more_gpus_than_there_are_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises(InputError, match=r"^trainer\.devices=2: expected 1 to 1, the GPUs of this machine; or trainer"):
        check_ranks(compose(tmp_path, "trainer.devices=2", "trainer.accelerator=auto"))
    check_ranks(compose(tmp_path, "trainer.devices=2", "trainer.accelerator=cpu"))


def test_torchrun_and_srun_may_start_the_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = compose(tmp_path, *DDP, "trainer.num_nodes=2")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    check_ranks(config)
    assert (strategy(config), environments()) == ("ddp", [])
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")
    for name, value in {"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_STEP_NUM_TASKS": "4"}.items():
        monkeypatch.setenv(name, value)
    check_ranks(config)
    assert environments() == []
    monkeypatch.delenv("SLURM_STEP_NUM_TASKS")  # a script of sbatch is one process, whatever its job has asked for
    with pytest.raises(InputError, match="num_nodes"):
        check_ranks(config)
    assert environments()


@pytest.mark.parametrize("settings", [[], DDP, ["trainer=ddp", "trainer.devices=2", "trainer.num_nodes=2"]])
def test_another_number_of_ranks_than_was_started_is_refused(
    settings: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without trainer=ddp, each would be a training of its own, all in one directory."""
    config = compose(tmp_path, *settings)
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(InputError, match=r"^trainer\.devices=\d, trainer\.num_nodes=\d: expected .* 3, the ranks that"):
        check_ranks(config)
    monkeypatch.setenv("WORLD_SIZE", str(config.trainer.devices * config.trainer.get("num_nodes", 1)))
    check_ranks(config)
