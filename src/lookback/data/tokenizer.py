"""From text to symbol ids and back, on a `tokenizers.Tokenizer`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import tokenizers
from tokenizers import models

from lookback.data.backend import looks_across_spaces, word_backend
from lookback.data.words import sums, units, whole
from lookback.errors import InputError
from lookback.symbols import BOS, EOS, PAD, SYMBOLS, UNK

_MARKS = (PAD, BOS, EOS)


class Tokenizer:
    """Turns text into ids and ids into text; what a piece is (word, subword, character) is the wrapped object's matter.

    The first four ids are `lookback.symbols`. Text cannot smuggle them in: a `</s>` that stands in the text is a word
    like any other, and an unknown one.

    Args:
        backend: a tokenizer of the `tokenizers` library, whose ids 0..3 are `<pad> <unk> <s> </s>`.

    Errors: ValueError if these ids are anything else.
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        found = tuple(backend.id_to_token(i) for i in range(len(SYMBOLS)))
        if found != SYMBOLS:
            raise ValueError(f"backend: ids 0 to 3 are {found}, expected {SYMBOLS}")
        backend.encode_special_tokens = True  # not part of tokenizer.json: set on every load
        self._backend = backend
        self._across_spaces = looks_across_spaces(backend)

    def __len__(self) -> int:
        """The number of ids, the four symbols included."""
        return self._backend.get_vocab_size()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """One list of ids a text. No begin or end mark is added; a text without words gives an empty list."""
        encodings = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [[UNK if i in _MARKS else i for i in encoding.ids] for encoding in encodings]

    def encode_column(self, texts: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
        """The ids that `encode` gives, of a whole column of strings: much faster where spaces part the words.

        Returns: the ids of all texts one after the other (tokens,) int32, and how many each text has (N,) int64.
        """
        ids, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
        for part in whole(texts) if self._across_spaces else units(texts):
            table = self.encode(part.distinct)
            if not self._across_spaces and "" in part.distinct:
                # alone it would be the empty text, but here it stands between spaces: a text of one space has two
                [spaces] = self.encode([" "])
                table[part.distinct.index("")] = spaces[: len(spaces) // 2]
            sizes = np.fromiter(map(len, table), np.int64, len(table))
            flat = np.fromiter(chain.from_iterable(table), np.int32, sizes.sum())
            each = sizes[part.codes]
            ids.append(_runs(flat, (np.cumsum(sizes) - sizes)[part.codes], each))
            lengths.append(sums(each, part.lengths))
        return np.concatenate(ids), np.concatenate(lengths)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`. Padding, begin and end marks are left out; an unknown word is written `<unk>`.

        For word-level text inside the vocabulary, `decode(encode([text])[0]) == " ".join(text.split())`.
        """
        return self._backend.decode([int(i) for i in ids if i not in _MARKS], skip_special_tokens=False)

    def to_json(self) -> str:
        """The tokenizer as the `tokenizers` library writes it: equal tokenizers give equal text."""
        return self._backend.to_str(pretty=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one tokenizer.json of the `tokenizers` library, readable by `tokenizers.Tokenizer.from_file`."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_text(self.to_json() + "\n", encoding="utf-8")
        os.replace(temporary, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tokenizer:
        """Read what `save` wrote.

        Errors: InputError if the file is missing, is no tokenizer.json, or has other symbols at ids 0..3.
        """
        path = Path(path)
        if not path.is_file():
            raise InputError(f"{path}: no such file, expected a tokenizer.json")
        try:
            return cls(tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8")))
        except Exception as error:  # the library raises bare Exception on malformed input
            raise InputError(f"{path}: not a tokenizer of this project: {error}") from error


def _runs(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The runs `values[start : start + length]`, one after the other."""
    ends = np.cumsum(lengths)
    if not len(ends):
        return values[:0]
    return values[np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)]


def train_word_tokenizer(texts: Iterable[str], vocabulary_size: int, min_frequency: int = 1) -> Tokenizer:
    """A word-level tokenizer whose words are exactly those of `str.split()`.

    The shortlist is the most frequent words, of equally frequent ones the first in code-point order; all others become
    `<unk>`. The same texts, in any order, give the same tokenizer.

    Args:
        texts: the training sentences.
        vocabulary_size: number of ids at most, the four symbols included.
        min_frequency: a word that occurs less often is left out.

    Errors: ValueError if `vocabulary_size` leaves no room for a word or `min_frequency` is below 1.
    """
    if vocabulary_size <= len(SYMBOLS):
        raise ValueError(
            f"vocabulary_size: {vocabulary_size}, expected more than {len(SYMBOLS)} (the symbols take these)"
        )
    if min_frequency < 1:
        raise ValueError(f"min_frequency: {min_frequency}, expected 1 or more")
    # Not the library's trainer: a word of the text that is spelt like a symbol would take the symbol's id.
    counts = Counter(word for text in texts for word in text.split())
    for symbol in SYMBOLS:
        counts.pop(symbol, None)
    frequent = sorted((-count, word) for word, count in counts.items() if count >= min_frequency)
    words = (*SYMBOLS, *(word for _, word in frequent[: vocabulary_size - len(SYMBOLS)]))
    model = models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=SYMBOLS[UNK])
    return Tokenizer(word_backend(model, lowercase=False))
