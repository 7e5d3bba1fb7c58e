"""Run directories made up for the tests: what a training would leave, with BLEU that falls with length as asked."""

import json
import math
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from lookback.common.files import atomic_write, write_json
from lookback.evaluation import BOUNDS, bleu, count, results, sentence_statistics, signature
from lookback.runs import TRAINING_DATA, Prediction, write_predictions

VOCABULARY = [f"w{index}" for index in range(200)]
_SCORED = tempfile.TemporaryDirectory(prefix="lookback-made-", ignore_cleanup_errors=True)
COST = {
    "parameters": 2_412_345,
    "updates": 6000,
    "target_tokens": 9_876_543,
    "seconds": 287.4,
    "tokens_per_second": 34_365.1,
    "peak_memory_mb": 1234.5,
    "waiting": 0.012,
    "flops_per_token": 4e6,
    "products": "float32 products (matmul_precision=highest)",
}


def fabricate(
    directory: Path,
    attention: str = "bahdanau",
    seed: int = 1,
    *,
    slope: float = 0.002,
    lengths: Sequence[int] = range(1, 61),
    tokenize: str = "none",
    fingerprint: str = "f00dcafe",
    cell: str = "gru",
    train_max_length: int | None = 30,
    status: str = "finished",
    reason: str | None = None,
    scored: bool = True,
    counted: int | None = None,
    aligned: bool = True,
    rate: float | None = None,
    convergence: dict[str, Any] | None = None,
    updates: int | None = None,
) -> Path:
    """A run whose words are wrong with probability `slope` times the source length.

    With `updates` it was scored at an eighth, a quarter, half and all of so many: at first far more words were wrong.
    Of a large test set `counted` sentences are enough: the counts of the others repeat theirs. With `aligned`, the test
    set has gold links: each word to the one in its place.
    """
    query = {"none": "previous", "bahdanau": "previous"}.get(attention, "current")
    config = {
        "seed": seed,
        "attention": {"_target_": f"lookback.nn.{attention.title()}"},
        "encoder": {"cell": cell, "layers": 1},
        "decoder": {"query": query},
        "data": {"train_max_length": train_max_length, "max_length": 70, "cache": str(directory)},
        "names": {"attention": "${hydra:runtime.choices.attention}"},
        "logger": {"name": f"{attention}-{seed}"},
    }
    if rate is not None:
        config |= {"learning_rate": rate, "optimizer": {"lr": "${learning_rate}"}}
    choices = {"hydra": {"runtime": {"choices": {"attention": attention}}}}
    (directory / ".hydra").mkdir(parents=True)
    (directory / ".hydra" / "config.yaml").write_text(yaml.safe_dump(config))
    (directory / ".hydra" / "hydra.yaml").write_text(yaml.safe_dump(choices))
    write_json(directory / "status.json", {"status": status, "reason": reason, "started": "2026-01-01", "ended": None})
    if scored:
        how = json.dumps(convergence)
        scored_as = attention, seed, slope, tuple(lengths), tokenize, fingerprint, counted, aligned, how, updates
        shutil.copytree(_scored(*scored_as), directory / "test")
    return directory


