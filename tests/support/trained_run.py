"""One small trained run for the tests that only read it."""

import csv
from pathlib import Path

import pytest

from support.running import run

EPOCHS = 3
EVALUATION_SIZE = 5
OPTIONS = (
    f"trainer.max_epochs={EPOCHS}",
    "optimizer.lr=0.02",
    "label_smoothing=0.1",
    "encoder.dropout=0.2",
    "decoder.dropout=0.2",
)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever account this machine has, tests have none."""
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", "/nowhere/netrc")


@pytest.fixture(scope="session")
def finished_options(grammar_cache: str) -> list[str]:
    """The overrides that train what ``finished`` is, however it is evaluated."""
    return [grammar_cache, *OPTIONS]


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, finished_options: list[str]) -> Path:
    """A run of three epochs, with smoothing and dropout, so that what must ignore them is seen to.

    It is validated and tested in several batches of unequal lengths, the last of them not full: a mean over batches is
    then no mean over words.
    """
    directory = tmp_path_factory.mktemp("runs") / "finished"
    run(directory, *finished_options, f"batch.evaluation_size={EVALUATION_SIZE}", drawn=True)
    return directory


@pytest.fixture
def last_row(finished: Path) -> dict[str, str]:
    """What metrics.csv says of the last validation."""
    with (finished / "metrics.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["validation/bleu"]][-1]
