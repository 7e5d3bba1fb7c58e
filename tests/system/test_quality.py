"""A small network learns to copy, or the program does not work."""

from pathlib import Path
from typing import Any

import pytest

from support.running import compose, copy_task

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("digits")
    files = copy_task(folder, {"train": 4000, "validation": 100, "test": 200}, 2, 14)
    return ["data=text", "data.bleu_tokenize=none", "data.train_max_length=null", *files]


def learn(directory: Path, digits: list[str], attention: str) -> dict[str, Any]:
    from lookback.training.fit import train

    options = [
        *("encoder.embedding_size=32", "encoder.hidden_size=32"),
        *("decoder.embedding_size=32", "decoder.hidden_size=64", "decoder.readout_size=32"),
        *("batch.size=32", "trainer.max_epochs=5", "trainer.accelerator=cpu", "optimizer.lr=0.005"),
        *("logger=csv", "search=greedy", "validation_sentences=20", "initialization.deviation=0.1"),
    ]
    return train(compose(directory, *digits, *options, f"attention={attention}", tiny=False), directory)


def test_attention_copies_and_a_fixed_vector_does_not(tmp_path: Path, digits: list[str]) -> None:
    looking = learn(tmp_path / "bahdanau", digits, "bahdanau")
    fixed = learn(tmp_path / "none", digits, "none")
    print(f"bahdanau {looking['bleu']:.1f} in {looking['cost']['seconds']:.0f} s, none {fixed['bleu']:.1f}")
    assert looking["bleu"] > 90
    long = 1
    assert looking["by_length"][long]["bleu"] > 90
    assert fixed["by_length"][long]["bleu"] < looking["by_length"][long]["bleu"] - 30
