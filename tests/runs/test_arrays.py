"""Damaged counts: what is no file of ours is one line with its name, and never a number that is wrong in silence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookback.common.errors import InputError
from lookback.evaluation import segments_of
from lookback.runs import read_run
from lookback.runs.alignments import read_alignments
from lookback.runs.budgets import read_budgets

READERS: dict[str, Callable[[Path], object]] = {
    "segments": lambda path: segments_of(read_run(path.parents[1])),
    "budgets": read_budgets,
    "alignments": read_alignments,
}


@pytest.fixture
def run(make_run: Callable[..., Path]) -> Path:
    return make_run("a", "dot", lengths=[length for length in range(1, 21) for _ in range(5)], updates=1000)


def change(path: Path, **arrays: Any) -> None:
    with np.load(path) as file:
        known = dict(file)
    np.savez_compressed(path, **{**known, **arrays})


@pytest.mark.parametrize("name", READERS)
def test_one_array_under_the_name_of_several(run: Path, name: str) -> None:
    path = run / "test" / f"{name}.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InputError, match=rf"{name}\.npz: File is not a zip file; expected") as caught:
        READERS[name](path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "array", "value"),
    [
        ("segments", "source_length", np.array(3)),
        ("segments", "source_length", np.array(["a"] * 100)),
        ("segments", "bleu_statistics", np.zeros((100, 10), complex)),
        ("segments", "bleu_statistics", np.full((100, 10), -1)),
        ("segments", "position_statistics", np.full((100, 16), np.nan)),
        ("budgets", "shares", np.array([0.1, 0.5, np.nan, 1.0])),
        ("budgets", "updates", np.array(["a", "b", "c", "d"])),
        ("budgets", "ids", np.array(1)),
        ("alignments", "epochs", np.full(6, np.inf)),
        ("alignments", "ids", np.array(1)),
        ("alignments", "weights", np.array([["a"]])),
        ("alignments", "sure", np.array([[0.5, 1, 1]])),
    ],
)
def test_an_array_of_another_kind(run: Path, name: str, array: str, value: object) -> None:
    path = run / "test" / f"{name}.npz"
    change(path, **{array: value})
    with pytest.raises(InputError, match=rf"{name}\.npz: {array} ") as caught:
        READERS[name](path)
    assert "\n" not in str(caught.value)


def test_many_arrays_that_unpack_to_much_are_refused_together(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookback.runs.arrays._LEAST", 1_000_000)
    path = run / "test" / "alignments.npz"
    change(path, ids=np.zeros(90_000, int))
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match=r"alignments\.npz: source has shape"):  # it is read
        read_alignments(path)
    change(path, rows=np.zeros(90_000, int))
    with pytest.raises(InputError, match=r"alignments\.npz: .*its arrays are of 1,\d+,\d+ bytes; expected"):
        read_alignments(path)


def test_counts_of_another_run_are_refused(run: Path, make_run: Callable[..., Path]) -> None:
    """They would give one run two scores: one in its results, another in every interval."""
    lengths = [length for length in range(1, 21) for _ in range(5)]
    other = make_run("b", "dot", 2, lengths=lengths, slope=0.02)
    path = run / "test" / "segments.npz"
    path.write_bytes((other / "test" / "segments.npz").read_bytes())
    with pytest.raises(InputError, match=r"a/test/segments\.npz: its counts give BLEU .*, results\.json says"):
        segments_of(read_run(run))


def test_counts_of_other_matches_are_refused(run: Path) -> None:
    path = run / "test" / "segments.npz"
    with np.load(path) as file:
        counts = file["bleu_statistics"]
    change(path, bleu_statistics=counts[:, [*range(2), *range(6, 10), *range(6, 10)]])
    with pytest.raises(InputError, match=r"segments\.npz: its counts give BLEU"):
        segments_of(read_run(run))


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_character_that_is_none(run: Path, order: str) -> None:
    path = run / "test" / "alignments.npz"
    with np.load(path) as file:
        source = file["source"].astype(file["source"].dtype.newbyteorder(order))
    change(path, source=source)
    assert read_alignments(path).sentences
    source.view(f"{order}u4")[0] = 0x110000
    change(path, source=source)
    with pytest.raises(InputError, match=r"alignments\.npz: source holds a character that is none; expected"):
        read_alignments(path)
