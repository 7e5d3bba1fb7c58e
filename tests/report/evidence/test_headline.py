"""The sentence says what the numbers say, names a winner only where there is one, and no more than seeds allow."""

from pathlib import Path

import pytest

from lookback.evaluation import Difference
from lookback.report.evidence.contrasts import Contrast, Evidence
from lookback.report.evidence.headline import answer, headline
from lookback.runs import Run


def run(updates=100, target_tokens=2500, attention="dot", rise=None):
    convergence = None if rise is None else {"validation_bleu": 9.0, "rise": rise, "since_update": 80, "updates": 100}
    results = {"cost": {"updates": updates, "target_tokens": target_tokens}, "convergence": convergence}
    return Run(Path("x"), attention, attention, 1, "finished", None, results, {})


PAIRS = [(run(), run(attention="none"))] * 3


def contrast(arm="dot", gain=12.34, p=0.0009, buckets=((5.0, 0.004), (9.0, 0.02)), pairs=PAIRS, other="none", score=50):
    """Over 1-10, 11-20, … words; a corrected p under 0.05 is a verdict: of attentions, under three seeds of models."""

    def verdict(p_holm):
        return {"significant": p_holm < 0.05 and len(pairs) >= 3, "models_differ": p_holm < 0.05 and len(pairs) < 3}

    whole = {"score": score, "other": score - gain, "difference": gain, "ci": [gain - 1, gain + 1.25]}
    whole |= {"p": p, "p_holm": p} | verdict(p)
    curve = [
        {"lo": 10 * i + 1, "hi": 10 * i + 10, "n": 99, "difference": d, "p_holm": q} | verdict(q)
        for i, (d, q) in enumerate(buckets)
    ]
    return Contrast(arm, other, pairs, Difference("bleu", len(pairs), whole, curve))


def said(*contrasts, rivals=()):
    return headline(Evidence(baseline="none", contrasts=list(contrasts), rivals=list(rivals)))


BUDGETS = "Equal budgets: 100 updates and 2,500 target tokens each."


def test_one_attention_that_gains_at_all_lengths():
    assert said(contrast()) == (
        "dot scores 12.3 BLEU more than none (95 % interval +11.3 to +13.6, p < 0.001). "
        "It is significantly better than none from 1 word on (each of 2 buckets, largest Holm-corrected p = 0.020). "
        f"3 seeds. {BUDGETS}"
    )


def test_a_winner_is_named_where_it_differs_from_the_next():
    rivals = [contrast("dot", 2.0, 0.012, (), other="general"), contrast("dot", 4.0, 0.002, (), other="bahdanau")]
    found = said(contrast(), contrast("general", 10.34), contrast("bahdanau", 8.34), rivals=rivals)
    assert found.startswith(
        "dot scores 12.3 BLEU more than none, and 2.0 more than general, the next; bahdanau scores 8.3 BLEU more than "
        "none (95 % interval +11.3 to +13.6, "
        "Holm-corrected p < 0.001; over general: 95 % interval +1.0 to +3.2, Holm-corrected p = 0.012). "
        "dot is significantly better than none from 1 word on ("
    )


def test_two_that_tie_are_named_together():
    """The issue's own: dot - bahdanau = +0.1, p = 0.62."""
    rivals = [contrast("dot", 0.1, 0.62, (), other="bahdanau")]
    found = said(contrast("dot", 67.34), contrast("bahdanau", 67.24, 0.002), rivals=rivals)
    assert found.startswith(
        "dot and bahdanau score 67.2 to 67.3 BLEU more than none, and do not differ significantly from each other "
        "(95 % intervals within +66.2 and +68.6, largest Holm-corrected p = 0.002; between them: p = 0.620). "
        "dot and bahdanau are significantly better than none from 1 word on (each of 4 buckets, largest"
    )


