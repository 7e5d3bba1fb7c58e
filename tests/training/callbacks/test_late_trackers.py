"""What is tracked begins when the first batch is trained, and the training does not count the seconds of it."""

from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch.loggers.logger import Logger

from lookback.common.signals import Interrupted
from support.paths import PROJECT
from support.running import TINY_DATA, TINY_MODEL, TINY_TRAINING, Clock, modules_after, run, ticks


class Slow(Logger):
    """A logger that takes a thousand seconds to begin."""

    name, version = "slow", "0"
    clock: Clock

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[int | None] = []
        self.names: set[tuple[int | None, str]] = set()
        self.begun: list[Any] = []
        self.ended: list[str] = []

    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        self.clock.now += 1000
        self.begun.append(params["seed"])

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        assert self.begun
        self.steps.append(step)
        self.names |= {(step, name) for name in metrics}

    def finalize(self, status: str) -> None:
        self.ended.append(status)


@pytest.fixture
def slow(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Slow:
    """Takes the place of W&B."""
    logger = Slow()
    logger.clock = clock
    monkeypatch.setattr("lookback.tracking.wandb_logger", lambda **_: logger)
    return logger


def test_it_begins_once_logs_from_the_first_update_on_and_costs_no_seconds(
    tmp_path: Path, grammar_cache: str, slow: Slow, clock: Clock
) -> None:
    cost = run(tmp_path, grammar_cache, "logger=wandb", "seed=7", ticks(update=3.0, reading=5.0))["cost"]
    assert slow.begun == [7]
    assert set(slow.steps) == {0, 1, 2}
    assert clock.now == 1000 + 3 * (3 + 5)
    assert cost["seconds"] == 3 * 3 + 2 * 5


def test_a_validation_before_the_first_batch_of_a_resumed_training_is_logged(
    tmp_path: Path, grammar_cache: str, slow: Slow
) -> None:
    settings = (grammar_cache, "trainer.max_epochs=2", "batch.evaluation_size=4")
    stop = "+callbacks.send={_target_: support.running.Send, signal: SIGTERM, hook: on_validation_batch_end, n: 1}"
    with pytest.raises(Interrupted):
        run(tmp_path, *settings, stop)
    run(tmp_path, *settings, "logger=wandb")
    assert slow.steps[0] == 2  # of the first epoch's last update, the third
    assert set(slow.steps) == {2, 3, 4, 5}


def test_a_training_that_has_nothing_left_to_train_is_tracked_too(
    tmp_path: Path, grammar_cache: str, slow: Slow
) -> None:
    run(tmp_path, grammar_cache)
    run(tmp_path, grammar_cache, "logger=wandb")
    assert slow.begun == [1]
    assert slow.steps == []


def test_what_a_callback_logs_before_the_first_batch_is_logged_too(
    tmp_path: Path, grammar_cache: str, slow: Slow
) -> None:
    monitor = "+callbacks.rate={_target_: lightning.pytorch.callbacks.LearningRateMonitor}"
    run(tmp_path, grammar_cache, "logger=wandb", monitor)
    assert {step for step, name in slow.names if name == "lr-Adam"} == {0, 1, 2}


def test_a_training_that_fails_in_its_first_batch_has_failed_there_too(
    tmp_path: Path, grammar_cache: str, slow: Slow
) -> None:
    with pytest.raises(RuntimeError, match="on purpose"):
        run(tmp_path, grammar_cache, "logger=wandb", "+callbacks.fault={_target_: support.running.Fault, update: 0}")
    assert (slow.begun, slow.ended) == ([1], ["failed"])


def test_a_signal_before_the_first_batch_does_not_wait_for_them(tmp_path: Path, grammar_cache: str, slow: Slow) -> None:
    stop = "+callbacks.send={_target_: support.running.Send, signal: SIGTERM, hook: setup, n: 1}"
    with pytest.raises(Interrupted):
        run(tmp_path, grammar_cache, "logger=wandb", stop)
    assert not slow.begun
    run(tmp_path, grammar_cache, "logger=wandb")
    assert (slow.begun, slow.ended) == ([1], ["success"])


def test_no_first_batch_waits_for_a_tracker(tmp_path: Path, grammar_cache: str) -> None:
    """In a process of its own, as W&B is there already in one that has tested it."""
    seen, tests = tmp_path / "seen", str(PROJECT / "tests")
    tiny = [*TINY_DATA, *TINY_MODEL, *TINY_TRAINING, grammar_cache, "logger=wandb", "logger.mode=offline"]
    moment = f"+callbacks.modules={{_target_: support.running.Modules, path: '{seen}'}}"
    typed = ["lookback", "train", *tiny, moment, f"hydra.run.dir='{tmp_path / 'run'}'"]
    code = f"sys.path.insert(0, {tests!r}); from lookback.commands.main import main; sys.argv = {typed!r}; main()"
    at_the_end, before = modules_after(code), set(seen.read_text().split())
    assert "torch" in before
    assert not {"wandb", "tensorboard", "altair", "vl_convert", "lookback.report"} & before
    assert {"wandb", "altair"} <= at_the_end
