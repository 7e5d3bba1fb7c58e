"""Learns the tokenizers of a corpus from its training sentences, or reads them from files."""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
from annotated_types import Interval, doc
from tokenizers import models, normalizers, trainers

from lookback.common.checks import FilePath, Size, checked
from lookback.common.errors import InputError
from lookback.common.special_tokens import SPECIAL_TOKENS, UNK
from lookback.data.tokenizers.backend import piece_backend, word_backend
from lookback.data.tokenizers.foreign import renumbered
from lookback.data.tokenizers.tokenizer import Tokenizer
from lookback.data.tokenizers.unigram import unigram_pieces
from lookback.data.units import slices, units

Column = Callable[[str], Iterator[pa.Array]]

_BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))  # the library's names for them
_FIXED_TOKENS = (*SPECIAL_TOKENS, *_BYTE_TOKENS)
_CHARACTER_COVERAGE = (
    0.9995  # share of the text whose characters have a token, as in SentencePiece; others become bytes
)
_LONGEST_PIECE = 16  # characters
_MOST_CHARACTERS = 4_000_000  # characters of distinct words that the unigram learner looks at

Vocabulary = Annotated[
    int,
    Interval(gt=len(SPECIAL_TOKENS), lt=2**24),
    doc(f"a whole number, more than {len(SPECIAL_TOKENS)} (the special tokens take these) and under {2**24:,}"),
]
PieceVocabulary = Annotated[
    int,
    Interval(gt=len(_FIXED_TOKENS), lt=2**24),
    doc(
        f"a whole number, more than {len(_FIXED_TOKENS)} (the special tokens and the bytes take these) "
        f"and under {2**24:,}"
    ),
]


class Tokenization(ABC):
    """How the tokenizers of the two sides are made. Equal ``repr`` and equal sentences give equal tokenizers.

    Attributes:
        joint: whether one tokenizer serves both sides.
    """

    joint: bool

    def learn(self, column: Column) -> tuple[Tokenizer, Tokenizer]:
        """Learn the tokenizers from the training sentences.

        They depend only on the sentences, not on the number of threads.

        Args:
            column: gives the training sentences of "source" or "target" as arrays of strings. It may be called again.

        Returns:
            The tokenizers of the source and the target; the same object twice if ``joint``.

        Raises:
            InputError: if there is nothing to learn from the sentences.
        """
        if self.joint:
            both = self._learnt(lambda: chain(column("source"), column("target")))
            return both, both
        return self._learnt(lambda: column("source")), self._learnt(lambda: column("target"))

    @abstractmethod
    def _learnt(self, texts: Callable[[], Iterator[pa.Array]]) -> Tokenizer: ...


@checked
@dataclass(frozen=True)
class WordTokenization(Tokenization):
    """The most frequent words, as ``str.split()`` gives them. All others become ``<unk>``.

    Equally frequent words are ordered by code points.

    Args:
        vocabulary_size: ids of each tokenizer at most, the four special tokens included.
        min_frequency: words that occur less often are not in the vocabulary.
        lowercase: whether text is lowercased; decoding gives lower case.
        joint: whether one tokenizer serves both sides.

    Raises:
        ValueError: if ``vocabulary_size`` leaves no room for a word or ``min_frequency`` is below 1.
        InputError: from ``learn``, if no word is left.
    """

    vocabulary_size: Vocabulary = 30000
    min_frequency: Size = 1
    lowercase: bool = False
    joint: bool = False

    def _learnt(self, texts: Callable[[], Iterator[pa.Array]]) -> Tokenizer:
        # Not the library's trainer: it would give a word that is spelt like a special token the id of that token.
        counts: Counter[str] = Counter()
        for unit, count in _unit_counts(texts()):
            for word in unit.split():
                counts[word] += count
        if self.lowercase:
            counts = _lowercased(counts)
        for token in SPECIAL_TOKENS:
            counts.pop(token, None)
        if not counts:
            raise _no_words()
        frequent = sorted((-count, word) for word, count in counts.items() if count >= self.min_frequency)
        if not frequent:
            raise InputError(
                f"tokenizer.min_frequency={self.min_frequency}: no word of the training sentences is as frequent; "
                f"expected {max(counts.values())} or less"
            )
        words = (*SPECIAL_TOKENS, *(word for _, word in frequent[: self.vocabulary_size - len(SPECIAL_TOKENS)]))
        model = models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=SPECIAL_TOKENS[UNK])
        return Tokenizer(word_backend(model, self.lowercase))