def test_several_tie_where_no_two_of_them_differ_and_those_behind_are_named():
    rivals = [contrast("dot", d, p, (), other=name) for name, d, p in (("a", 1, 0.3), ("b", 2, 0.06), ("c", 9, 0.001))]
    rivals += [contrast("a", d, p, (), other=name) for name, d, p in (("b", 1, 0.4), ("c", 8, 0.001))]
    rivals += [contrast("b", 7, 0.001, (), other="c")]
    found = said(contrast(), *(contrast(name, 12.34 - d) for name, d in (("a", 1), ("b", 2), ("c", 9))), rivals=rivals)
    assert found.startswith(
        "dot, a and b score 10.3 to 12.3 BLEU more than none, and do not differ significantly from each other; "
        "c scores 3.3 BLEU more than none ("
    )
    assert "; between them: smallest Holm-corrected p = 0.060)" in found


def test_arms_are_not_called_alike_where_the_largest_gain_is_the_least_sure_and_they_differ():
    """dot's seeds are wild: it ties with all others, which do not tie with each other."""
    rivals = [contrast("dot", d, 0.4, (), other=name) for name, d in (("general", 19.0), ("bahdanau", 36.0))]
    rivals += [contrast("general", 17.0, 0.001, (), other="bahdanau")]
    found = said(contrast("dot", 42.6, 0.3, ()), contrast("general", 23.5), contrast("bahdanau", 6.4), rivals=rivals)
    assert found.startswith(
        "general scores 23.5 BLEU more than none; bahdanau scores 6.4 BLEU more than none; dot does not differ "
        "significantly from none, nor from general ("
    )
    # one that is worse than the baseline is not "not different" from it
    found = said(contrast("dot", 28.9, 0.3, ()), contrast("general", 9.0), contrast("bahdanau", -14.6), rivals=rivals)
    assert "; dot does not differ significantly from none, nor from general; bahdanau scores 14.6 BLEU less" in found


def test_two_that_are_alike_to_the_baseline_may_differ_from_each_other():
    rivals = [contrast("dot", 3.0, 0.001, (), other="general", pairs=PAIRS[:1])]
    pair = (contrast(name, gain, 0.2, (), pairs=PAIRS[:1]) for name, gain in (("dot", 1.6), ("general", -1.5)))
    found = said(*pair, rivals=rivals)
    assert found.startswith(
        "On this test set dot and general were not found to differ from none: +1.6 and -1.5 BLEU; dot scores more than "
        "general ("
    )


def test_one_untrained_arm_has_no_verdict_of_its_own():
    found = said(contrast(), contrast("general", -39.0, score=0.02))
    assert "; general scored under 1 BLEU: not trained long enough to be compared (" in found


def test_two_seeds_say_over_what_the_interval_and_the_p_are():
    found = said(contrast(pairs=PAIRS[:2]))
    assert "(95 % interval +11.3 to +13.6, p < 0.001 over sentences alone). " in found


def test_an_arm_between_the_best_and_the_baseline_is_said_to_differ_from_neither():
    rivals = [contrast("dot", 4.0, 0.2, (), other="general")]
    found = said(contrast(), contrast("general", 8.0, 0.3, ()), rivals=rivals)
    assert found.startswith(
        "dot scores 12.3 BLEU more than none; general does not differ significantly from none, nor from dot ("
    )
    # the largest gain may be the least sure
    rivals = [contrast("dot", 1.0, 0.9, (), other="general")]
    found = said(contrast("dot", 9.0, 0.3, ()), contrast("general", 8.0, 0.001), rivals=rivals)
    assert found.startswith(
        "general scores 8.0 BLEU more than none; dot does not differ significantly from none, nor from general ("
    )


def test_a_worse_arm_is_named_beside_a_winner_and_is_not_the_next_which_is_the_baseline():
    rivals = [contrast("dot", 17.0, 0.001, (), other="general")]
    found = said(contrast(), contrast("general", -5.0, 0.001, ()), rivals=rivals)
    assert found.startswith("dot scores 12.3 BLEU more than none; general scores 5.0 BLEU less than none (")


