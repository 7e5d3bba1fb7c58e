"""What is counted once for each sentence, so that every later number is arithmetic: `test/segments.npz`."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from lookback.errors import InputError
from lookback.evaluation.bleu import COLUMNS as BLEU_COLUMNS
from lookback.evaluation.bleu import sentence_statistics
from lookback.evaluation.chrf import COLUMNS as CHRF_COLUMNS
from lookback.evaluation.chrf import chrf_statistics
from lookback.evaluation.files import atomic_write
from lookback.evaluation.predictions import Prediction
from lookback.evaluation.ter import COLUMNS as TER_COLUMNS
from lookback.evaluation.ter import ter_statistics


class MissingCounts(InputError):
    """A segments.npz that lacks arrays, as one of an earlier version does: its predictions are to be counted anew."""


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
    """(sentences, 10), see `lookback.evaluation.bleu.sentence_statistics`"""
    chrf_statistics: NDArray[np.int64]
    """(sentences, 18), see `lookback.evaluation.chrf.chrf_statistics`"""
    ter_statistics: NDArray[np.int64]
    """(sentences, 2), see `lookback.evaluation.ter.ter_statistics`"""

    def __post_init__(self) -> None:
        sentences = len(self.source_length)
        for name, shape in _shapes(sentences).items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} has shape {getattr(self, name).shape}, expected {shape}")

    def __len__(self) -> int:
        return len(self.source_length)

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "Segments":
        """The sentences that a mask or an index array chooses."""
        return Segments(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})

    @classmethod
    def of(cls, predictions: Sequence[Prediction], tokenize: str) -> "Segments":
        """Count the predictions' sentences, with sacrebleu's tokenizer `tokenize` for the BLEU statistics."""
        hypotheses = [prediction.hypothesis for prediction in predictions]
        references = [prediction.reference for prediction in predictions]
        return cls(
            source_length=np.array([prediction.source_length for prediction in predictions], dtype=np.int64),
            reference_length=np.array([len(text.split()) for text in references], dtype=np.int64),
            hypothesis_length=np.array([len(text.split()) for text in hypotheses], dtype=np.int64),
            truncated=np.array([prediction.truncated for prediction in predictions], dtype=np.bool_),
            bleu_statistics=sentence_statistics(hypotheses, references, tokenize),
            chrf_statistics=chrf_statistics(hypotheses, references),
            ter_statistics=ter_statistics(hypotheses, references),
        )

    def save(self, path: Path | str) -> None:
        """Write a compressed `.npz` with an array a field."""
        with atomic_write(path) as file:
            np.savez_compressed(file, **{field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def load(cls, path: Path | str) -> "Segments":
        """Read what `save` wrote. Raises `InputError` for anything else, `MissingCounts` where arrays are missing."""
        names = [field.name for field in fields(cls)]
        expected = f"expected a segments.npz with the arrays {', '.join(names)}"
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in names if name in file}
            if len(arrays) == len(names):
                return cls(**arrays)
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise InputError(f"{path}: {error}; {expected}") from None
        raise MissingCounts(f"{path}: no {', '.join(name for name in names if name not in arrays)}; {expected}")


def _shapes(sentences: int) -> dict[str, tuple[int, ...]]:
    columns = {"bleu_statistics": BLEU_COLUMNS, "chrf_statistics": CHRF_COLUMNS, "ter_statistics": TER_COLUMNS}
    counted_once = {field.name: (sentences,) for field in fields(Segments)}
    return counted_once | {name: (sentences, number) for name, number in columns.items()}