@cache
def _scored(
    attention: str,
    seed: int,
    slope: float,
    lengths: Sequence[int],
    tokenize: str,
    fingerprint: str,
    counted: int | None,
    aligned: bool,
    convergence: str,
    updates: int | None,
) -> Path:
    """The ``test`` of such a run. It is counted once, however many tests ask for it."""
    directory = Path(tempfile.mkdtemp(dir=_SCORED.name))
    test_set, chance = random.Random(fingerprint), random.Random(f"{attention}{seed}")
    predictions = []
    for index, length in enumerate(lengths):
        reference = test_set.choices(VOCABULARY, k=length)
        wrong = slope * length * chance.uniform(0.7, 1.3)
        hypothesis = [chance.choice(VOCABULARY) if chance.random() < wrong else word for word in reference]
        texts = " ".join(reference), " ".join(reference), " ".join(hypothesis)
        predictions.append(Prediction(index, *texts, -0.5, length, False))
    links = [[(word, word) for word in range(prediction.source_length)] for prediction in predictions[:counted]]
    reading = [_never_looked_at(prediction) for prediction in predictions[:counted]] if attention != "none" else None
    segments = count(predictions[:counted], tokenize, links if aligned else None, reading)
    if counted is not None:
        segments = segments[np.arange(len(predictions)) % len(segments)]
    write_predictions(directory / "test" / "predictions.jsonl", predictions)
    segments.save(directory / "test" / "segments.npz")
    if attention != "none" and predictions:
        fabricate_alignments(directory, predictions, f"{attention}{seed}")
    if updates is not None:
        fabricate_budgets(directory, predictions, f"{attention}{seed}", updates)
    record = results(
        predictions,
        tokenize,
        segments=segments,
        arm=attention,
        attention=attention,
        seed=seed,
        data="grammar",
        perplexity=1.5,
        aer=None,
        attention_by_length=None,
        convergence=json.loads(convergence),
        cost=COST,
        training_data=dict.fromkeys(TRAINING_DATA),
        versions={},
        git=None,
        data_fingerprint=fingerprint,
    )
    write_json(directory / "test" / "results.json", record)
    return directory / "test"


def _never_looked_at(prediction: Prediction) -> tuple[int, int]:
    """As if each word that is wrong had been written without a look at its source word."""
    pairs = zip(prediction.reference.split(), prediction.hypothesis.split(), strict=True)
    return sum(expected != written for expected, written in pairs), prediction.source_length


def score_again(directory: Path, predictions: Sequence[Prediction], tokenize: str = "none") -> None:
    """Other predictions for a run, with their counts and their BLEU; its other numbers stay."""
    counts, path = count(predictions, tokenize), directory / "test" / "results.json"
    write_predictions(directory / "test" / "predictions.jsonl", predictions)
    counts.save(directory / "test" / "segments.npz")
    score = float(bleu(counts.bleu_statistics.sum(axis=0), effective_order=False))
    signed = {"bleu": score, "signature": signature(tokenize)}
    write_json(path, {**json.loads(path.read_text(encoding="utf-8")), **signed})


def fabricate_budgets(
    directory: Path,
    predictions: Sequence[Prediction],
    seed: str,
    updates: int,
    shares: Sequence[float] = (0.125, 0.25, 0.5, 1.0),
) -> None:
    """test/budgets.npz of a model that at a share of its training still has that share of its right words."""
    chance = random.Random(seed)
    statistics = []
    for share in shares:
        early = [
            " ".join(word if chance.random() < share else "x" for word in prediction.hypothesis.split())
            for prediction in predictions
        ]
        statistics.append(sentence_statistics(early, [prediction.reference for prediction in predictions], "none"))
    with atomic_write(directory / "test" / "budgets.npz") as file:
        np.savez_compressed(
            file,
            ids=np.arange(len(predictions)),
            source_length=np.array([prediction.source_length for prediction in predictions]),
            updates=np.array([round(updates * share) for share in shares]),
            shares=np.array(shares),
            target_tokens=np.array([round(50 * updates * share) for share in shares]),
            statistics=np.stack(statistics),
        )


def fabricate_alignments(
    directory: Path, predictions: Sequence[Prediction], seed: str, moments: int = 6, per_bucket: int = 2
) -> None:
    """test/alignments.npz of a model that learns to look at the diagonal, which is the gold too.

    Early on it looks anywhere; each moment it is surer. A link beside the diagonal is possible.
    """
    chance = np.random.default_rng(list(seed.encode()))
    lengths = np.array([prediction.source_length for prediction in predictions])
    of = np.searchsorted(BOUNDS, lengths)
    ids = [int(row) for bucket in np.unique(of) for row in np.flatnonzero(of == bucket)[:per_bucket]]
    sizes = lengths[ids] + 1
    weights = []
    for size in sizes:
        noise = chance.normal(0, 1, (moments, size, size))
        energies = noise + 7 * np.linspace(0, 1, moments)[:, None, None] * np.eye(size)
        exponentials = np.exp(energies)
        weights.append((exponentials / exponentials.sum(axis=-1, keepdims=True)).reshape(moments, -1))
    links = [(place, word, word) for place, size in enumerate(sizes) for word in range(size - 1)]
    beside = [(place, word - 1, word) for place, word, _ in links if word % 4 == 1]
    with atomic_write(directory / "test" / "alignments.npz") as file:
        np.savez_compressed(
            file,
            ids=np.array(ids),
            source=np.array([predictions[row].source for row in ids]),
            target=np.array([predictions[row].reference for row in ids]),
            epochs=np.arange(1, moments + 1) / 2,
            updates=np.arange(1, moments + 1) * 1000,
            offsets=np.cumsum(sizes**2) - sizes**2,
            rows=sizes,
            columns=sizes,
            weights=np.concatenate(weights, axis=1).astype(np.float16),
            sure=np.array(links).reshape(-1, 3),
            possible=np.array(beside).reshape(-1, 3),
            has_gold=np.array(True),
        )


