"""How well and how sharply a model looks."""

import numpy as np
import pytest

from lookback.evaluation.alignment.attention_quality import AttentionQuality, Gold, gold_of

# two words each side, end marks last: the first target word looks at the second source word, the second at the first
CROSSED = np.array([[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.0, 0.1, 0.9]])


def test_links_add_up_over_sentences_and_a_sentence_counts_once() -> None:
    quality = AttentionQuality()
    quality.add(0, 2, CROSSED, Gold([(1, 0), (0, 1)], []))
    quality.add(1, 2, CROSSED, Gold([(0, 0)], [(0, 1)]))
    quality.add(1, 2, CROSSED, Gold([(0, 0)], [(0, 1)]))
    aer = quality.aer()
    assert aer is not None
    assert aer["sentences"] == 2
    # found (1,0) (0,1) twice: 2 of 3 sure links, 3 of 4 within the possible ones
    # by the row behind: (0,0) from the second, and the end mark's row looks at the end mark most, at (1,1) of the words
    assert aer["shift_-1"] == pytest.approx({"aer": 1 - (1 + 1) / (4 + 3), "precision": 1 / 4, "recall": 1 / 3})
    assert aer["shift_0"] == pytest.approx({"aer": 1 - (2 + 3) / (4 + 3), "precision": 3 / 4, "recall": 2 / 3})


def test_without_gold_there_is_no_error_rate() -> None:
    quality = AttentionQuality()
    quality.add(0, 2, CROSSED, None)
    assert quality.aer() is None
    assert set(quality.metrics()) == {
        f"attention/{name}" for name in ("entropy", "sharpness", "coverage", "monotonicity", "diagonality")
    }


def test_diagnostics_are_means_of_each_bucket() -> None:
    quality = AttentionQuality()
    quality.add(0, 2, CROSSED, None)
    quality.add(1, 12, np.full((3, 13), 1 / 13), None)
    quality.add(2, 12, np.eye(9, 13), None)  # of more words: a mean over sentences is none over words
    first, second, *others = quality.by_length()
    assert (first["lo"], first["hi"], first["n"]) == (1, 10, 1)
    assert first["sharpness"] == pytest.approx(0.75)
    assert (second["n"], second["sharpness"]) == (2, pytest.approx((1 / 13 + 1) / 2))
    assert all(bucket["n"] == 0 and bucket["entropy"] is None for bucket in others)


def test_gold_of_other_words_is_left_out() -> None:
    row = {"source": "a b", "target": "c d", "alignment": [[1, 0]], "possible": [[0, 1]]}
    assert gold_of(row, CROSSED.shape) == Gold([(1, 0)], [(0, 1)])
    assert gold_of(row, (4, 3)) is None
    assert gold_of({"source": "a b", "target": "c d"}, CROSSED.shape) is None
