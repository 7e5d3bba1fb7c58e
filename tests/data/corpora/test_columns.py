import numpy as np
import pytest
from datasets import Dataset

from lookback.common.words import words
from lookback.data.corpora import columns
from lookback.data.corpora.columns import word_counts


@pytest.mark.parametrize("rows", [[], [2], [3, 0, 2, 1, 4]])
def test_words_of_a_side_are_counted_row_by_row(monkeypatch: pytest.MonkeyPatch, rows: list[int]) -> None:
    monkeypatch.setattr(columns, "_ROWS_AT_A_TIME", 2)
    texts = {"target": ["a b c", "", " ", "d", "我们走"], "source": ["x", "y z", "", "\u3000w", "v v v v"]}
    split = Dataset.from_dict(texts).select(rows)
    for side in ("source", "target"):
        counts = word_counts(split, side)
        assert counts.dtype == np.int64
        assert counts.tolist() == [len(words(texts[side][row])) for row in rows]
