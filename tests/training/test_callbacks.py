"""What watches a training: its cost, progress in plain lines, alignments."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from lookback.search import force
from lookback.training.build import build_data
from lookback.training.callbacks import stratified_sample
from lookback.training.run_directory import RunDirectory
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


def test_the_sample_takes_the_first_of_each_bucket() -> None:
    lengths = [70, 5, 10, 11, 1, 20, 21, 65, 9]
    assert stratified_sample(lengths, 2) == [1, 2, 3, 5, 6, 0, 7]
    assert stratified_sample(lengths, 1) == [1, 3, 6, 0]


def test_alignments_are_those_of_forced_decoding(finished: Path) -> None:
    trained, directory = Trained.load(finished), RunDirectory(finished)
    trained.module.load_state_dict(directory.checkpoint(directory.last)["state_dict"])
    data = build_data(trained.config, None, trained.source_tokenizer, trained.target_tokenizer)
    data.setup("test")
    with np.load(finished / "test" / "alignments.npz") as saved:
        saved = dict(saved)
    assert saved["epochs"].tolist() == [1, 2, 3]
    texts = data.texts("test")
    assert saved["ids"].tolist() == stratified_sample([len(text.split()) for text in texts["source"]], 3)
    assert saved["weights"].dtype == np.float16
    assert len(saved["ids"]) == 6
    for i, row in enumerate(saved["ids"].tolist()):
        assert saved["source"][i].split() == known(texts[row]["source"], trained.source_tokenizer)
        assert saved["target"][i].split() == known(texts[row]["target"], trained.target_tokenizer)
        batch = data.test_dataloader().dataset[np.array([row])]
        (expected,) = force(trained.module.model, batch.source, batch.source_length, batch.target)
        rows, columns = saved["rows"][i], saved["columns"][i]
        assert (rows, columns) == (len(texts[row]["target"].split()) + 1, len(texts[row]["source"].split()) + 1)
        found = saved["weights"][-1, saved["offsets"][i] :][: rows * columns].reshape(rows, columns)
        np.testing.assert_allclose(found, expected.alignment, atol=1e-3)
        np.testing.assert_allclose(found.astype(float).sum(1), 1.0, atol=1e-2)
    assert not np.array_equal(saved["weights"][0], saved["weights"][-1])


def known(text: str, tokenizer: object) -> list[str]:
    """The words of a text as the model sees them."""
    return tokenizer.decode(tokenizer.encode([text])[0]).split()  # type: ignore[attr-defined]


def test_a_sanity_check_leaves_no_trace(tmp_path: Path, grammar_cache: str) -> None:
    run(tmp_path, grammar_cache, "trainer.num_sanity_val_steps=2")
    with np.load(tmp_path / "test" / "alignments.npz") as saved:
        assert saved["epochs"].tolist() == [1]


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
