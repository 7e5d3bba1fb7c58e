"""Source words that a translation was written without a look at: by hand, and against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.evaluation import reading_statistics
from lookback.evaluation.scores.percent import percent
from lookback.evaluation.scores.reading import A_LOOK


def test_words_of_several_tokens_are_looked_at_where_their_tokens_are():
    weights = np.array([[0.90, 0.04, 0.04, 0.02, 0.0], [0.04, 0.04, 0.03, 0.05, 0.84]])  # the end mark is the last
    assert reading_statistics(weights, [0, 1, 1, 2], 3) == (1, 3)  # 0.94, 0.15, 0.07
    assert reading_statistics(weights, [0, 1, 2, 3], 4) == (3, 4)
    assert reading_statistics(weights[:0], [0, 1, 1, 2], 3) == (3, 3)  # nothing was written
    assert reading_statistics(np.full((2, 3), np.nan), [0, 1], 2) == (2, 2)
    assert reading_statistics(np.ones((2, 1)), [], 0) == (0, 0)


def test_shares_are_of_all_words_and_none_where_nothing_looks():
    assert percent([[1, 3], [3, 4], [0, 0]]) == pytest.approx([100 / 3, 75, np.nan], nan_ok=True)


@given(st.data())
def test_is_what_a_plain_loop_counts(data):
    words = data.draw(st.integers(1, 5))
    pieces = [word for word in range(words) for _ in range(data.draw(st.integers(1, 3)))]
    rows = data.draw(st.integers(0, 4))
    cells = data.draw(st.lists(st.floats(0, 0.2), min_size=rows * (len(pieces) + 1), max_size=rows * (len(pieces) + 1)))
    weights = np.array(cells).reshape(rows, len(pieces) + 1)
    never = 0
    for word in range(words):
        looks = [weights[row, place] for place, of in enumerate(pieces) if of == word for row in range(rows)]
        if abs(sum(looks) - A_LOOK) < 1e-9:
            return
        never += sum(looks) < A_LOOK
    assert reading_statistics(weights, pieces, words) == (never, words)
