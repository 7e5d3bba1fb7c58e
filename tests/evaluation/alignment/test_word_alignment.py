"""Weights of pieces become weights of words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.evaluation import links, merge_to_words


@st.composite
def pieces(draw: st.DrawFn, least: int = 0) -> tuple[list[int], int]:
    """Pieces of words in their order, each word of one or more: the word of each piece, and how many words."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=least, max_size=5))
    return [word for word, size in enumerate(sizes) for _ in range(size)], len(sizes)


def attention(target: int, source: int, seed: int) -> np.ndarray:
    """Rows that sum to 1."""
    return np.random.default_rng(seed).dirichlet(np.ones(source), size=target) if source else np.zeros((target, 0))


def plain(weights: np.ndarray, target: list[int], source: list[int], rows: int, columns: int) -> list[list[float]]:
    """The definition, cell by cell."""
    merged = [[0.0] * columns for _ in range(rows)]
    for word in range(rows):
        mine = [piece for piece, owner in enumerate(target) if owner == word]
        for other in range(columns):
            theirs = [piece for piece, owner in enumerate(source) if owner == other]
            sums = [sum(float(weights[i, j]) for j in theirs) for i in mine]
            merged[word][other] = sum(sums) / len(sums) if sums else 0.0
    return merged


@given(pieces(), pieces(), st.integers(0, 1000))
def test_merging_is_a_sum_over_the_source_and_a_mean_over_the_target(
    target: tuple[list[int], int], source: tuple[list[int], int], seed: int
) -> None:
    weights = attention(len(target[0]), len(source[0]), seed)
    merged = merge_to_words(weights, target[0], source[0], target[1], source[1])
    assert merged.shape == (target[1], source[1])
    assert merged.dtype == np.float64
    expected = np.reshape(plain(weights, target[0], source[0], target[1], source[1]), merged.shape)
    np.testing.assert_allclose(merged, expected, rtol=0, atol=1e-12)


@given(pieces(), pieces(least=1), st.integers(0, 1000))
def test_every_row_keeps_its_mass(target: tuple[list[int], int], source: tuple[list[int], int], seed: int) -> None:
    merged = merge_to_words(attention(len(target[0]), len(source[0]), seed), target[0], source[0], target[1], source[1])
    np.testing.assert_allclose(merged.sum(axis=1), 1.0, atol=1e-12)


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 1000))
def test_nothing_changes_where_every_piece_is_a_word(target: int, source: int, seed: int) -> None:
    weights = attention(target, source, seed)
    merged = merge_to_words(weights, range(target), range(source), target, source)
    np.testing.assert_array_equal(merged, weights)


@given(pieces(), pieces(), st.integers(0, 1000))
def test_splitting_words_evenly_is_undone(
    target: tuple[list[int], int], source: tuple[list[int], int], seed: int
) -> None:
    """Weights of words, dealt out to their pieces, come back."""
    words = attention(target[1], source[1], seed)
    shares = np.array([1 / source[0].count(word) for word in source[0]])
    dealt = words[np.ix_(target[0], source[0])] * shares
    np.testing.assert_allclose(merge_to_words(dealt, *(target[0], source[0], target[1], source[1])), words, atol=1e-12)


@given(pieces(), pieces(), st.integers(0, 1000))
def test_links_are_the_largest_weight_of_each_target_word(
    target: tuple[list[int], int], source: tuple[list[int], int], seed: int
) -> None:
    merged = merge_to_words(attention(len(target[0]), len(source[0]), seed), target[0], source[0], target[1], source[1])
    found = links(merged)
    assert [j for _, j in found] == (list(range(target[1])) if source[1] else [])
    for i, j in found:
        assert all(merged[j, i] >= merged[j, other] for other in range(source[1]))


def test_end_marks_are_words_of_their_own_or_left_out() -> None:
    weights = np.array([[0.1, 0.2, 0.7], [0.3, 0.5, 0.2], [0.0, 0.0, 1.0]])  # two pieces a word, and end marks
    np.testing.assert_allclose(merge_to_words(weights, [0, 0, 1], [0, 0, 1], 2, 2), [[0.55, 0.45], [0.0, 1.0]])
    without = merge_to_words(weights, [0, 0, 1], [0, 0, -1], 2, 1)
    np.testing.assert_allclose(without, [[0.55], [0.0]])
    assert links(without) == [(0, 0)]  # the second looks at the end mark alone
    np.testing.assert_allclose(merge_to_words(weights, [0, 0, -1], [0, 0, -1], 1, 1), [[0.55]])


def test_a_word_without_pieces_looks_nowhere_and_is_looked_at_by_none() -> None:
    merged = merge_to_words(np.ones((1, 1)), [1], [0], 2, 2)
    np.testing.assert_array_equal(merged, [[0, 0], [1, 0]])
    assert links(merged) == [(0, 1)]


def test_what_is_no_number_is_not_linked() -> None:
    assert links(np.array([[0.2, 0.8], [np.nan, np.nan], [0.0, 0.0], [0.9, 0.1]])) == [(1, 0), (0, 3)]


def test_the_first_of_equal_weights_is_linked() -> None:
    assert links(np.full((2, 3), 1 / 3)) == [(0, 0), (0, 1)]
    assert links(np.zeros((2, 0))) == []


def test_half_precision_sums_do_not_lose_digits() -> None:
    weights = np.full((1, 4000), 1 / 4096, dtype=np.float16)
    assert merge_to_words(weights, [0], [0] * 4000, 1, 1)[0, 0] == 4000 / 4096


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [0, 0], 1, 1), r"weights: \(2, 2\), expected \(1, 2\)"),
        (([0, 2], [0, 0], 2, 1), "target_word: 0 to 2, expected -1 or 0 to 1"),
        (([0, 1], [0, -2], 2, 1), "source_word: -2 to 0, expected -1 or 0 to 0"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        merge_to_words(np.ones((2, 2)), *arguments)
