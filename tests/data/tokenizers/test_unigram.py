import math
from collections import Counter
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookback.data.tokenizers.unigram import _LONGEST_PIECE, _score_without, _substrings, unigram_pieces

WORDS = st.dictionaries(st.text("abc", min_size=1, max_size=8), st.integers(1, 20), min_size=1)


@given(WORDS, st.integers(4, 30))
def test_pieces_are_characters_and_substrings_with_probabilities(words: dict[str, int], size: int) -> None:
    pieces = unigram_pieces(words, "abc", size)
    scores = dict(pieces)
    assert set("abc") <= set(scores)
    assert len(scores) == len(pieces) <= size
    assert all(any(piece in word for word in words) for piece in scores if piece not in "abc")
    assert math.isclose(sum(map(math.exp, scores.values())), 1)
    assert pieces == sorted(pieces, key=lambda piece: (-piece[1], piece[0]))


@given(WORDS)
def test_substrings_are_counted(words: dict[str, int]) -> None:
    expected: Counter[str] = Counter()
    for word, count in words.items():
        for start in range(len(word)):
            for end in range(start + 2, len(word) + 1):
                expected[word[start:end]] += count
    found = _substrings(list(words), np.array(list(words.values())), 10**6)
    assert found == {text: count for text, count in expected.items() if count >= 2}


def test_the_best_other_way_to_cut_a_piece() -> None:
    scores = {"a": -3.0, "b": -2.0, "ab": -1.0, "abb": -0.5, "bb": -3.5}
    assert _score_without("abb", scores) == -3.0  # ab b
    assert _score_without("ab", scores) == -5.0
    assert _score_without("a", scores) == -math.inf


def test_pieces_of_a_made_up_language_are_found() -> None:
    random = Random(1)
    stems = ["".join(random.choices("bcdfg", k=5)) for _ in range(20)]
    endings = ["aka", "oto", "iji", "uzu"]
    words = Counter(random.choice(stems) + random.choice(endings) for _ in range(4000))
    pieces = {piece for piece, _ in unigram_pieces(words, sorted(set("".join(words))), 13 + 26)}
    assert len(pieces & {*endings, *stems}) >= 22, "of 24; a few whole words may be worth more"


def test_a_piece_is_no_longer_than_the_longest() -> None:
    pieces = dict(unigram_pieces({"abc" * 40: 10}, "abc", 50))
    assert 3 <= max(map(len, pieces)) <= _LONGEST_PIECE
