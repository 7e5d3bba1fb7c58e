"""results.json: every field is what it says, and a record that does not fit is refused with the key's name."""

import json
import math
import random

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from lookback.common.errors import InputError
from lookback.common.files import write_json
from lookback.evaluation import Resamples, count, length_curve, results
from lookback.runs import BUCKET, SCHEMA, Prediction, check_results, read_results

COST = {
    "parameters": 10,
    "updates": 20,
    "target_tokens": 30,
    "seconds": 4.0,
    "tokens_per_second": 7.5,
    "peak_memory_mb": None,
    "waiting": 0.01,
}
TRAINING_DATA = {
    "pairs": 5,
    "dropped": {"a side without words": 1},
    "overlap": {"pairs": 0, "sources": 1},
    "source_tokens": 50,
    "target_tokens": 60,
    "source_unknown": 0.0,
    "target_unknown": 0.25,
    "source_vocabulary": 20,
    "target_vocabulary": 21,
    "padding_waste": 0.01,
}
CONVERGENCE = {
    "validation_bleu": 30.0,
    "validation_perplexity": 1.7,
    "rise": None,
    "since_update": 80,
    "updates": 100,
}
PREDICTIONS = [
    Prediction(0, "a b c d", "le chat est là .", "le chat est là .", -0.1, 4, False),
    Prediction(1, "a b c d e f g h i j k", "un deux trois quatre cinq", "un deux quatre trois", -0.9, 11, True),
]


LINKS = {"aer": 0.25, "precision": 0.7, "recall": 0.8}
AER = {"sentences": 2, "shift_0": LINKS, "shift_-1": dict.fromkeys(LINKS)}
SIGHT = {"entropy": 0.5, "sharpness": 0.6, "coverage": 0.7, "monotonicity": 0.8, "diagonality": 0.9}


def score(
    predictions=PREDICTIONS,
    tokenize="none",
    perplexity=3.5,
    cost=COST,
    segments=None,
    aer=AER,
    attention_by_length=None,
    convergence=None,
    agreement=None,
):
    return results(
        predictions,
        tokenize,
        attention="dot",
        seed=1,
        data="grammar",
        perplexity=perplexity,
        aer=aer,
        attention_by_length=attention_by_length,
        convergence=convergence,
        cost=cost,
        training_data=TRAINING_DATA,
        versions={"python": "3.11"},
        git=None,
        data_fingerprint="f00d",
        segments=segments,
        agreement=agreement,
    )


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
    with pytest.raises(InputError, match=r"aer: shift_-1: unknown key 'are'; did you mean 'aer'"):
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


def test_has_every_field_and_survives_json(tmp_path):
    record = score()
    assert list(record) == list(SCHEMA)
    assert set(record["by_length"][0]) == set(record["by_equal_count"][0]) == set(BUCKET)
    write_json(tmp_path / "results.json", record)
    assert read_results(tmp_path / "results.json") == record
    assert score(segments=count(PREDICTIONS, "none")) == record


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.update(blue=1.0), "unknown key 'blue'; did you mean 'bleu'"),
        (lambda record: record.pop("chrf"), "no key 'chrf'"),
        (lambda record: record.update(seed="1"), "seed='1', expected int"),
        (lambda record: record.update(seed=None), "seed=None, expected int"),
        (lambda record: record.update(schema=5), "schema 5; this version of lookback reads 4"),
        (lambda record: record["training_data"].pop("dropped"), "training_data: no key 'dropped'"),
        (lambda record: record["cost"].pop("updates"), "cost: no key 'updates'"),
        (lambda record: record["convergence"].pop("rise"), "convergence: no key 'rise'"),
        (lambda record: record["convergence"].update(updates=None), "convergence: updates=None, expected int"),
        (
            lambda record: record["by_length"][1].update(high=20),
            r"by_length\[1\]: unknown key 'high'; did you mean 'hi'",
        ),
        (lambda record: record["by_length"].append(3), r"by_length\[7\]: found int, expected an object"),
    ],
)
def test_a_record_that_does_not_fit_is_refused(change, message):
    record = json.loads(json.dumps(score(convergence=CONVERGENCE)))
    check_results(record)
    change(record)
    with pytest.raises(InputError, match=message):
        check_results(record, "run/test/results.json")


def test_an_unknown_cost_is_refused_when_the_results_are_made():
    with pytest.raises(InputError, match="unknown key 'update'; did you mean 'updates'"):
        score(cost={**COST, "update": 3})


NEW_IN_3 = ("by_equal_count", "half_length_ci", "retention_ci", "attention_by_length")
NEW_IN_4 = ("position_recall", "convergence", "agreement")


def without(curve, keys):
    return [{key: bucket[key] for key in bucket if key not in keys} for bucket in curve]


def version_3(record):
    kept = {key: value for key, value in record.items() if key not in NEW_IN_4}
    curves = {name: without(record[name], ("omitted", "repeated")) for name in ("by_length", "by_equal_count")}
    return kept | curves | {"schema": 3, "aer": None}


def version_2(record):
    record = version_3(record)
    kept = {key: value for key, value in record.items() if key not in NEW_IN_3}
    return kept | {"schema": 2, "by_length": without(record["by_length"], ("chrf", "ter"))}


def version_1(record):
    cost = {key: value for key, value in COST.items() if key != "waiting"}
    kept = {key: value for key, value in version_2(record).items() if key != "training_data"}
    return kept | {"schema": 1, "cost": cost}


@pytest.mark.parametrize("old", [version_1, version_2, version_3])
def test_a_file_of_an_earlier_version_is_read_with_null_for_what_it_does_not_hold(tmp_path, old):
    record = score()
    write_json(tmp_path / "results.json", old(record))
    found = read_results(tmp_path / "results.json")
    assert found["schema"] == 4
    assert {found[key] for key in NEW_IN_4} == {None}
    unknown = ("omitted", "repeated", *(() if old is version_3 else ("chrf", "ter")))
    assert found["by_length"] == [bucket | dict.fromkeys(unknown) for bucket in record["by_length"]]
    if old is version_3:
        assert found["by_equal_count"] == [bucket | dict.fromkeys(unknown) for bucket in record["by_equal_count"]]
        assert {key: found[key] for key in NEW_IN_3[1:]} == {key: record[key] for key in NEW_IN_3[1:]}
    else:
        assert {found[key] for key in NEW_IN_3} == {None}
    first = old is version_1
    assert found["training_data"] == (dict.fromkeys(TRAINING_DATA) if first else TRAINING_DATA)
    assert found["cost"] == (COST | {"waiting": None} if first else COST)
    changed = {"schema", "by_length", "training_data", "cost", "aer", *NEW_IN_3, *NEW_IN_4}
    assert {key: found[key] for key in SCHEMA if key not in changed} == {
        key: record[key] for key in SCHEMA if key not in changed
    }


@pytest.mark.parametrize("by_length", [None, 3, [3]])
def test_an_old_file_that_is_broken_is_refused_by_its_key(tmp_path, by_length):
    write_json(tmp_path / "results.json", version_2(score()) | {"by_length": by_length})
    with pytest.raises(InputError, match=r"by_length"):
        read_results(tmp_path / "results.json")


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(InputError, match=r"absent.json: No such file"):
        read_results(tmp_path / "absent.json")
    (tmp_path / "half.json").write_text('{"schema": 1')
    with pytest.raises(InputError, match=r"half.json: not JSON"):
        read_results(tmp_path / "half.json")
