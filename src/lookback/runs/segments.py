"""What is counted once for each sentence, so that every later number is arithmetic: `test/segments.npz`."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookback.common.errors import InputError
from lookback.common.files import atomic_write
from lookback.runs.arrays import COUNTS, Kind, read_arrays


class MissingCounts(InputError):
    """A segments.npz that lacks arrays, as one of an earlier version does: its predictions are to be counted anew.

    `arrays` has those that it holds, by the names of the fields of `Segments`.
    """

    def __init__(self, said: str, arrays: dict[str, NDArray[Any]]) -> None:
        super().__init__(said)
        self.arrays = arrays


@dataclass(frozen=True, eq=False)
class Segments:
    """Counts of every sentence of a scored test set, in its order.

    Lengths are in words: of a source as its prediction has it, of a reference and a hypothesis what `str.split` gives.
    """

    source_length: NDArray[np.int64]
    """(sentences,)"""
    reference_length: NDArray[np.int64]
    """(sentences,)"""
    hypothesis_length: NDArray[np.int64]
    """(sentences,)"""
    truncated: NDArray[np.bool_]
    """(sentences,) True where the search met its length limit"""
    bleu_statistics: NDArray[np.int64]
    """(sentences, 10), see `lookback.evaluation.scores.bleu.sentence_statistics`"""
    chrf_statistics: NDArray[np.int64]
    """(sentences, 18), see `lookback.evaluation.scores.chrf.chrf_statistics`"""
    ter_statistics: NDArray[np.int64]
    """(sentences, 2), see `lookback.evaluation.scores.ter.ter_statistics`"""
    repetition_statistics: NDArray[np.int64]
    """(sentences, 2), see `lookback.evaluation.scores.repetition.repetition_statistics`"""
    trigram_statistics: NDArray[np.int64]
    """(sentences, 2), see `lookback.evaluation.scores.repetition.trigram_statistics`"""
    reading_statistics: NDArray[np.int64]
    """(sentences, 2), see `lookback.evaluation.scores.reading.reading_statistics`; 0 of 0 words where nothing looks"""
    position_statistics: NDArray[np.float64] | None = None
    """(sentences, 16), see `lookback.evaluation.scores.recall.recall_statistics`; None without gold links"""

    def __post_init__(self) -> None:
        sentences = len(self.source_length)
        expected = _shapes(sentences)
        for name, array in self._arrays().items():
            if array.shape != expected[name]:
                raise ValueError(f"{name} has shape {array.shape}, expected {expected[name]}")

    def __len__(self) -> int:
        return len(self.source_length)

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "Segments":
        """The sentences that a mask or an index array chooses."""
        return Segments(**{name: array[chosen] for name, array in self._arrays().items()})

    def save(self, path: Path | str) -> None:
        """Write a compressed `.npz` with an array for each field that is not None."""
        with atomic_write(path) as file:
            np.savez_compressed(file, **self._arrays())  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path | str) -> "Segments":
        """Read what `save` wrote. Raises `InputError` for anything else, `MissingCounts` where arrays are missing."""
        names = [field.name for field in fields(cls) if field.name not in _OPTIONAL]
        expected = f"expected a segments.npz with the arrays {', '.join(names)}"
        arrays = read_arrays(path, _KINDS, expected)
        if all(name in arrays for name in names):
            try:
                return cls(**arrays)
            except ValueError as error:
                raise InputError(f"{path}: {error}; {expected}") from None
        raise MissingCounts(f"{path}: no {', '.join(name for name in names if name not in arrays)}; {expected}", arrays)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """What is there, by the names of the fields."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: array for name, array in arrays.items() if array is not None}


_OPTIONAL = ("position_statistics",)
_KINDS = {
    "source_length": COUNTS,
    "reference_length": COUNTS,
    "hypothesis_length": COUNTS,
    "truncated": Kind("b", 1),
    "bleu_statistics": Kind("iu", 2),
    "chrf_statistics": Kind("iu", 2),
    "ter_statistics": Kind("iu", 2),
    "repetition_statistics": Kind("iu", 2),
    "trigram_statistics": Kind("iu", 2),
    "reading_statistics": Kind("iu", 2),
    "position_statistics": Kind("f", 2),
}


def _shapes(sentences: int) -> dict[str, tuple[int, ...]]:
    columns = {
        "bleu_statistics": 10,
        "chrf_statistics": 18,
        "ter_statistics": 2,
        "repetition_statistics": 2,
        "trigram_statistics": 2,
        "reading_statistics": 2,
        "position_statistics": 16,
    }
    counted_once = {field.name: (sentences,) for field in fields(Segments)}
    return counted_once | {name: (sentences, number) for name, number in columns.items()}
