"""The pieces of a byte-pair tokenizer and how they are joined, learnt from words and their counts.

The most frequent pair of neighbouring pieces becomes one piece, again and again (Sennrich et al. 2016, algorithm 1).
The library has a trainer of its own, which learns the same, but it must be shown every sentence: a corpus has a hundred
times as many of these as it has different words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

_LONGEST = 16  # characters of a piece

Pair = tuple[int, int]


def bpe_pieces(
    words: Mapping[str, int], characters: Sequence[str], size: int
) -> tuple[list[str], list[tuple[str, str]]]:
    """At most `size` pieces, the characters first, and the pairs that make the others, in the order they are joined in.

    Of equally frequent pairs the one of the earlier pieces is joined first; a pair that occurs once is left as it is.

    Args:
        words: how often each word occurs; it is made of `characters`.
        characters: at most `size`.
        size: how many pieces at most.
    """
    pieces = sorted(characters)
    number = {piece: i for i, piece in enumerate(pieces)}
    spelt = [[number[character] for character in word] for word in words]
    counts = list(words.values())
    pairs: Counter[Pair] = Counter()
    places: defaultdict[Pair, set[int]] = defaultdict(set)  # words that a pair is in, or once was
    for i, (spelling, count) in enumerate(zip(spelt, counts, strict=True)):
        for pair in pairwise(spelling):
            pairs[pair] += count
            places[pair].add(i)
    queue = [(-count, pair) for pair, count in pairs.items()]
    heapify(queue)
    merges: list[tuple[str, str]] = []
    while queue and len(pieces) < size:
        count, pair = heappop(queue)
        if -count != pairs[pair]:  # it has become rarer meanwhile
            if pairs[pair]:
                heappush(queue, (-pairs[pair], pair))
            continue
        if -count < 2:
            break
        left, right = pieces[pair[0]], pieces[pair[1]]
        if len(left) + len(right) > _LONGEST:
            continue
        merges.append((left, right))
        joined = number.setdefault(left + right, len(pieces))
        if joined == len(pieces):
            pieces.append(left + right)
        grown = set()
        for i in places.pop(pair):
            for lost, won in _join(spelt[i], pair, joined):
                pairs[lost] -= counts[i]
                pairs[won] += counts[i]
                places[won].add(i)
                grown.add(won)
        del pairs[pair]
        for neighbours in grown:
            heappush(queue, (-pairs[neighbours], neighbours))
    return pieces, merges


def _join(spelling: list[int], pair: Pair, joined: int) -> Iterator[tuple[Pair, Pair]]:
    """Put `joined` for each `pair`, from left to right; gives the neighbours that this parts, and those it brings."""
    left, right = pair
    at = 0
    while at + 1 < len(spelling):
        if spelling[at] == left and spelling[at + 1] == right:
            if at:
                yield (spelling[at - 1], left), (spelling[at - 1], joined)
            if at + 2 < len(spelling):
                yield (right, spelling[at + 2]), (joined, spelling[at + 2])
            spelling[at : at + 2] = [joined]
        at += 1