@checked
@dataclass(frozen=True)
class PieceTokenization(Tokenization):
    """Pieces of words, and bytes for characters without a piece: decoding gives back every text exactly.

    Args:
        vocabulary_size: ids of each tokenizer at most, the four special tokens and 256 bytes included.
        lowercase: whether text is lowercased; decoding gives lower case.
        joint: whether one tokenizer serves both sides.

    Raises:
        ValueError: if ``vocabulary_size`` leaves no room for pieces.
        InputError: from ``learn``, if there are no words.
    """

    vocabulary_size: PieceVocabulary = 8000
    lowercase: bool = False
    joint: bool = False

    @property
    def _learnt_pieces(self) -> int:
        """The number of pieces that may be learnt."""
        return self.vocabulary_size - len(_FIXED_TOKENS)


@checked
@dataclass(frozen=True)
class BPETokenization(PieceTokenization):
    """Byte-pair encoding (Sennrich et al. 2016): the most frequent pair of pieces is joined, again and again."""

    def _learnt(self, texts: Callable[[], Iterator[pa.Array]]) -> Tokenizer:
        characters = _alphabet(texts(), self.lowercase, _CHARACTER_COVERAGE, max(self._learnt_pieces // 2, 1))
        backend = piece_backend(models.BPE(), self.lowercase)
        trainer = trainers.BpeTrainer(
            vocab_size=self._learnt_pieces,
            min_frequency=2,
            initial_alphabet=characters,
            limit_alphabet=len(characters),
            max_token_length=_LONGEST_PIECE,
            show_progress=False,
        )
        sentences = (part.to_pylist() for array in texts() for part in slices(array))
        backend.train_from_iterator(sentences, trainer)
        learnt = json.loads(backend.to_str())["model"]
        pieces = sorted(learnt["vocab"], key=learnt["vocab"].__getitem__)
        return Tokenizer(piece_backend(_bpe(pieces, list(map(tuple, learnt["merges"]))), self.lowercase))


@checked
@dataclass(frozen=True)
class UnigramTokenization(PieceTokenization):
    """A unigram model (Kudo 2018): a text is split in the most probable way."""

    def _learnt(self, texts: Callable[[], Iterator[pa.Array]]) -> Tokenizer:
        characters = _alphabet(texts(), self.lowercase, _CHARACTER_COVERAGE, max(self._learnt_pieces // 2, 1))
        pieces = unigram_pieces(_words(texts(), characters, self.lowercase), characters, self._learnt_pieces)
        # text is never split into the names of special tokens or bytes (see ``piece_backend``): their scores do not
        # matter
        fixed = [(piece, 0.0) for piece in _FIXED_TOKENS]
        model = models.Unigram([*fixed, *pieces], unk_id=UNK, byte_fallback=True)
        return Tokenizer(piece_backend(model, self.lowercase))


@checked
@dataclass(frozen=True)
class CharacterTokenization(PieceTokenization):
    """The most frequent characters; equally frequent ones are ordered by code points. All others are spelt as bytes."""

    vocabulary_size: PieceVocabulary = 4000

    def _learnt(self, texts: Callable[[], Iterator[pa.Array]]) -> Tokenizer:
        return Tokenizer(
            piece_backend(_bpe(_alphabet(texts(), self.lowercase, 1.0, self._learnt_pieces), []), self.lowercase)
        )


@checked
@dataclass(frozen=True, repr=False)
class FileTokenization(Tokenization):
    """Tokenizers from files of the ``tokenizers`` library. Nothing is learnt.

    Args:
        source: path of the source's tokenizer.json.
        target: path of the target's tokenizer.json. If it is the same file, the tokenizer is joint.

    Raises:
        InputError: from ``learn``, if a path is not given or is no tokenizer.json.
    """

    source: FilePath | None
    target: FilePath | None

    @property
    def joint(self) -> bool:  # type: ignore[override]
        return self._content("source")[0].samefile(self._content("target")[0])

    def learn(self, column: Column) -> tuple[Tokenizer, Tokenizer]:
        """The two tokenizers. The training sentences are not read."""
        source = self._read("source")
        return source, source if self.joint else self._read("target")

    def __repr__(self) -> str:
        """Hashes of the files' contents: equal files give an equal ``repr``, whatever their paths."""
        hashes = (hashlib.sha256(self._content(side)[1]).hexdigest() for side in ("source", "target"))
        return f"{type(self).__name__}({', '.join(hashes)}, joint={self.joint})"

    def _learnt(self, texts: Callable[[], Iterator[pa.Array]]) -> Tokenizer:
        raise NotImplementedError

    def _read(self, side: str) -> Tokenizer:
        path, content = self._content(side)
        try:
            return Tokenizer(renumbered(content.decode()))
        except Exception as error:  # the library raises bare Exception on malformed input
            raise InputError(f"tokenizer.{side}={path}: expected a tokenizer.json ({error})") from error

    def _content(self, side: str) -> tuple[Path, bytes]:
        file = self.source if side == "source" else self.target
        if file is None:
            raise InputError(f"tokenizer.{side}=null: expected the path of a tokenizer.json")
        path = Path(file).expanduser()
        if not path.is_file():
            raise InputError(f"tokenizer.{side}={path}: no such file; expected a tokenizer.json")
        return path, path.read_bytes()


def _no_words() -> InputError:
    return InputError("data.train: the training sentences have no words, expected text to learn a tokenizer from")


def _unit_counts(texts: Iterator[pa.Array]) -> Iterator[tuple[str, int]]:
    """Units and their counts. A unit may come several times, because 50,000 sentences are counted at a time."""
    for array in texts:
        for part in units(array):
            yield from zip(part.distinct, np.bincount(part.codes, minlength=len(part.distinct)).tolist(), strict=True)


def _lowercased(counts: Counter[str]) -> Counter[str]:
    """The counts of the words in lower case. The library lowercases them, because Python differs in a few letters."""
    lower = normalizers.Lowercase()
    lowered: Counter[str] = Counter()
    for word, count in counts.items():
        lowered[lower.normalize_str(word)] += count
    return lowered


def _alphabet(texts: Iterator[pa.Array], lowercase: bool, coverage: float, size: int) -> list[str]:
    """The space and the most frequent characters, ``size`` at most, that cover a share ``coverage`` of the text."""
    occurrences = np.zeros(0, np.int64)
    for array in texts:
        for part in units(array):
            points = np.frombuffer("".join(part.distinct).encode("utf-32-le"), "<u4")
            lengths = np.fromiter(map(len, part.distinct), np.int64, len(part.distinct))
            weights = np.repeat(np.bincount(part.codes, minlength=len(lengths)), lengths)
            counted = np.bincount(points, weights, minlength=len(occurrences)).astype(np.int64)
            counted[: len(occurrences)] += occurrences
            occurrences = counted
    counts = Counter({chr(point): int(occurrences[point]) for point in np.flatnonzero(occurrences)})
    if not "".join(counts).strip():
        raise _no_words()
    if lowercase:
        letters: Counter[str] = Counter()
        for lowered, count in _lowercased(counts).items():
            for letter in lowered:  # the lower case of one letter may be two letters
                letters[letter] += count
        counts = letters
    characters, covered = [" "], 0
    for character, count in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])):
        if len(characters) >= size or covered >= coverage * counts.total():
            break
        characters.append(character)
        covered += count
    return characters


def _bpe(pieces: Sequence[str], merges: Sequence[tuple[str, str]]) -> models.BPE:
    vocabulary = {piece: i for i, piece in enumerate([*_FIXED_TOKENS, *pieces])}
    return models.BPE(vocabulary, list(merges), unk_token=SPECIAL_TOKENS[UNK], byte_fallback=True)


def _words(texts: Iterator[pa.Array], characters: Sequence[str], lowercase: bool) -> Counter[str]:
    """The words to learn pieces from, with their counts. Characters that are not among ``characters`` are removed."""
    counts: Counter[str] = Counter()
    for unit, count in _unit_counts(texts):
        counts[unit] += count
    backend = piece_backend(models.BPE(), lowercase)
    rare = re.compile(f"[^{re.escape(''.join(characters))}]")
    words: Counter[str] = Counter()
    seen = 0
    for unit, count in counts.most_common():  # equally frequent ones in the order of the corpus
        for word, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(unit)):
            words[rare.sub("", word)] += count
        seen += len(unit)
        if seen > _MOST_CHARACTERS:
            break
    del words[""]
    return words