def test_an_arm_that_shares_no_seed_with_the_best_is_neither_beaten_nor_alike():
    found = said(contrast(), contrast("general", 11.0))
    assert found.startswith(
        "dot and general score 11.0 to 12.3 BLEU more than none; dot and general share no seed: not compared ("
    )
    assert "do not differ" not in found


def test_unequal_seeds_may_turn_the_order_round_and_that_is_said():
    rivals = [contrast("dot", -2.0, 0.01, (), other="general")]
    found = said(contrast(), contrast("general", 11.0), rivals=rivals)
    assert found.startswith("general scores 11.0 BLEU more than none, and 2.0 more than dot, the next (")


def test_no_difference_is_no_gain():
    found = said(contrast(gain=-0.44, p=0.41, buckets=((0.3, 0.3), (-0.1, 0.9))))
    assert found.startswith(
        "dot does not differ significantly from none: -0.4 BLEU (95 % interval -1.4 to +0.8, p = 0.410). "
        "At no source length is it significantly better than none. 3 seeds."
    )
    found = said(contrast(gain=0.44, p=0.41, buckets=()), contrast("general", 0.2, 0.8, ()))
    assert found.startswith(
        "dot and general do not differ significantly from none: +0.4 and +0.2 BLEU (95 % intervals within -0.8 and "
        "+1.7, smallest Holm-corrected p = 0.410). No bucket of source lengths has 50 sentences: none was tested."
    )


def test_an_attention_may_be_worse():
    found = said(contrast(gain=-5, p=0.001, buckets=((-5, 0.2), (-9, 0.001))))
    assert found.startswith("dot scores 5.0 BLEU less than none (95 % interval -6.0 to -3.8, p = 0.001). ")
    assert "It is significantly worse than none from 11 words on (one bucket, Holm-corrected p = 0.001)." in found
    found = said(contrast(gain=0.1, p=0.9, buckets=()), contrast("general", -5, 0.001))
    assert found.startswith("dot does not differ significantly from none: +0.1 BLEU; general scores 5.0 BLEU less than")


@pytest.mark.parametrize(
    ("buckets", "lengths"),
    [
        (
            ((5, 0.3), (9, 0.02)),
            "It is significantly better than none from 11 words on (one bucket, Holm-corrected p =",
        ),
        (((5, 0.004), (9, 0.06)), "It is significantly better than none at 1-10 words (one bucket,"),
        (
            ((5, 0.004), (9, 0.06), (1, 0.7), (9, 0.01), (1, 0.8)),
            "It is significantly better than none at 1-10 and 31-40 words (each of 2 buckets, largest",
        ),
        (
            ((5, 0.3), (9, 0.02), (-3, 0.01)),
            "It is significantly better than none at 11-20 words; it is significantly worse from 21 words on (one",
        ),
        (((5, 0.3), (9, 0.2)), "At no source length is it significantly better than none. "),
        (((5, 0.3), (-9, 0.01)), "At no source length is it significantly better than none; it is significantly worse"),
    ],
)
def test_lengths_never_contradict_a_mark_of_the_chart(buckets, lengths):
    assert lengths in said(contrast(buckets=buckets))


def test_lengths_of_several_are_those_of_all_and_what_is_one_arms_alone_is_said():
    rivals = [contrast("dot", 0.1, 0.62, (), other="general")]
    dot = contrast("dot", 12.0, buckets=((5, 0.01), (5, 0.2), (5, 0.01)))
    general = contrast("general", 11.9, buckets=((5, 0.2), (5, 0.2), (5, 0.03)))
    assert (
        "dot and general are significantly better than none from 21 words on; dot is significantly better at 1-10 "
        "words (each of 2 buckets, largest Holm-corrected p = 0.030)." in said(dot, general, rivals=rivals)
    )


