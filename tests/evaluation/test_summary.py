"""From a scored test set to results.json: every field is what it says."""

import math
import random

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from lookback.common.errors import InputError
from lookback.evaluation import Resamples, count, length_curve
from lookback.runs import Prediction
from support.made_results import AER, COST, LINKS, PREDICTIONS, SIGHT, TRAINING_DATA, score


def test_scores_are_sacrebleus():
    record = score(tokenize="13a")
    hypotheses, references = [p.hypothesis for p in PREDICTIONS], [[p.reference for p in PREDICTIONS]]
    expected = BLEU(tokenize="13a")
    assert record["bleu"] == pytest.approx(expected.corpus_score(hypotheses, references).score, abs=1e-9)
    assert record["signature"] == str(expected.get_signature())
    assert record["chrf"] == pytest.approx(CHRF().corpus_score(hypotheses, references).score, abs=1e-9)
    assert record["ter"] == pytest.approx(TER().corpus_score(hypotheses, references).score)
    assert record["length_ratio"] == pytest.approx(9 / 10)
    assert record["truncated"] == 1
    assert [bucket["n"] for bucket in record["by_length"]] == [1, 1, 0, 0, 0, 0, 0]
    assert record["cost"] == COST
    assert record["training_data"] == TRAINING_DATA


def test_curves_and_their_summaries_are_those_of_the_segments():
    chance = random.Random(0)
    words = [f"w{index}" for index in range(30)]
    predictions = []
    for index in range(240):
        source = chance.choices(words, k=5 + 10 * (index % 4))
        output = [word if chance.random() > 0.02 * len(source) else "?" for word in source]
        predictions.append(
            Prediction(index, " ".join(source), " ".join(source), " ".join(output), -1.0, len(source), False)
        )
    record, segments = score(predictions), count(predictions, "none")
    assert record["by_length"] == length_curve(segments)
    assert record["by_equal_count"] == length_curve(segments, (5, 15, 25, 35), closed=True)
    assert [(bucket["lo"], bucket["hi"], bucket["n"]) for bucket in record["by_equal_count"]] == [
        (5, 5, 60),
        (6, 15, 60),
        (16, 25, 60),
        (26, 35, 60),
    ]
    arm = Resamples([segments]).arm([0])
    for key in ("half_length", "half_length_ci", "retention", "retention_ci"):
        assert record[key] == arm[key]
    assert record["retention_ci"][0] < record["retention"] < record["retention_ci"][1] < 1
    assert record["half_length_ci"][0] < record["half_length"]


def test_attention_is_described_as_given_and_checked():
    assert score()["aer"] == AER
    rows = [{"lo": 1, "hi": 10, "n": 2, **SIGHT}, {"lo": 11, "hi": None, "n": 0, **dict.fromkeys(SIGHT)}]
    assert score(attention_by_length=rows)["attention_by_length"] == rows
    assert (score(aer=None)["aer"], score()["attention_by_length"]) == (None, None)
    with pytest.raises(InputError, match=r"attention_by_length\[0\]: no key 'sharpness'"):
        score(attention_by_length=[{key: value for key, value in rows[0].items() if key != "sharpness"}])
    with pytest.raises(InputError, match=r"aer: shift_-1: unknown key 'are'; did you mean aer"):
        score(aer={**AER, "shift_-1": {**LINKS, "are": 1.0}})
    with pytest.raises(InputError, match=r"aer: no key 'sentences'"):
        score(aer={key: value for key, value in AER.items() if key != "sentences"})


def test_agreement_is_kept_as_given_and_checked():
    rows = [
        {"lo": 0, "hi": 3, "n": 2, "accuracy": 0.5, "ci": [0.0, 1.0], "missing": 0.1},
        {"lo": 4, "hi": None, "n": 0, "accuracy": None, "ci": None, "missing": None},
    ]
    assert score(agreement=rows)["agreement"] == rows
    assert score()["agreement"] is None
    with pytest.raises(InputError, match=r"agreement\[1\]: no key 'hi'"):
        score(agreement=[rows[0], {key: value for key, value in rows[1].items() if key != "hi"}])


def test_a_diverged_or_empty_run_is_described_with_nulls():
    assert score(perplexity=math.inf)["perplexity"] is None
    empty = score(predictions=[])
    scores = ("bleu", "chrf", "ter", "length_ratio", "half_length", "half_length_ci", "retention_ci")
    assert [empty[key] for key in scores] == [None] * len(scores)
    assert empty["by_equal_count"] == []
    assert "eff:no" in empty["signature"]
    silent = score([Prediction(0, "a b c d", "x y z w", "", -1.0, 4, False)])
    assert (silent["bleu"], silent["length_ratio"], silent["ter"]) == (0.0, 0.0, 100.0)


def test_a_test_set_of_three_word_sentences_says_so_in_the_signature():
    record = score([Prediction(0, "a b c", "x y z", "x y z", -1.0, 3, False)])
    assert record["bleu"] == pytest.approx(100)
    assert "eff:yes" in record["signature"]


def test_an_unknown_cost_is_refused_when_the_results_are_made():
    with pytest.raises(InputError, match="unknown key 'update'; did you mean updates"):
        score(cost={**COST, "update": 3})
