"""The sentence says what the numbers say."""

from pathlib import Path

import pytest

from lookback.evaluation import Difference
from lookback.report import Run
from lookback.report.contrasts import Contrast
from lookback.report.headline import answer, headline


def run(updates=100, target_tokens=2500):
    results = {"cost": {"updates": updates, "target_tokens": target_tokens}}
    return Run(Path("x"), "dot", 1, "finished", None, results, {})


def contrast(gain=12.34, p=0.0009, buckets=((5.0, 0.004), (9.0, 0.02)), pairs=None):
    pairs = pairs or [(run(), run())]
    whole = {"difference": gain, "ci": [gain - 1, gain + 1.25], "p": p}
    curve = [
        {"lo": 10 * i + 1, "hi": 10 * i + 10, "n": 99, "difference": d, "p_holm": q, "significant": q < 0.05}
        for i, (d, q) in enumerate(buckets)
    ]
    return Contrast("dot", "none", pairs, Difference("bleu", len(pairs), whole, curve))


def test_a_gain_at_all_lengths_by_one_seed_at_equal_budgets():
    assert headline(contrast()) == (
        "dot scores 12.3 BLEU more than none (95 % interval +11.3 to +13.6, p < 0.001), and is significantly better "
        "from 1 word on (each of 2 buckets, largest Holm-corrected p = 0.020). "
        "One seed: the spread between trainings is unknown. "
        "Equal budgets: 100 updates and 2,500 target tokens each."
    )


def test_a_gain_from_some_length_on():
    said = headline(contrast(buckets=((5.0, 0.3), (9.0, 0.02))))
    assert "significantly better from 11 words on (one bucket, Holm-corrected p = 0.020)." in said


@pytest.mark.parametrize("buckets", [((5.0, 0.004), (9.0, 0.06)), ((-5.0, 0.004), (-9.0, 0.004)), ()])
def test_no_length_from_which_on(buckets):
    said = headline(contrast(gain=-0.44, p=0.41, buckets=buckets))
    assert said.startswith(
        "dot scores 0.4 BLEU less than none (95 % interval -1.4 to +0.8, p = 0.410); "
        "from no source length on is it significantly better."
    )


@pytest.mark.parametrize(
    ("seeds", "said"),
    [(2, " 2 seeds: the spread between trainings is unknown. "), (3, " 3 seeds. ")],
)
def test_seeds(seeds, said):
    assert said in headline(contrast(pairs=[(run(), run())] * seeds))


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([(run(200), run(100))], "Unequal budgets: 200 updates and 2,500 target tokens against 100 updates and"),
        ([(run(), run(100, 2000)), (run(), run())], "against 100 updates and 2,250 target tokens on average."),
        ([(run(100), run(100)), (run(110), run(110))], "Equal budgets: 100 updates and 2,500 target tokens to 110"),
        ([(run(None), run(100))], "Budgets: unknown."),
    ],
)
def test_budgets(pairs, said):
    assert said in headline(contrast(pairs=pairs))


def test_the_parts_of_the_answer_are_all_of_its_words():
    parts = answer(contrast())
    assert headline(contrast()) == str(parts)
    said = str(parts)
    for part in parts:
        assert part in said
    assert parts.gain == "dot scores 12.3 BLEU more than none"
    assert answer(contrast(buckets=())).lengths == ""