def leave_heads(directory: Path, aer: Mapping[str, float]) -> None:
    """Layers and heads for a run of one look, by name, each with its alignment error rate.

    The n-th looks n - 1 words further than the run does.
    """
    path = directory / "test" / "alignments.npz"
    with np.load(path) as file:
        arrays = dict(file)
    sizes = list(zip(arrays["rows"], arrays["columns"], strict=True))
    last = np.split(arrays["weights"][-1], arrays["offsets"][1:])
    heads = [
        np.stack([np.roll(cells.reshape(size), head, axis=1).ravel() for head in range(len(aer))])
        for cells, size in zip(last, sizes, strict=True)
    ]
    with atomic_write(path) as file:
        np.savez_compressed(file, **arrays, looks=np.array(list(aer)), look_weights=np.concatenate(heads, axis=1))
    results = json.loads((directory / "test" / "results.json").read_text())
    results["aer_by_look"] = [{"look": name, "shift_0": rate, "shift_-1": None} for name, rate in aer.items()]
    write_json(directory / "test" / "results.json", results)


def leave_training(directory: Path, attention: str, seed: int) -> None:
    """What a training logs on its way, and how its attention looks in the end."""
    speed = 2 if attention != "none" else 1
    columns = ["step", "epoch", "cost/seconds", "cost/target_tokens", "train/loss", "validation/bleu"]
    columns += ["validation/perplexity", "attention/entropy"]
    lines = [",".join(columns)]
    for step in range(50, 6001, 50):
        loss = 0.1 * seed + 5 * math.exp(-step / 1500 * speed)
        row = [step, step / 600, step / 20, step * 1600, loss, "", "", ""]
        if step % 500 == 0:
            row[5:7] = [80 * (1 - math.exp(-step / 2000 * speed)) - seed, math.exp(loss)]
            row[7] = 2.5 * math.exp(-step / 2500) if attention != "none" else ""
        lines.append(",".join(map(str, row)))
    (directory / "metrics.csv").write_text("\n".join(lines) + "\n")
    if attention != "none":
        path = directory / "test" / "results.json"
        results = json.loads(path.read_text())
        results["attention_by_length"] = [
            {"lo": bucket["lo"], "hi": bucket["hi"], "n": bucket["n"]}
            | {"entropy": 0.4 + place / 20 + seed / 50, "sharpness": 0.9 - place / 30, "coverage": 0.8 - place / 50}
            | {"monotonicity": 0.85 - seed / 90, "diagonality": 0.9 - place / 40}
            for place, bucket in enumerate(results["by_length"])
        ]
        quality = {"precision": 0.9, "recall": 0.8}
        results["aer"] = {"sentences": 295, "shift_0": {"aer": 0.1 + seed / 100, **quality}}
        results["aer"]["shift_-1"] = {"aer": 0.6 + seed / 100, **quality}
        write_json(path, results)


@pytest.fixture(scope="session")
def make_run_at() -> Callable[..., Path]:
    """`make_run_at(directory, attention, seed, …)` fabricates a run directory anywhere."""
    return fabricate


@pytest.fixture
def make_run(tmp_path) -> Callable[..., Path]:
    """`make_run(name, attention, seed, …)` fabricates a run directory under `tmp_path`."""
    return lambda name, *arguments, **options: fabricate(tmp_path / name, *arguments, **options)
