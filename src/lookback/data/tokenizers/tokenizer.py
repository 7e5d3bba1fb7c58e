"""From text to symbol ids and back, on a `tokenizers.Tokenizer`."""

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
from lookback.common.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS, UNK
from lookback.common.words import word_starts
from lookback.data.tokenizers.backend import looks_across_spaces
from lookback.data.units import slices, sums, units

_MARKS = (PAD, BOS, EOS)
_MOST_KEPT = 100_000  # units whose ids are remembered


class Tokenizer:
    """Turns text into ids and ids into text; what a piece is (word, subword, character) is the wrapped object's matter.

    The first four ids are `lookback.common.special_tokens`. Text cannot smuggle them in: a `</s>` that stands in the text is a word
    like any other, and an unknown one where there are no smaller pieces to spell it with.

    Args:
        backend: a tokenizer of the `tokenizers` library, whose ids 0..3 are `<pad> <unk> <s> </s>`.

    Errors: ValueError if these ids are anything else.
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        found = tuple(backend.id_to_token(i) for i in range(len(SPECIAL_TOKENS)))
        if found != SPECIAL_TOKENS:
            raise ValueError(f"backend: ids 0 to 3 are {found}, expected {SPECIAL_TOKENS}")
        backend.encode_special_tokens = True  # not part of tokenizer.json: set on every load
        self._backend = backend
        self._across_spaces = looks_across_spaces(backend)
        self._known = _Rows()
        self._lock = Lock()  # a joint tokenizer encodes both sides at once

    def __len__(self) -> int:
        """The number of ids, the four symbols included."""
        return self._backend.get_vocab_size()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """One list of ids a text. No begin or end mark is added; the empty text gives an empty list."""
        encodings = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [_unmarked(encoding.ids) for encoding in encodings]

    def encode_column(self, texts: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
        """The ids that `encode` gives, of a whole column of strings: much faster where spaces part the words.

        Returns: the ids of all texts one after the other (tokens,) int32, and how many each text has (N,) int64.
        """
        ids, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
        for part_ids, part_lengths in self._whole(texts) if self._across_spaces else self._by_units(texts):
            ids.append(part_ids)
            lengths.append(part_lengths)
        return np.concatenate(ids), np.concatenate(lengths)

    def _whole(self, texts: pa.Array | pa.ChunkedArray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for part in slices(texts):
            rows = _Rows()
            rows.append(self.encode(part.to_pylist()))
            yield rows.ids, rows.lengths

    def _by_units(self, texts: pa.Array | pa.ChunkedArray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for part in units(texts):
            with self._lock:
                rows = self._rows(part.distinct)[part.codes]
                known_ids, known_lengths = self._known.ids, self._known.lengths  # replaced, never written to
            lengths = known_lengths[rows]
            starts = (np.cumsum(known_lengths) - known_lengths)[rows]
            yield _runs(known_ids, starts, lengths), sums(lengths, part.lengths)

    def _rows(self, distinct: Sequence[str]) -> np.ndarray:
        """Where the ids of these units stand in what is known: (units,)."""
        known = self._known
        if len(known.row) > _MOST_KEPT:
            known = self._known = _Rows()
        new = [unit for unit in distinct if unit not in known.row]
        if new:
            table = self.encode(new)
            if "" in new:
                # alone it would be the empty text, but here it stands beside a space: a text of one space has two
                [spaces] = self.encode([" "])
                table[new.index("")] = spaces[: len(spaces) // 2]
            known.row.update(zip(new, range(len(known.row), len(known.row) + len(new)), strict=True))
            known.append(table)
        return np.fromiter((known.row[unit] for unit in distinct), np.int64, len(distinct))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`. Padding, begin and end marks are left out; an unknown word is written `<unk>`.

        For pieces of words `decode(encode([text])[0]) == text`, for words inside the vocabulary
        `" ".join(text.split())`.
        """
        return self._backend.decode([int(i) for i in ids if i not in _MARKS], skip_special_tokens=False)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """The token that each id stands for, as it is in the vocabulary."""
        return [str(self._backend.id_to_token(int(i))) for i in ids]

    def pieces(self, text: str) -> tuple[list[int], list[int]]:
        """The ids that `encode` gives, and the place of each one's word in `alignment_words(text)`, never decreasing.

        White space belongs to the word that follows, or to the last one.
        """
        encoding = self._backend.encode(text, add_special_tokens=False)
        _, places = _grouped(text, [start for start, _ in encoding.offsets])
        return _unmarked(encoding.ids), places

    def alignment_words(self, text: str) -> list[str]:
        """The words that alignments speak of: those of `str.split()`, none of whose pieces are shared.

        Where a script has no spaces, a word begins with every piece that begins with a character of such a script, or
        right behind one. A text of white space alone is one empty word, if it has pieces.
        """
        encoding = self._backend.encode(text, add_special_tokens=False)
        return _grouped(text, [start for start, _ in encoding.offsets])[0]

    def words_of(self, ids: Sequence[int]) -> tuple[list[str], list[int]]:
        """The words of what `ids` decode to, and the place of each id's word in them, as `pieces` has it for a text."""
        text = self.decode(ids)
        return _grouped(text, [_common(self.decode(ids[:end]), text) for end in range(len(ids))])

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


class _Rows:
    """Lists of ids, end to end, and where the one of each unit is."""

    def __init__(self) -> None:
        self.row: dict[str, int] = {}
        self.ids = np.zeros(0, np.int32)
        self.lengths = np.zeros(0, np.int64)

    def append(self, table: Sequence[Sequence[int]]) -> None:
        lengths = np.fromiter(map(len, table), np.int64, len(table))
        ids = np.fromiter(chain.from_iterable(table), np.int32, lengths.sum())
        self.ids = np.concatenate([self.ids, ids])
        self.lengths = np.concatenate([self.lengths, lengths])


def _unmarked(ids: Sequence[int]) -> list[int]:
    return [UNK if i in _MARKS else i for i in ids]


def _runs(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The runs `values[start : start + length]`, end to end."""
    ends = np.cumsum(lengths)
    return values[np.arange(lengths.sum()) + np.repeat(starts - (ends - lengths), lengths)]


def _grouped(text: str, starts: Sequence[int]) -> tuple[list[str], list[int]]:
    """The alignment words of `text`, whose pieces begin at the characters `starts`, and the place of each piece's."""
    # a piece begins where its word does, not at the space before it
    starts = [start + len(text[start:]) - len(text[start:].lstrip()) for start in starts]
    possible = word_starts(text)
    found = set(starts)
    begins = [i for i in possible if i == 0 or text[i - 1].isspace() or i in found]
    if not begins:
        return [text.strip()] * bool(starts), [0] * len(starts)
    words = [text[begin:end].rstrip() for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]
    return words, list(accumulate((max(bisect_right(begins, start) - 1, 0) for start in starts), max))


def _common(prefix: str, text: str) -> int:
    """How many characters of `text` stand at the head of both: all of `prefix`, but for a character cut in two."""
    if text.startswith(prefix):
        return len(prefix)
    return next((i for i, (a, b) in enumerate(zip(prefix, text, strict=False)) if a != b), len(text))
