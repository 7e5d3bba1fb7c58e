"""batch.evaluation_size changes no number: what is summed over batches is summed over words, links and sentences."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.running import numbers, run


def results(directory: Path) -> dict[str, Any]:
    return numbers(json.loads((directory / "test" / "results.json").read_text()))


def predictions(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "test" / "predictions.jsonl").read_text().splitlines()]


def metrics(directory: Path) -> list[dict[str, float]]:
    """metrics.csv without what the clock says."""
    with (directory / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [{name: float(value) for name, value in row.items() if value and name != "cost/seconds"} for row in rows]


def assert_close(found: Any, expected: Any, where: str = "") -> None:
    """Equal, and numbers to the rounding of float32."""
    assert type(found) is type(expected), where
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key in expected:
            assert_close(found[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, pair in enumerate(zip(found, expected, strict=True)):
            assert_close(*pair, f"{where}[{place}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=2e-6, abs=1e-6), where
    else:
        assert found == expected, where


@pytest.fixture(scope="module")
def in_one_batch(tmp_path_factory: pytest.TempPathFactory, finished: Path, finished_options: list[str]) -> Path:
    """The run that ``finished`` is, which was evaluated in batches of five, evaluated in one."""
    directory = tmp_path_factory.mktemp("runs") / "one batch"
    run(directory, *finished_options, "batch.evaluation_size=1000")
    return directory


@pytest.mark.parametrize("size", [1, 5])
def test_the_size_of_an_evaluation_batch_changes_no_number(
    tmp_path: Path,
    finished: Path,
    finished_options: list[str],
    in_one_batch: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
) -> None:
    """A whole training: every validation, every look at the attention, and the test."""
    found = finished
    if size == 1:
        found = tmp_path
        monkeypatch.setattr("lookback.training.callbacks.alignment_snapshots._BATCH", 3)  # of 8 sentences and of 6
        run(found, *finished_options, "batch.evaluation_size=1")
    assert_close(results(found), results(in_one_batch))
    assert_close(metrics(found), metrics(in_one_batch))
    assert_close(predictions(found), predictions(in_one_batch))
    for name in ("segments", "alignments"):
        with (
            np.load(found / "test" / f"{name}.npz") as ours,
            np.load(in_one_batch / "test" / f"{name}.npz") as theirs,
        ):
            assert list(ours) == list(theirs)
            for array in theirs:
                if theirs[array].dtype.kind == "f":
                    np.testing.assert_allclose(ours[array], theirs[array], rtol=0, atol=1e-3, err_msg=array)
                else:
                    assert (ours[array] == theirs[array]).all(), array
