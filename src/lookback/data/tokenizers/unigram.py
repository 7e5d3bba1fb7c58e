"""The pieces of a unigram tokenizer and their scores, learnt from words and their counts.

A text is split so that the product of its pieces' probabilities is greatest (Kudo 2018, "Subword regularization",
§3.2).

Learning starts from the most frequent substrings. It splits the words and counts the pieces, twice, then drops the
pieces whose removal changes the probability of the words least, and repeats this until few enough are left. The library
has a trainer too, but its result changes from run to run, because it adds floating-point numbers in the order of its
threads and its hash table. Here only the best split of each word counts, and counts are whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import tokenizers
from tokenizers import models

_LONGEST_PIECE = 16  # characters of a piece
_SEEDS_A_PIECE = 8  # pieces at the start for each piece at the end
_ROUNDS_A_PRUNING = 2  # of splitting and counting before each pruning


def unigram_pieces(words: Mapping[str, int], characters: Sequence[str], size: int) -> list[tuple[str, float]]:
    """The pieces of a unigram tokenizer with their log probabilities, the most probable first.

    Args:
        words: how often each word occurs; words consist of ``characters``.
        characters: always among the pieces; fewer than ``size``.
        size: the number of pieces at most.
    """
    texts = list(words)
    counts = np.fromiter(words.values(), np.int64, len(words))
    uses = _substrings(texts, counts, _SEEDS_A_PIECE * size)
    while True:
        for _ in range(_ROUNDS_A_PRUNING):
            uses = _use_counts(_scores(uses, characters), texts, counts)
        scores = _scores(uses, characters)
        if len(scores) <= size:
            return sorted(scores.items(), key=lambda piece: (-piece[1], piece[0]))
        loss = {
            piece: count * (scores[piece] - _score_without(piece, scores))
            for piece, count in uses.items()
            if len(piece) > 1
        }
        left = max(size, len(scores) // 2) - len(characters)
        uses = {character: uses[character] for character in characters if character in uses} | {
            piece: uses[piece] for piece in sorted(loss, key=lambda piece: (-loss[piece], piece))[:left]
        }


def _substrings(texts: Sequence[str], counts: np.ndarray, size: int) -> dict[str, int]:
    """The ``size`` substrings that cover most of the text, and how often they occur.

    They have two characters or more and occur twice or more. The search goes from short to long, because a substring
    that occurs twice begins with a shorter one that does.
    """
    joined = "".join(texts)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    _, characters = np.unique(np.frombuffer(joined.encode("utf-32-le"), "<u4"), return_inverse=True)
    weights = np.repeat(counts, lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(joined))  # characters to the end of the word
    # for each occurrence of a substring of the present length: where it begins, and the number of the substring
    places, labels = np.arange(len(joined)), characters
    found: list[tuple[int, str]] = []
    for length in range(2, _LONGEST_PIECE + 1):
        fits = left[places] >= length
        places, labels = places[fits], labels[fits]
        longer = labels.astype(np.int64) * 0x110000 + characters[places + length - 1]
        _, first, labels = np.unique(longer, return_index=True, return_inverse=True)
        occurrences = np.bincount(labels, weights[places]).astype(np.int64)
        often = occurrences >= 2
        found += [
            (count, joined[place : place + length])
            for count, place in zip(occurrences[often].tolist(), places[first[often]].tolist(), strict=True)
        ]
        places, labels = places[often[labels]], labels[often[labels]]
    found.sort(key=lambda entry: (-entry[0] * len(entry[1]), entry[1]))
    return {text: count for count, text in found[:size]}


def _scores(uses: Mapping[str, int], characters: Sequence[str]) -> dict[str, float]:
    """The log probability of each piece that is used, and of all characters."""
    uses = dict.fromkeys(characters, 1) | dict(uses)
    total = math.log(sum(uses.values()))
    return {piece: math.log(count) - total for piece, count in uses.items()}


def _use_counts(scores: Mapping[str, float], texts: Sequence[str], counts: np.ndarray) -> dict[str, int]:
    """How often each piece is used when every word is split in the best way. Unused pieces are left out."""
    backend = tokenizers.Tokenizer(models.Unigram(list(scores.items())))
    ids = [encoding.ids for encoding in backend.encode_batch_fast(texts)]
    weights = np.repeat(counts, np.fromiter(map(len, ids), np.int64, len(ids)))
    flat = np.fromiter(chain.from_iterable(ids), np.int64, len(weights))
    uses = np.bincount(flat, weights, minlength=len(scores)).astype(np.int64)
    return {piece: count for piece, count in zip(scores, uses.tolist(), strict=True) if count}


def _score_without(piece: str, scores: Mapping[str, float]) -> float:
    """The score of the best way to split ``piece`` into shorter pieces."""
    best = [0.0] + [-math.inf] * len(piece)
    for end in range(1, len(piece) + 1):
        for start in range(end):
            if end - start < len(piece):
                best[end] = max(best[end], best[start] + scores.get(piece[start:end], -math.inf))
    return best[-1]
