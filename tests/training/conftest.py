"""One small trained run for the tests that only read it."""

import csv
from pathlib import Path

import pytest

from running import run

EPOCHS = 3


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever account this machine has, tests have none."""
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", "/nowhere/netrc")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, grammar_cache: str) -> Path:
    """A run of three epochs, with smoothing and dropout, so that what must ignore them is seen to."""
    directory = tmp_path_factory.mktemp("runs") / "finished"
    options = (f"trainer.max_epochs={EPOCHS}", "optimizer.lr=0.02", "label_smoothing=0.1")
    run(directory, grammar_cache, *options, "encoder.dropout=0.2", "decoder.dropout=0.2", drawn=True)
    return directory


@pytest.fixture
def last_row(finished: Path) -> dict[str, str]:
    """What metrics.csv says of the last validation."""
    with (finished / "metrics.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["validation/bleu"]][-1]
