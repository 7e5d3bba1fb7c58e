"""`test/budgets.npz`: what a run scored at moments of its training. An array a field of `Budgets`."""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lookback.common.errors import InputError
from lookback.common.files import atomic_write
from lookback.runs.arrays import COUNTS, Kind, read_arrays

_COLUMNS = 10


@dataclass(frozen=True, eq=False)
class Budgets:
    """A sample of the test set, translated by one run at moments of its training."""

    ids: NDArray[np.int64]
    """(sentences,) row in the test set"""
    source_length: NDArray[np.int64]
    """(sentences,) in words of the raw source"""
    updates: tuple[int, ...]
    """Updates before each moment, rising"""
    shares: tuple[float, ...]
    """The same as shares of the updates that were planned, 0..1"""
    statistics: NDArray[np.int64]
    """(moments, sentences, 10), what BLEU counts (`lookback.evaluation.sentence_statistics`)"""
    target_tokens: tuple[int, ...]
    """Target tokens trained on before each moment"""


def write_budgets(path: Path | str, budgets: Budgets) -> None:
    """Write the file, whole or not at all."""
    with atomic_write(path) as file:
        arrays = {field.name: np.array(getattr(budgets, field.name)) for field in fields(budgets)}
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def read_budgets(path: Path | str) -> Budgets:
    """Read what a training wrote. Raises `InputError` for anything else, and where the arrays do not fit together."""
    expected = "expected a budgets.npz that a training wrote"
    arrays = read_arrays(path, _KINDS, expected)
    if missing := [name for name in _KINDS if name not in arrays]:
        raise InputError(f"{path}: no {', '.join(missing)}; {expected}")
    moments, sentences = len(arrays["updates"]), len(arrays["ids"])
    shapes: dict[str, tuple[int, ...]] = {
        "source_length": (sentences,),
        "shares": (moments,),
        "target_tokens": (moments,),
        "statistics": (moments, sentences, _COLUMNS),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise InputError(f"{path}: {name} has shape {arrays[name].shape}, expected {shape}")
    if not moments or not sentences:
        raise InputError(f"{path}: {moments} moments of {sentences} sentences, expected some of both")
    return Budgets(
        arrays["ids"],
        arrays["source_length"],
        tuple(int(updates) for updates in arrays["updates"]),
        tuple(float(share) for share in arrays["shares"]),
        arrays["statistics"],
        tuple(int(tokens) for tokens in arrays["target_tokens"]),
    )


_KINDS = {
    "ids": COUNTS,
    "source_length": COUNTS,
    "updates": COUNTS,
    "shares": Kind("f", 1),
    "statistics": Kind("iu", 3),
    "target_tokens": COUNTS,
}