def test_one_seed_says_nothing_of_attentions():
    found = said(contrast(pairs=PAIRS[:1]))
    assert found == (
        "dot scores 12.3 BLEU more than none: these trained models differ on this test set "
        "(95 % interval +11.3 to +13.6, p < 0.001). "
        "On this test set it is better than none from 1 word on (each of 2 buckets, largest Holm-corrected p = 0.020). "
        "One seed: the intervals are over sentences alone, and the spread between trainings is unknown. " + BUDGETS
    )
    rivals = [contrast("dot", 0.1, 0.62, (), other="general", pairs=PAIRS[:2])]
    found = said(contrast(pairs=PAIRS[:2]), contrast("general", 12.24, pairs=PAIRS[:2]), rivals=rivals)
    assert found.startswith(
        "dot and general score 12.2 to 12.3 BLEU more than none: these trained models differ on this test set; "
        "dot and general were not found to differ from each other ("
    )
    assert " 2 seeds: too few to know the spread between trainings. " in found
    alike = said(contrast(gain=0.4, p=0.3, buckets=(), pairs=PAIRS[:1]))
    assert alike.startswith("On this test set dot was not found to differ from none: +0.4 BLEU (95 % interval")
    for text in (found, alike):
        assert "significant" not in text


def test_seeds_of_arms_that_have_not_as_many():
    assert " 3 to 4 seeds. " in said(contrast(), contrast("general", 3, 0.01, pairs=[*PAIRS, PAIRS[0]]))
    mixed = said(contrast(), contrast("general", 3, 0.01, pairs=PAIRS[:2]))
    assert " 2 to 3 seeds: too few to know" in mixed
    assert "these trained models differ" in mixed


def test_untrained_arms_get_no_verdict():
    found = said(contrast(gain=0.02, p=0.001, score=0.04), contrast("general", 0.01, 0.001, score=0.03))
    assert found.startswith(
        "Not trained long enough to be compared: every arm scores under 1 BLEU. 3 seeds. Equal budgets"
    )
    assert "dot" not in found
    assert "dot scores 3.0 BLEU more" in said(contrast(gain=3.0, p=0.001, score=3.02))


@pytest.mark.parametrize(
    ("pairs", "budgets"),
    [
        ([(run(200), run(100))], "Unequal budgets: 200 updates and 2,500 target tokens against 100 updates and"),
        ([(run(), run(100, 2000)), (run(), run())], "against 100 updates and 2,250 target tokens on average."),
        ([(run(100), run(100)), (run(110), run(110))], "Equal budgets: 100 updates and 2,500 target tokens to 110"),
        ([(run(None), run(100))], "Budgets: unknown."),
    ],
)
def test_budgets(pairs, budgets):
    assert budgets in said(contrast(pairs=pairs))


@pytest.mark.parametrize(
    ("rise", "other", "ending"),
    [
        (0.1, 6.14, "each. At this budget: none was still improving (validation BLEU rose by 6.1 in the last fifth)."),
        (
            1.0,
            6.14,
            "none and dot were still improving (validation BLEU rose by 6.1 and 1.0 in the last fifth).",
        ),
        (None, 6.14, "At this budget: none was still improving (validation BLEU rose by 6.1 in the last fifth)."),
        (0.99, -1.0, BUDGETS),
        (None, None, BUDGETS),
    ],
)
def test_an_arm_that_was_still_improving_is_named(rise, other, ending):
    assert said(contrast(pairs=[(run(rise=rise), run(attention="none", rise=other))] * 3)).endswith(ending)


def test_the_parts_of_the_answer_are_all_of_its_words():
    found = Evidence(baseline="none", contrasts=[contrast()])
    parts = answer(found)
    assert headline(found) == str(parts)
    for part in parts:
        assert part in str(parts)
    assert parts.claim == "dot scores 12.3 BLEU more than none"
    with pytest.raises(ValueError, match="no contrast"):
        answer(Evidence())
