"""From text to token ids and back, with a ``tokenizers.Tokenizer``."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa
import tokenizers

from lookback.common.errors import InputError
from lookback.common.files import atomic_write
from lookback.common.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS, UNK
from lookback.common.words import word_starts
from lookback.data.tokenizers.backend import looks_across_spaces, saved_backend
from lookback.data.units import slices, sums, units

_IDS_WITHOUT_TEXT = (PAD, BOS, EOS)
_MOST_CACHED_UNITS = 100_000  # units whose ids are remembered, about


class Tokenizer:
    """Turns text into token ids and back. The backend decides whether tokens are words, subwords or characters.

    The first four ids are ``lookback.common.special_tokens``. Text never becomes one of PAD, BOS and EOS: a ``</s>`` in
    the text is a word like any other, spelt with smaller pieces, or UNK where there are none.

    Args:
        backend: a tokenizer of the ``tokenizers`` library, whose ids 0 to 3 are ``<pad> <unk> <s> </s>``.

    Raises:
        ValueError: if these ids are anything else.
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        found = tuple(backend.id_to_token(i) for i in range(len(SPECIAL_TOKENS)))
        if found != SPECIAL_TOKENS:
            raise ValueError(f"backend: ids 0 to 3 are {found}, expected {SPECIAL_TOKENS}")
        backend.encode_special_tokens = True  # not part of tokenizer.json: set on every load
        self._backend = backend
        self._across_spaces = looks_across_spaces(backend)
        self._known = _IdLists()
        self._lock = Lock()  # a joint tokenizer encodes both sides at once

    def __len__(self) -> int:
        """The number of ids, the four special tokens included."""
        return self._backend.get_vocab_size()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """One list of ids for each text, without BOS and EOS. The empty text gives an empty list."""
        encodings = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [_without_special(encoding.ids) for encoding in encodings]

    def encode_column(self, texts: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
        """The ids that ``encode`` gives, for a whole column of strings; much faster if no token spans a space.

        Returns:
            (tokens,) int32, the ids of all texts one after the other; and (N,) int64, how many each text has.
        """
        ids, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
        for part_ids, part_lengths in self._by_texts(texts) if self._across_spaces else self._by_units(texts):
            ids.append(part_ids)
            lengths.append(part_lengths)
        return np.concatenate(ids), np.concatenate(lengths)

    def _by_texts(self, texts: pa.Array | pa.ChunkedArray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for part in slices(texts):
            lists = _IdLists()
            lists.append(self.encode(part.to_pylist()))
            yield lists.ids, lists.lengths

    def _by_units(self, texts: pa.Array | pa.ChunkedArray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for part in units(texts):
            with self._lock:
                rows = self._rows(part.distinct)[part.codes]
                # these arrays may be replaced but are never changed, so the lock is not needed below
                known_ids, known_lengths = self._known.ids, self._known.lengths
            lengths = known_lengths[rows]
            starts = (np.cumsum(known_lengths) - known_lengths)[rows]
            yield _segments(known_ids, starts, lengths), sums(lengths, part.lengths)

    def _rows(self, distinct: Sequence[str]) -> np.ndarray:
        """(units,): the row of each unit in ``self._known``. Units that are not there yet are encoded and added."""
        known = self._known
        if len(known.row) > _MOST_CACHED_UNITS:
            known = self._known = _IdLists()
        new = [unit for unit in distinct if unit not in known.row]
        if new:
            table = self.encode(new)
            if "" in new:
                # A text of one space consists of two empty units. Encoded alone, an empty unit would be the empty text.
                [spaces] = self.encode([" "])
                table[new.index("")] = spaces[: len(spaces) // 2]
            known.row.update(zip(new, range(len(known.row), len(known.row) + len(new)), strict=True))
            known.append(table)
        return np.fromiter((known.row[unit] for unit in distinct), np.int64, len(distinct))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids``, without PAD, BOS and EOS. UNK is written ``<unk>``.

        Where tokens are pieces of words, ``decode(encode([text])[0]) == text``. Where they are words, all of them in
        the vocabulary, it is ``" ".join(text.split())``.
        """
        return self._backend.decode([int(i) for i in ids if i not in _IDS_WITHOUT_TEXT], skip_special_tokens=False)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """The token of each id, as it stands in the vocabulary."""
        return [str(self._backend.id_to_token(int(i))) for i in ids]

    def pieces(self, text: str) -> tuple[list[int], list[int]]:
        """The ids that ``encode`` gives, and for each id the index of its word in ``alignment_words(text)``.

        The indices never decrease. White space belongs to the word after it, or at the end of the text to the last
        word.
        """
        encoding = self._backend.encode(text, add_special_tokens=False)
        _, places = _word_of_each_token(text, [start for start, _ in encoding.offsets])
        return _without_special(encoding.ids), places

    def unknown_words(self, text: str) -> list[str]:
        """The words of ``text``, as ``alignment_words`` has them, that hold a token outside the vocabulary."""
        ids, places = self.pieces(text)
        words = self.alignment_words(text)
        return [words[place] for place in sorted({place for i, place in zip(ids, places, strict=True) if i == UNK})]

    def alignment_words(self, text: str) -> list[str]:
        """The words that alignments link: those of ``str.split()``, with exceptions. No token is part of two words.

        In a script without spaces, a word begins with every token that begins with a character of that script or right
        after one. A text of white space alone is one empty word if it has tokens, and has no words otherwise.
        """
        encoding = self._backend.encode(text, add_special_tokens=False)
        return _word_of_each_token(text, [start for start, _ in encoding.offsets])[0]

    def words_of(self, ids: Sequence[int]) -> tuple[list[str], list[int]]:
        """The words of the text that ``ids`` decode to, and for each id the index of its word, as in ``pieces``."""
        text = self.decode(ids)
        return _word_of_each_token(text, [_shared_prefix(self.decode(ids[:end]), text) for end in range(len(ids))])

    def to_json(self) -> str:
        """The tokenizer as the ``tokenizers`` library writes it. Equal tokenizers give equal text."""
        return self._backend.to_str(pretty=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a tokenizer.json of the ``tokenizers`` library, which ``tokenizers.Tokenizer.from_file`` reads."""
        with atomic_write(Path(path)) as file:
            file.write((self.to_json() + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tokenizer:
        """Read what ``save`` wrote.

        Raises:
            InputError: if the file is missing, is no tokenizer.json, or has other tokens at the ids 0 to 3.
        """
        path = Path(path)
        if not path.is_file():
            raise InputError(f"{path}: no such file, expected a tokenizer.json")
        try:
            return cls(saved_backend(path))
        except Exception as error:  # the library raises bare Exception on malformed input
            said = " ".join(str(error).split())[:200]
            raise InputError(f"{path}: not a tokenizer of this project ({said}), expected one that it saved") from error


class _IdLists:
    """The ids of each unit in two arrays, without a Python object for each.

    Attributes:
        row: the index in ``lengths`` of each unit.
        ids: (tokens,) int32, the ids of all lists.
        lengths: (lists,) int64, how many each list has.
    """

    def __init__(self) -> None:
        self.row: dict[str, int] = {}
        self.ids = np.zeros(0, np.int32)
        self.lengths = np.zeros(0, np.int64)

    def append(self, table: Sequence[Sequence[int]]) -> None:
        lengths = np.fromiter(map(len, table), np.int64, len(table))
        ids = np.fromiter(chain.from_iterable(table), np.int32, lengths.sum())
        self.ids = np.concatenate([self.ids, ids])
        self.lengths = np.concatenate([self.lengths, lengths])


def _without_special(ids: Sequence[int]) -> list[int]:
    return [UNK if i in _IDS_WITHOUT_TEXT else i for i in ids]


def _segments(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The segments ``values[start : start + length]``, one after the other."""
    ends = np.cumsum(lengths)
    return values[np.arange(lengths.sum()) + np.repeat(starts - (ends - lengths), lengths)]


def _word_of_each_token(text: str, starts: Sequence[int]) -> tuple[list[str], list[int]]:
    """The alignment words of ``text``, and the index of each token's word.

    Args:
        text: the text.
        starts: the character at which each token begins.
    """
    # a token begins where its word does, not at the space before it
    starts = [start + len(text[start:]) - len(text[start:].lstrip()) for start in starts]
    token_starts = set(starts)
    begins = [i for i in word_starts(text) if i == 0 or text[i - 1].isspace() or i in token_starts]
    if not begins:
        return [text.strip()] * bool(starts), [0] * len(starts)
    words = [text[begin:end].rstrip() for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]
    return words, list(accumulate((max(bisect_right(begins, start) - 1, 0) for start in starts), max))


def _shared_prefix(prefix: str, text: str) -> int:
    """The length of the common prefix: that of ``prefix``, unless ``prefix`` ends with half a character."""
    if text.startswith(prefix):
        return len(prefix)
    return next((i for i, (a, b) in enumerate(zip(prefix, text, strict=False)) if a != b), len(text))
