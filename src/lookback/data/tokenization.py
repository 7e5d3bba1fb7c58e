"""Recipes: how the tokenizers of a corpus are learnt from its training sentences, or where they come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
from tokenizers import models, normalizers

from lookback.data.backend import word_backend
from lookback.data.tokenizer import Tokenizer
from lookback.data.words import units
from lookback.errors import InputError
from lookback.symbols import SYMBOLS, UNK

Column = Callable[[str], Iterator[pa.Array]]


class Tokenization(ABC):
    """What gives a pair of tokenizers. Its `repr` is its identity: equal ones learn the same from the same sentences.

    joint: whether one tokenizer serves both sides.
    """

    joint: bool

    def learn(self, column: Column) -> tuple[Tokenizer, Tokenizer]:
        """The tokenizers of the source and the target; the same object twice if `joint`.

        They depend on the sentences alone, not on the machine or the number of its threads.

        Args:
            column: gives the training sentences of "source" or "target" as arrays of strings, as often as it is asked.

        Errors: InputError if the sentences leave nothing to learn.
        """
        if self.joint:
            both = self._learnt(lambda: chain(column("source"), column("target")))
            return both, both
        return self._learnt(lambda: column("source")), self._learnt(lambda: column("target"))

    @abstractmethod
    def _learnt(self, texts: Callable[[], Iterator[pa.Array]]) -> Tokenizer: ...


@dataclass(frozen=True)
class WordTokenization(Tokenization):
    """Words as `str.split()` gives them: the most frequent ones, of equally frequent ones the first in code-point order.

    All others become `<unk>`.

    Args:
        vocabulary_size: ids of each tokenizer at most, the four symbols included.
        min_frequency: a word that occurs less often is left out.
        lowercase: whether upper case is read as lower case; decoding gives lower case.
        joint: whether one tokenizer serves both sides.

    Errors: ValueError if `vocabulary_size` leaves no room for a word or `min_frequency` is below 1; `learn` raises
    InputError if no word is left.
    """

    vocabulary_size: int = 30000
    min_frequency: int = 1
    lowercase: bool = False
    joint: bool = False

    def __post_init__(self) -> None:
        _check_size(self.vocabulary_size, len(SYMBOLS), "the symbols take these")
        if self.min_frequency < 1:
            raise ValueError(f"min_frequency: {self.min_frequency}, expected 1 or more")

    def _learnt(self, texts: Callable[[], Iterator[pa.Array]]) -> Tokenizer:
        # Not the library's trainer: a word of the text that is spelt like a symbol would take the symbol's id.
        counts: Counter[str] = Counter()
        for unit, count in _unit_counts(texts()):
            for word in unit.split():
                counts[word] += count
        if self.lowercase:
            # the library's lower case: Python's differs in a few letters
            lower = normalizers.Lowercase()
            upper, counts = counts, Counter()
            for word, count in upper.items():
                counts[lower.normalize_str(word)] += count
        for symbol in SYMBOLS:
            counts.pop(symbol, None)
        frequent = sorted((-count, word) for word, count in counts.items() if count >= self.min_frequency)
        if not frequent:
            raise InputError(
                f"tokenizer.min_frequency: {self.min_frequency}, but no word of the training sentences occurs so often; "
                f"expected at most {max(counts.values(), default=0)}"
                if counts
                else "data.train: the training sentences have no words, expected text"
            )
        words = (*SYMBOLS, *(word for _, word in frequent[: self.vocabulary_size - len(SYMBOLS)]))
        model = models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=SYMBOLS[UNK])
        return Tokenizer(word_backend(model, self.lowercase))


def _check_size(vocabulary_size: int, taken: int, by: str) -> None:
    if vocabulary_size <= taken:
        raise ValueError(f"vocabulary_size: {vocabulary_size}, expected more than {taken} ({by})")


def _unit_counts(texts: Iterator[pa.Array]) -> Iterator[tuple[str, int]]:
    """Every unit with its count, some ten thousand sentences at a time."""
    for array in texts:
        for part in units(array):
            yield from zip(part.distinct, np.bincount(part.codes, minlength=len(part.distinct)).tolist(), strict=True)
