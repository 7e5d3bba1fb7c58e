"""What watches a training: its cost, and progress in plain lines."""

import json
from pathlib import Path

import pytest
import torch

from lookback.training.build import build_data
from lookback.training.trained import Trained
from running import run


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


def test_validation_is_not_in_the_seconds(tmp_path: Path, grammar_cache: str) -> None:
    slow = "+callbacks.slow._target_=running.SlowValidation"
    assert run(tmp_path, grammar_cache, slow)["cost"]["seconds"] < 1.0


def test_progress_is_plain_lines(tmp_path: Path, grammar_cache: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, grammar_cache, "trainer.max_epochs=2")
    lines = capsys.readouterr().out.splitlines()
    assert "training: 6 updates" in lines
    assert [line.split("  ")[:2] for line in lines if "validation: perplexity" in line] == [
        ["epoch 1", "update 3"],
        ["epoch 2", "update 6"],
    ]
    assert "translating the test set: 24 sentences" in lines
    assert not any("\r" in line or "\x1b" in line for line in lines)
    assert torch.get_float32_matmul_precision() == "highest"
