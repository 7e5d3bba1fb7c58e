"""Recall by source position, omitted and repeated words: by hand, by what must hold, and against plain loops."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.evaluation import (
    FIFTHS,
    Resamples,
    count,
    recall_curve,
    recall_statistics,
    repetition_statistics,
    resample,
    sentence_statistics,
    trigram_statistics,
)
from lookback.evaluation.scores.bleu import omitted
from lookback.evaluation.scores.percent import percent
from lookback.evaluation.scores.recall import ALIGNED, CHANCE, FOUND, LINKED, linked_words, recalled
from lookback.runs import Prediction


def test_a_source_word_is_in_the_fifth_of_its_relative_position():
    ten = linked_words([(i, i) for i in range(10)], 10, 10)
    assert ten.argmax(axis=1).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    seven = linked_words([(i, 6 - i) for i in range(7)], 7, 7)[::-1]  # turned round: the source's place counts
    assert seven.argmax(axis=1).tolist() == [0, 0, 1, 2, 2, 3, 4]
    three = linked_words([(i, i) for i in range(3)], 3, 3)  # fewer words than fifths
    assert three.argmax(axis=1).tolist() == [0, 1, 3]


def test_a_word_with_several_links_is_parted_among_them():
    shares = linked_words([(0, 1), (4, 1), (1, 1), (1, 1), (2, 0)], 5, 3)
    third = 1 / 3
    assert shares == pytest.approx(np.array([[0, 0, 1, 0, 0], [third, third, 0, 0, third], [0, 0, 0, 0, 0]]))


@pytest.mark.parametrize("link", [(5, 0), (0, 3), (-1, 0), (0, -1)])
def test_a_link_to_no_word_is_refused(link):
    with pytest.raises(ValueError, match=rf"link {link[0]}-{link[1]}: expected words 0 to 4 and 0 to 2"):
        linked_words([link], 5, 3)


def test_equal_words_share_what_there_is_of_them():
    assert recalled(["a", "b", "a", "a", "c"], ["a", "c", "c", "a"]) == pytest.approx([2 / 3, 0, 2 / 3, 2 / 3, 1])


def test_one_sentence_by_hand():
    # source of 5 words; x is written once of twice, y is missing, z belongs to two source words, w to none
    reference, hypothesis = "x y z x w", "x z q"
    links = [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3)]
    (row,) = recall_statistics([hypothesis], [reference], [5], [links])
    assert row[LINKED].tolist() == [1, 1, 0.5, 0.5, 1]
    assert row[FOUND].tolist() == [0.5, 0, 0.5, 0.5, 0.5]
    assert row[CHANCE].tolist() == [0, 0, 0, 0, 0]  # there is no other sentence
    assert row[ALIGNED] == 1


def test_chance_is_what_the_translation_of_another_sentence_as_long_has():
    references = ["a b .", "c d .", "e f . g"]
    hypotheses = ["a b .", "c d .", "e a ."]
    links = [[(0, 0), (1, 1), (2, 2)], [(0, 0), (1, 1), (2, 2)], [(3, 3)]]
    rows = recall_statistics(hypotheses, references, [3, 3, 4], links)
    # of three words the full stop alone is in the other sentence of three, or, of the last of them, of four
    for row in rows[:2]:
        assert row[CHANCE].sum() in (1, 2)
        assert row[CHANCE][3] == 1
    assert rows[2][CHANCE].sum() == 0  # `g` is in no other
    again = recall_statistics(["a b ."] * 2, ["a b ."] * 2, [3, 3], links[:2])
    assert again[:, CHANCE].sum() == 0  # the same sentence is no other one


def test_a_sentence_without_links_counts_for_nothing():
    rows = recall_statistics(["a b", "a b", ""], ["a b", "c d", "a"], [2, 2, 0], [None, [], None])
    assert not rows.any()
    with pytest.raises(ValueError, match="1 hypotheses, 2 references, 1 source lengths, 1 alignments"):
        recall_statistics(["a"], ["a", "b"], [1], [None])


WORDS = st.lists(st.sampled_from("abcde"), max_size=9)


@st.composite
def sentences(draw):
    source, reference, hypothesis = draw(st.integers(1, 12)), draw(WORDS), draw(WORDS)
    pairs = st.tuples(st.integers(0, source - 1), st.integers(0, max(len(reference) - 1, 0)))
    links = draw(st.lists(pairs, max_size=12)) if reference else []
    return source, " ".join(reference), " ".join(hypothesis), links


def counted(given, hypotheses=None):
    lengths, references, written, links = zip(*given, strict=True)
    return recall_statistics(written if hypotheses is None else hypotheses, references, lengths, links)


@given(st.lists(sentences(), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_what_must_hold_of_any_sentences(given, chance):
    rows = counted(given)
    for row, (_, _, _, links) in zip(rows, given, strict=True):
        assert row[LINKED].sum() == pytest.approx(len({j for _, j in links}))  # each linked word once in all
    assert (rows[:, FOUND] <= rows[:, LINKED] + 1e-12).all()
    assert (rows[:, CHANCE] <= rows[:, LINKED] + 1e-12).all()
    perfect = counted(given, [reference for _, reference, _, _ in given])
    assert perfect[:, FOUND] == pytest.approx(perfect[:, LINKED])
    assert not counted(given, [""] * len(given))[:, FOUND].any()
    order = list(range(len(given)))
    chance.shuffle(order)
    assert (counted([given[place] for place in order]) == rows[order]).all()


def aligned_segments(wrong, seed):
    """Sentences of 2 to 30 words whose words are lost with probability `wrong[fifth]`; every third has no links."""
    test_set, chance = random.Random(0), random.Random(seed)
    predictions, links = [], []
    for number in range(180):
        length = 2 + number % 29
        words = [f"w{test_set.randrange(60)}" for _ in range(length)]
        kept = [word for i, word in enumerate(words) if chance.random() >= wrong[5 * i // length]]
        text = " ".join(words)
        predictions.append(Prediction(number, text, text, " ".join(kept), -1.0, length, False))
        links.append(None if number % 3 == 2 else [(i, i) for i in range(length)])
    return count(predictions, "none", links)


def test_the_curve_of_an_arm_equals_a_plain_loop():
    runs = [aligned_segments((0.1, 0.2, 0.5, 0.6, 0.9), seed) for seed in (1, 2)]
    resamples = Resamples(runs, bounds=[10, 20], resamples=60, seed=3)
    curve = recall_curve(resamples, [0])
    assert [(part.get("lo"), part.get("hi"), part["n"]) for part in curve] == [
        (None, None, 120),
        (1, 10, sum(2 + number % 29 <= 10 for number in range(180) if number % 3 < 2)),
        (11, 20, sum(11 <= 2 + number % 29 <= 20 for number in range(180) if number % 3 < 2)),
        (21, None, sum(2 + number % 29 > 20 for number in range(180) if number % 3 < 2)),
    ]
    chosen = np.flatnonzero(runs[0].source_length > 20)
    rows = runs[0].position_statistics[chosen]
    drawn = resample(np.eye(len(chosen), dtype=np.int64), 60, (3, 21))
    for fifth in range(FIFTHS):
        found, linked = rows[:, FOUND][:, fifth], rows[:, LINKED][:, fifth]
        assert curve[3]["recall"][fifth] == pytest.approx(sum(found) / sum(linked))
        assert curve[3]["chance"][fifth] == pytest.approx(sum(rows[:, CHANCE][:, fifth]) / sum(linked))
        again = [times @ found / (times @ linked) for times in drawn]
        assert curve[3]["ci"][fifth] == pytest.approx(np.percentile(again, [2.5, 97.5]), abs=1e-9)
    whole = curve[0]["recall"]
    assert all(first > second for first, second in pairwise(whole))
    both, second = recall_curve(resamples, [0, 1]), recall_curve(resamples, [1])
    for fifth in range(FIFTHS):
        assert both[0]["recall"][fifth] == pytest.approx((whole[fifth] + second[0]["recall"][fifth]) / 2)
    assert all(
        0 <= low <= share <= high <= 1
        for part in both
        for share, (low, high) in zip(part["recall"], part["ci"], strict=True)
    )
    short = recall_curve(Resamples(runs, bounds=[1, 2, 3], resamples=20), [0])
    assert short[1] == {"lo": 1, "hi": 1, "n": 0, "recall": [None] * 5, "ci": [None] * 5, "chance": [None] * 5}
    assert [recall is None for recall in short[2]["recall"]] == [False, True, False, True, True]  # two words: 0 and 2


def test_omitted_and_repeated_words_by_hand():
    references, hypotheses = ["a b b c .", "", "a"], ["b c c c x x .", "a a", ""]
    counts = repetition_statistics(hypotheses, references, "none")
    # c is there twice more than in the reference, x once more than once; `a` of an empty reference once more than once
    assert counts.tolist() == [[3, 7], [1, 2], [0, 0]]
    assert percent(counts) == pytest.approx([300 / 7, 50, np.nan], nan_ok=True)
    shares = omitted(sentence_statistics(hypotheses, references, "none"))
    assert shares == pytest.approx([100 * 2 / 5, np.nan, 100], nan_ok=True)  # a, and b once
    assert repetition_statistics(["non, non non"], ["non, non."], "13a").tolist() == [[1, 4]]  # BLEU's words
    # (x x x) twice more than once in the first; the reference has (a b c) twice, so that they may be
    texts = [("x x x x x", "a b"), ("a b c a b c", "a b c a b c"), ("a b", "a b c")]
    trigrams = trigram_statistics([h for h, _ in texts], [r for _, r in texts], "none")
    assert trigrams.tolist() == [[2, 3], [0, 4], [0, 0]]
    assert repetition_statistics(["我我我"], ["我"], "zh").tolist() == [[2, 3]]
    with pytest.raises(ValueError, match=r"shorter|longer"):
        repetition_statistics(["a"], [], "none")
