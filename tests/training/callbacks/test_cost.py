"""What a training costs, counted again from outside."""

import json
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

from lookback.data.batches.batching import BatchSize
from lookback.training.build import build_data
from lookback.training.callbacks.cost import Cost, rates_line
from support.running import Clock, Trained, run, ticks


def cost(directory: Path) -> dict[str, float]:
    return json.loads((directory / "test" / "results.json").read_text())["cost"]


def test_cost_counts_every_update_and_target_token(finished: Path) -> None:
    trained = Trained.load(finished)
    data = build_data(trained.config, None, trained.source_tokenizer, trained.target_tokenizer)
    data.setup()
    counted = cost(finished)
    assert counted["updates"] == 3 * len(data.train_dataloader())
    assert counted["target_tokens"] == 3 * data.describe()["train"]["target_tokens"]
    assert counted["parameters"] == sum(parameter.numel() for parameter in trained.module.model.parameters())
    assert counted["seconds"] > 0
    assert counted["tokens_per_second"] == pytest.approx(counted["target_tokens"] / counted["seconds"], rel=0.05)
    assert counted["peak_memory_mb"] > 50


def test_gathered_batches_are_one_update(tmp_path: Path, grammar_cache: str) -> None:
    counted = run(tmp_path, grammar_cache, "trainer.accumulate_grad_batches=3", "trainer.max_epochs=2")["cost"]
    assert counted["updates"] == 2


def test_seconds_are_those_of_updates_and_of_waiting_between_them(
    tmp_path: Path, grammar_cache: str, clock: Clock
) -> None:
    """Two epochs of three updates and a validation; behind the last batch of each nobody waits for another."""
    seconds = {"update": 3.0, "reading": 5.0, "validation": 1000.0}
    counted = run(tmp_path, grammar_cache, "trainer.max_epochs=2", ticks(**seconds))["cost"]
    assert clock.now == 6 * (3 + 5) + 2 * 1000
    assert counted["seconds"] == 6 * 3 + 4 * 5
    assert counted["waiting"] == pytest.approx(4 * 5 / (6 * 3 + 4 * 5), abs=1e-4)
    assert counted["tokens_per_second"] == round(counted["target_tokens"] / counted["seconds"], 1)


def test_the_peak_is_of_the_whole_training_also_where_a_later_process_needs_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, resumed = Cost(), Cost()
    monkeypatch.setattr("lookback.training.callbacks.peak_memory.peak", lambda: 900_000_000)
    resumed.load_state_dict(first.state_dict())
    monkeypatch.setattr("lookback.training.callbacks.peak_memory.peak", lambda: 600_000_000)
    assert resumed.rates()["peak_memory_mb"] == 900.0
    again = Cost()
    again.load_state_dict(resumed.state_dict())
    monkeypatch.setattr("lookback.training.callbacks.peak_memory.peak", lambda: 950_000_000)
    assert again.rates()["peak_memory_mb"] == 950.0


def test_counting_asks_nothing_of_a_batch_that_may_be_on_a_gpu() -> None:
    """A read from a GPU waits until it has done what it was given: the size of a batch is known beside its tensors."""
    counted = Cost()
    logs = SimpleNamespace(should_update_logs=True)
    trainer, module = SimpleNamespace(global_step=2, _logger_connector=logs), Mock()
    counted.on_train_batch_end(trainer, module, None, SimpleNamespace(whole=BatchSize(2, 7)), 0)
    counted.on_train_batch_end(trainer, module, None, SimpleNamespace(whole=BatchSize(1, 5)), 1)
    assert (counted.updates, counted.target_tokens) == (2, 12)
    logged = [call.args[1] for call in module.log.call_args_list]
    assert {type(value) for value in logged} == {torch.Tensor}, "Lightning copies a number to the device and waits"


def test_rates_are_written_for_people(finished: Path) -> None:
    assert rates_line({"tokens_per_second": 12345.6, "peak_memory_mb": 1812.4, "waiting": 0.00312}) == (
        "tokens/s 12,346  waiting 0.3%  peak 1,812 MB"
    )
    assert rates_line({"tokens_per_second": 0.0, "peak_memory_mb": 81.0, "waiting": None}) == (
        "tokens/s 0  waiting –  peak 81 MB"
    )
    rates_line(cost(finished))
