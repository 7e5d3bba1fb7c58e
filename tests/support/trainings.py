"""What tests of whole trainings share: their metrics.csv and a stream to train on."""

import csv
from pathlib import Path

import pytest

from lookback.data import GrammarCorpus


def metrics(directory: Path) -> list[dict[str, str]]:
    """The rows of metrics.csv."""
    with (directory / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def timeless(directory: Path) -> list[dict[str, str]]:
    """metrics.csv without what the clock says."""
    return [{name: value for name, value in row.items() if name != "cost/seconds"} for row in metrics(directory)]


def make_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the training split of the built-in corpus a stream, in which every fifth pair has a blank side."""
    import datasets

    load = GrammarCorpus.load

    def from_start(corpus: GrammarCorpus, split: str) -> datasets.Dataset | datasets.IterableDataset:
        whole = load(corpus, split)
        if split != "train":
            return whole
        sources = [" " if i % 5 == 3 else source for i, source in enumerate(whole["source"])]
        return datasets.Dataset.from_dict({"source": sources, "target": whole["target"]}).to_iterable_dataset()

    monkeypatch.setattr(GrammarCorpus, "load", from_start)
    monkeypatch.setattr(GrammarCorpus, "streaming", True)
