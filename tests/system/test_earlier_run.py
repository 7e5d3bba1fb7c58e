"""A run that was made before the modules moved: its config names classes by their old places, and it still works."""

import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookback.runs import read_predictions, read_results, read_run
from lookback.runs.alignments import read_alignments
from lookback.runs.budgets import read_budgets
from lookback.runs.checkpoint import read_checkpoint
from support.paths import PROJECT

Command = Callable[..., Any]

ARCHIVE = PROJECT / "tests" / "support" / "earlier_run.tar.gz"
TRAINING = ("cost", "versions", "git")
"""What of results.json depends on the machine and the version"""


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "run"


def results(path: Path) -> dict[str, Any]:
    """As this version reads them: a file of an earlier schema has all keys of this one."""
    return {key: value for key, value in read_results(path).items() if key not in TRAINING}


def test_it_is_read(earlier: Path) -> None:
    run = read_run(earlier)
    assert (run.attention, run.seed, run.status) == ("bahdanau", 1, "finished")
    assert run.config["callbacks"]["budgets"]["_target_"] == "lookback.training.budget_scores.BudgetScores"
    assert len(read_alignments(earlier / "test" / "alignments.npz").sentences) > 2
    assert read_budgets(earlier / "test" / "budgets.npz").shares == (0.125, 0.25, 0.5, 1.0)


def test_it_is_evaluated_translated_compared_and_resumed(earlier: Path, command: Command, tmp_path: Path) -> None:
    done = command("evaluate", f"run={earlier}", f"out={tmp_path / 'again'}", "accelerator=cpu")
    assert done.status == 0, done.err
    before, after = results(earlier / "test" / "results.json"), results(tmp_path / "again" / "results.json")
    for record in (before, after):
        perplexity = record.pop("perplexity")
        assert perplexity == pytest.approx(233.098, rel=1e-4)
    # another processor rounds otherwise: entropies and scores differ in the last digits
    looked = [record.pop("attention_by_length") for record in (before, after)]
    for bucket, again in zip(*looked, strict=True):
        known = {name: value for name, value in bucket.items() if value is not None}
        assert {name: again[name] for name in known} == pytest.approx(known, rel=1e-4)
        assert set(again) == set(bucket)
    # scores that its version did not have
    for curve in ("by_length", "by_equal_count"):
        for bucket, again in zip(before.pop(curve), after.pop(curve), strict=True):
            assert again["repeated_trigrams"] is not None or not again["n"]
            new = {name: again[name] for name in ("repeated_trigrams", "never_looked_at")}
            assert again == bucket | new
    assert after == before
    written = [read_predictions(folder / "predictions.jsonl") for folder in (earlier / "test", tmp_path / "again")]
    for old, new in zip(*written, strict=True):
        assert new.score == pytest.approx(old.score, rel=1e-4)
        assert replace(new, score=old.score) == old

    done = command("translate", f"run={earlier}", stdin="the man sees the dog .\n\n")
    assert (done.status, len(done.out.splitlines())) == (0, 2), done.err

    report = tmp_path / "report"
    done = command("compare", f"runs=[{earlier}]", f"out={report}")
    assert done.status == 0, done.err
    assert (report / "report.html").is_file()

    update = read_checkpoint(earlier / "checkpoints" / "last.ckpt")["global_step"]
    with (earlier / "metrics.csv").open() as file:
        rows = file.read().splitlines()
    done = command("train", f"resume={earlier}", "trainer.max_epochs=3")
    assert done.status == 0, done.err
    assert f"(update {update:,})" in done.out
    assert read_checkpoint(earlier / "checkpoints" / "last.ckpt")["global_step"] == update * 3 // 2
    assert len((earlier / "metrics.csv").read_text().splitlines()) > len(rows)
    weights = read_alignments(earlier / "test" / "alignments.npz").sentences[0].weights
    assert np.isfinite(weights).all()


def test_it_goes_on_only_with_the_settings_that_it_began_with(earlier: Path, command: Command) -> None:
    done = command("train", f"resume={earlier}", "encoder.hidden_size=7")
    assert done.status == 2
    assert "cannot go on with encoder.hidden_size=7" in done.err
