"""The pairs that are trained on, the counts of the others, and the warnings of probable mistakes."""

from pathlib import Path

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.words import words
from lookback.data.preparation.filtering import Limits, Selection

TEST = datasets.Dataset.from_dict({"source": ["x y", "z"], "target": ["p", "q"]})
TEXTS = st.text(st.sampled_from("ab \u00a0\u3000語\t"), max_size=12)


def pairs(*rows: tuple[str, str]) -> datasets.Dataset:
    source, target = zip(*rows, strict=True)
    return datasets.Dataset.from_dict({"source": list(source), "target": list(target)})


def select(texts: datasets.Dataset, length: int | None = None, ratio: float | None = None, test=TEST) -> Selection:
    return Selection.of(texts, Limits(length, ratio), test)


def test_each_pair_is_counted_once_under_its_first_reason() -> None:
    long = "w " * 50
    found = select(pairs(("a", "a"), ("", long), ("b", long), (long, "a"), (long, "")), 20)
    assert found.keep.tolist() == [True, False, False, False, False]
    assert found.pairs == 1
    assert found.dropped == {"a side without words": 2, "source over 20 words": 1, "target over 40 words": 1}
    found = select(pairs(("a", "a"), ("", long), ("b", long), (" \u2028 ", "a")))
    assert found.dropped == {"a side without words": 2}


def test_the_longer_side_may_be_ratio_times_the_shorter_whichever_it_is() -> None:
    found = select(pairs(("a", "b b b"), ("a a a", "b"), ("a", "b b"), ("a a", "b b b b b")), ratio=2.5)
    assert found.keep.tolist() == [False, False, True, True]
    assert found.dropped == {"one side over 2.5 times as long as the other": 2}


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=30), st.integers(1, 6), st.sampled_from([None, 1.0, 2.0]))
def test_limits_are_those_of_plain_words(rows, length, ratio) -> None:
    def stays(source: str, target: str) -> bool:
        s, t = len(words(source)), len(words(target))
        return 0 < s <= length and 0 < t <= 2 * length and (ratio is None or max(s, t) <= ratio * min(s, t))

    found = select(pairs(*rows), length, ratio)
    assert found.keep.tolist() == [stays(*row) for row in rows]
    assert found.pairs + sum(found.dropped.values()) == len(rows)


def test_a_decision_is_read_again_and_another_limit_is_another_decision(datasets_cache: Path) -> None:
    texts = pairs(("a b", "c"), ("d", "e"))
    first, again, other = select(texts, 1), select(texts, 1), select(texts, 2)
    assert len(list((datasets_cache / "lookback" / "selections").glob("*/keep.npy"))) == 2
    assert np.array_equal(first.keep, again.keep)
    assert (again.dropped, again.overlap) == (first.dropped, first.overlap)
    assert other.pairs == 2


def test_test_pairs_in_the_training_split_are_counted_and_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    test = pairs(("x y", "p"), ("x y", "p"), ("z", "q"), ("new", "r"), ("long " * 9, "r"))
    found = select(pairs(("x y", "p"), ("z", "other"), ("a", "b"), ("long " * 9, "r")), 5, test=test)
    assert found.overlap == {"pairs": 2, "sources": 3}, "what is dropped from training is not shared"
    found.report(len(test))
    assert "warning: 2 of 5 test pairs also stand in the training split: " in capsys.readouterr().err


def test_sources_alone_in_the_training_split_are_not_called_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    test = pairs(("x", "p"), ("z", "q"), ("new", "r"))
    select(pairs(("x", "other"), ("a", "b")), test=test).report(len(test))
    *_, line = capsys.readouterr().err.splitlines()
    assert line == (
        "warning: 1 of 3 test sources also stand in the training split, with other targets: "
        "scores on them say little about new text"
    )


def test_a_corpus_whose_target_is_its_source_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    select(pairs(("a", "a"), ("b", "b"), ("c", "d"))).report(2)
    assert "warning: in 2 of 3 training pairs the target is the source; is one file given" in capsys.readouterr().err
    select(pairs(("a", "a"), ("b", "c"))).report(2)
    assert "warning" not in capsys.readouterr().err, "half of them are a matter of the text"
