"""Run directories made up for the tests: what a training would leave, with BLEU that falls with length as asked."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import yaml

from lookback.evaluation import TRAINING_DATA, Prediction, Segments, results, write_json, write_predictions

VOCABULARY = [f"w{index}" for index in range(200)]
COST = {
    "parameters": 2_412_345,
    "updates": 6000,
    "target_tokens": 9_876_543,
    "seconds": 287.4,
    "tokens_per_second": 34_365.1,
    "peak_memory_mb": 1234.5,
    "waiting": 0.012,
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
) -> Path:
    """A run whose words are wrong with probability `slope` times the source length."""
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
    choices = {"hydra": {"runtime": {"choices": {"attention": attention}}}}
    (directory / ".hydra").mkdir(parents=True)
    (directory / ".hydra" / "config.yaml").write_text(yaml.safe_dump(config))
    (directory / ".hydra" / "hydra.yaml").write_text(yaml.safe_dump(choices))
    write_json(directory / "status.json", {"status": status, "reason": reason, "started": "2026-01-01", "ended": None})
    if scored:
        test_set, chance = random.Random(fingerprint), random.Random(f"{attention}{seed}")
        predictions = []
        for index, length in enumerate(lengths):
            reference = test_set.choices(VOCABULARY, k=length)
            wrong = slope * length * chance.uniform(0.7, 1.3)
            hypothesis = [chance.choice(VOCABULARY) if chance.random() < wrong else word for word in reference]
            texts = " ".join(reference), " ".join(reference), " ".join(hypothesis)
            predictions.append(Prediction(index, *texts, -0.5, length, False))
        segments = Segments.of(predictions, tokenize)
        write_predictions(directory / "test" / "predictions.jsonl", predictions)
        segments.save(directory / "test" / "segments.npz")
        record = results(
            predictions,
            tokenize,
            segments=segments,
            attention=attention,
            seed=seed,
            data="grammar",
            perplexity=1.5,
            aer=None,
            attention_by_length=None,
            cost=COST,
            training_data=dict.fromkeys(TRAINING_DATA),
            versions={},
            git=None,
            data_fingerprint=fingerprint,
        )
        write_json(directory / "test" / "results.json", record)
    return directory


@pytest.fixture(scope="session")
def make_run_at() -> Callable[..., Path]:
    """`make_run_at(directory, attention, seed, …)` fabricates a run directory anywhere."""
    return fabricate


@pytest.fixture
def make_run(tmp_path) -> Callable[..., Path]:
    """`make_run(name, attention, seed, …)` fabricates a run directory under `tmp_path`."""
    return lambda name, *arguments, **options: fabricate(tmp_path / name, *arguments, **options)
