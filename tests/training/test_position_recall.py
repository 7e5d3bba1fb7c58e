"""Recall by source position of whole runs: counted again in plain Python, and without gold by another model's links."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import hydra
import pytest
from hydra.utils import instantiate

from lookback.commands.align import align
from lookback.commands.evaluate import evaluate
from lookback.evaluation import Resamples, recall_curve
from lookback.runs import Segments
from support.running import CONF, compose, run


def command(name: str, *overrides: str) -> Any:
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return hydra.compose(name, list(overrides))


def predictions(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]


def recall_in_plain_words(
    sentences: list[dict[str, Any]], links: list[set[tuple[int, int]]], low: int, high: float
) -> list[float | None]:
    linked: dict[int, float] = defaultdict(float)
    found: dict[int, float] = defaultdict(float)
    for sentence, pairs in zip(sentences, links, strict=True):
        source, reference, hypothesis = (sentence[key].split() for key in ("source", "reference", "hypothesis"))
        if not low <= len(source) <= high:
            continue
        for j, word in enumerate(reference):
            places = [i for i, target in pairs if target == j]
            for i in places:
                fifth = int(i / len(source) * 5 + 1e-9)
                linked[fifth] += 1 / len(places)
                found[fifth] += min(hypothesis.count(word) / reference.count(word), 1) / len(places)
    return [found[fifth] / linked[fifth] if linked[fifth] else None for fifth in range(5)]


def check(record: dict[str, Any], sentences: list[dict[str, Any]], links: list[set[tuple[int, int]]]) -> None:
    for bucket in record["position_recall"]:
        expected = recall_in_plain_words(sentences, links, bucket["lo"], bucket["hi"] or 10**9)
        assert bucket["recall"] == [share if share is None else pytest.approx(share) for share in expected]
        for share, interval in zip(bucket["recall"], bucket["ci"], strict=True):
            assert (share is None) is (interval is None)
            assert share is None or 0 <= interval[0] <= interval[1] <= 1
    assert [b["n"] for b in record["position_recall"]] == [b["n"] for b in record["by_length"]]
    assert any(share for bucket in record["position_recall"] for share in bucket["recall"] if share)


@pytest.fixture(scope="module")
def none(tmp_path_factory: pytest.TempPathFactory, grammar_cache: str) -> Path:
    """A run without attention, trained long enough to write some words."""
    directory = tmp_path_factory.mktemp("runs") / "none"
    run(directory, grammar_cache, "attention=none", "optimizer.lr=0.03", "trainer.max_epochs=12", "search=greedy")
    return directory


def test_gold_of_the_corpus_is_counted_for_none_too(none: Path, grammar_cache: str) -> None:
    record = json.loads((none / "test" / "results.json").read_text(encoding="utf-8"))
    rows = instantiate(compose(none, grammar_cache).data).load("test")
    links = [{(i, j) for i, j in row["alignment"]} for row in rows]
    check(record, predictions(none / "test"), links)
    counted = Resamples([Segments.load(none / "test" / "segments.npz")])
    assert recall_curve(counted, [0])[1:] == record["position_recall"]


def test_without_gold_another_run_aligns(none: Path, finished: Path, tmp_path: Path) -> None:
    """align.py with a run that looks back, then evaluate.py of one that does not with its links."""
    sentences = predictions(none / "test")
    source, target, links, out = (tmp_path / name for name in ("a.en", "a.fr", "links.txt", "out"))
    source.write_text("".join(f"{sentence['source']}\n" for sentence in sentences), encoding="utf-8")
    target.write_text("".join(f"{sentence['reference']}\n" for sentence in sentences), encoding="utf-8")
    align(command("align", f"run='{finished}'", f"source='{source}'", f"target='{target}'", f"out='{links}'"))
    files = (f"data.test.source='{source}'", f"data.test.target='{target}'")
    where = (f"run='{none}'", "accelerator=cpu")
    without = evaluate(command("evaluate", *where, *files, f"out='{tmp_path / 'without'}'"))
    assert without["position_recall"] is None
    record = evaluate(command("evaluate", *where, *files, f"data.test.alignment='{links}'", f"out='{out}'"))
    lines = links.read_text(encoding="utf-8").splitlines()
    pairs = [{(int(i), int(j)) for i, j in (link.split("-") for link in line.split())} for line in lines]
    assert record["aer"] is None
    check(record, predictions(out), pairs)
