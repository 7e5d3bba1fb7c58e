"""Where a model looks as it learns: test/alignments.npz, and attention/… in metrics.csv."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.data import TranslationData
from lookback.runs.checkpoint import read_checkpoint
from lookback.runs.directory import RunDirectory
from lookback.search import force
from lookback.training.build import build_data
from lookback.training.callbacks.alignment_snapshots import snapshot_updates, stratified_sample
from support.running import Trained, run


@pytest.fixture(scope="module")
def last(finished: Path) -> tuple[Trained, TranslationData]:
    """The finished run with its last weights, and its data."""
    trained, directory = Trained.load(finished), RunDirectory(finished)
    trained.module.load_state_dict(read_checkpoint(directory.last)["state_dict"])
    data = build_data(trained.config, None, trained.source_tokenizer, trained.target_tokenizer)
    data.setup()
    return trained, data


def saved(directory: Path) -> dict[str, Any]:
    with np.load(directory / "test" / "alignments.npz") as arrays:
        return dict(arrays)


def logged(directory: Path) -> list[dict[str, float]]:
    """The rows of metrics.csv that have attention/…, and the step of each."""
    with (directory / "metrics.csv").open(newline="") as file:
        rows = [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]
    return [row for row in rows if "attention/entropy" in row]


def test_the_sample_takes_the_first_of_each_bucket() -> None:
    lengths = [70, 5, 10, 11, 1, 20, 21, 65, 9]
    assert stratified_sample(lengths, 2) == [1, 2, 3, 5, 6, 0, 7]
    assert stratified_sample(lengths, 1) == [1, 3, 6, 0]


@given(st.integers(1, 10_000), st.integers(1, 40))
def test_moments_are_denser_at_the_start_and_end_with_the_training(updates: int, moments: int) -> None:
    found = snapshot_updates(updates, moments)
    assert found == sorted(set(found))
    assert found[-1] == updates
    assert found[0] >= 1
    assert len(found) <= moments
    assert sum(moment <= updates / 2 for moment in found) >= len(found) // 2 or updates < moments**2
    assert snapshot_updates(1600, 4) == [100, 400, 900, 1600]


def test_alignments_are_those_of_forced_decoding(finished: Path, last: tuple[Trained, TranslationData]) -> None:
    trained, data = last
    arrays = saved(finished)
    assert arrays["updates"].tolist() == snapshot_updates(9, 16)
    np.testing.assert_allclose(arrays["epochs"], arrays["updates"] / 3)
    texts = data.texts("test")
    assert arrays["ids"].tolist() == stratified_sample([len(text.split()) for text in texts["source"]], 3)
    assert arrays["weights"].dtype == np.float16
    assert len(arrays["ids"]) == 6
    for i, row in enumerate(arrays["ids"].tolist()):
        # words of the raw text, known to the model or not
        assert arrays["source"][i] == texts[row]["source"]
        assert arrays["target"][i] == texts[row]["target"]
        batch = data.test_dataloader().dataset[np.array([row])]
        (expected,) = force(trained.module.model, batch.source, batch.source_length, batch.target)
        rows, columns = arrays["rows"][i], arrays["columns"][i]
        assert (rows, columns) == (len(texts[row]["target"].split()) + 1, len(texts[row]["source"].split()) + 1)
        found = arrays["weights"][-1, arrays["offsets"][i] :][: rows * columns].reshape(rows, columns)
        np.testing.assert_allclose(found, expected.alignment, atol=1e-3)
        np.testing.assert_allclose(found.astype(float).sum(1), 1.0, atol=1e-2)
        assert [link[1:].tolist() for link in arrays["sure"] if link[0] == i] == texts[row]["alignment"]
    assert not np.array_equal(arrays["weights"][0], arrays["weights"][-1])
    assert arrays["has_gold"]
    assert arrays["possible"].shape == (0, 3)


def test_the_last_logged_error_rate_is_that_of_the_validation_pairs(
    finished: Path, last: tuple[Trained, TranslationData]
) -> None:
    trained, data = last
    rows = logged(finished)
    # the first update is step 0
    assert [row["step"] + 1 for row in rows] == snapshot_updates(9, 16)
    texts = data.texts("validation")
    found = gold = hits = shifted = shifted_hits = 0
    entropies = []
    for i in range(trained.module.validation_sentences):
        batch = data.val_dataloader().dataset[np.array([i])]
        (forced,) = force(trained.module.model, batch.source, batch.source_length, batch.target)
        weights = forced.alignment.double().numpy()
        links = {tuple(link) for link in texts[i]["alignment"]}
        looked = weights[:, :-1].argmax(1).tolist()
        gold += len(links)
        found += len(looked) - 1
        hits += sum((word, place) in links for place, word in enumerate(looked[:-1]))
        shifted += len(looked) - 1
        shifted_hits += sum((word, place) in links for place, word in enumerate(looked[1:]))
        entropies.append(-(weights[:-1] * np.log(np.maximum(weights[:-1], 1e-300))).sum(1).mean())
    assert rows[-1]["attention/aer"] == pytest.approx(1 - 2 * hits / (found + gold), abs=1e-9)
    assert rows[-1]["attention/aer_shift_-1"] == pytest.approx(1 - 2 * shifted_hits / (shifted + gold), abs=1e-9)
    assert rows[-1]["attention/entropy"] == pytest.approx(np.mean(entropies), abs=1e-6)


def test_a_sanity_check_leaves_no_trace(tmp_path: Path, grammar_cache: str) -> None:
    run(tmp_path, grammar_cache, "trainer.num_sanity_val_steps=2")
    assert saved(tmp_path)["updates"].tolist() == [1, 2, 3]
    assert [row["step"] for row in logged(tmp_path)] == [0, 1, 2]


def test_who_looks_nowhere_has_no_picture_and_no_numbers(tmp_path: Path, grammar_cache: str) -> None:
    record = run(tmp_path, grammar_cache, "attention=none")
    assert not (tmp_path / "test" / "alignments.npz").exists()
    assert "attention/" not in (tmp_path / "metrics.csv").read_text()
    assert record["aer"] is None
    assert record["attention_by_length"] is None
