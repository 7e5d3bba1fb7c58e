"""results.json: every field is what it says, and a record that does not fit is refused with the key's name."""

import json
import math
import time

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from lookback.errors import InputError
from lookback.evaluation import SCHEMA, Prediction, Segments, check_results, read_results, results, write_json

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
PREDICTIONS = [
    Prediction(0, "a b c d", "le chat est là .", "le chat est là .", -0.1, 4, False),
    Prediction(1, "a b c d e f g h i j k", "un deux trois quatre cinq", "un deux quatre trois", -0.9, 11, True),
]


def score(predictions=PREDICTIONS, tokenize="none", perplexity=3.5, cost=COST, segments=None):
    return results(
        predictions,
        tokenize,
        attention="dot",
        seed=1,
        data="grammar",
        perplexity=perplexity,
        cost=cost,
        training_data=TRAINING_DATA,
        versions={"python": "3.11"},
        git=None,
        data_fingerprint="f00d",
        segments=segments,
    )


def test_scores_are_sacrebleus():
    record = score(tokenize="13a")
    hypotheses, references = [p.hypothesis for p in PREDICTIONS], [[p.reference for p in PREDICTIONS]]
    expected = BLEU(tokenize="13a")
    assert record["bleu"] == pytest.approx(expected.corpus_score(hypotheses, references).score, abs=1e-9)
    assert record["signature"] == str(expected.get_signature())
    assert record["chrf"] == CHRF().corpus_score(hypotheses, references).score
    assert record["ter"] == pytest.approx(TER().corpus_score(hypotheses, references).score)
    assert record["length_ratio"] == pytest.approx(9 / 10)
    assert record["truncated"] == 1
    assert [bucket["n"] for bucket in record["by_length"]] == [1, 1, 0, 0, 0, 0, 0]
    assert record["cost"] == COST
    assert record["training_data"] == TRAINING_DATA


def test_has_every_field_and_survives_json(tmp_path):
    record = score()
    assert list(record) == list(SCHEMA)
    write_json(tmp_path / "results.json", record)
    assert read_results(tmp_path / "results.json") == record
    assert score(segments=Segments.of(PREDICTIONS, "none")) == record


def test_a_diverged_or_empty_run_is_described_with_nulls():
    assert score(perplexity=math.inf)["perplexity"] is None
    empty = score(predictions=[])
    assert [empty[key] for key in ("bleu", "chrf", "ter", "length_ratio", "half_length")] == [None] * 5
    assert "eff:no" in empty["signature"]
    silent = score([Prediction(0, "a b c d", "x y z w", "", -1.0, 4, False)])
    assert (silent["bleu"], silent["length_ratio"], silent["ter"]) == (0.0, 0.0, 100.0)


def test_a_test_set_of_three_word_sentences_says_so_in_the_signature():
    record = score([Prediction(0, "a b c", "x y z", "x y z", -1.0, 3, False)])
    assert record["bleu"] == pytest.approx(100)
    assert "eff:yes" in record["signature"]


def test_scoring_is_quick_where_translations_are_long_and_bad():
    reference = " ".join(f"w{index % 23}" for index in range(60))
    hypothesis = " ".join(f"w{index * 7 % 29}" for index in range(60))
    started = time.perf_counter()
    score([Prediction(index, reference, reference, hypothesis, -1.0, 60, False) for index in range(20)])
    assert time.perf_counter() - started < 10  # about 1 s; sacrebleu's own TER takes half a minute


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.update(blue=1.0), "unknown key 'blue'; did you mean 'bleu'"),
        (lambda record: record.pop("chrf"), "no key 'chrf'"),
        (lambda record: record.update(seed="1"), "seed='1', expected int"),
        (lambda record: record.update(seed=None), "seed=None, expected int"),
        (lambda record: record.update(schema=3), "schema 3; this version of lookback reads 2"),
        (lambda record: record["training_data"].pop("dropped"), "training_data: no key 'dropped'"),
        (lambda record: record["cost"].pop("updates"), "cost: no key 'updates'"),
        (
            lambda record: record["by_length"][1].update(high=20),
            r"by_length\[1\]: unknown key 'high'; did you mean 'hi'",
        ),
        (lambda record: record["by_length"].append(3), r"by_length\[7\]: found int, expected an object"),
    ],
)
def test_a_record_that_does_not_fit_is_refused(change, message):
    record = json.loads(json.dumps(score()))
    check_results(record)
    change(record)
    with pytest.raises(InputError, match=message):
        check_results(record, "run/test/results.json")


def test_an_unknown_cost_is_refused_when_the_results_are_made():
    with pytest.raises(InputError, match="unknown key 'update'; did you mean 'updates'"):
        score(cost={**COST, "update": 3})


def test_a_file_of_version_1_is_read_with_null_for_what_it_does_not_hold(tmp_path):
    record = score()
    old = {key: value for key, value in record.items() if key != "training_data"}
    cost = {key: value for key, value in COST.items() if key != "waiting"}
    write_json(tmp_path / "results.json", old | {"schema": 1, "cost": cost})
    found = read_results(tmp_path / "results.json")
    assert found["schema"] == 2
    assert set(found["training_data"].values()) == {None}
    assert set(found["training_data"]) == set(TRAINING_DATA)
    assert found["cost"] == cost | {"waiting": None}
    assert {key: value for key, value in found.items() if key not in ("schema", "training_data", "cost")} == {
        key: value for key, value in old.items() if key not in ("schema", "cost")
    }


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(InputError, match=r"absent.json: No such file"):
        read_results(tmp_path / "absent.json")
    (tmp_path / "half.json").write_text('{"schema": 1')
    with pytest.raises(InputError, match=r"half.json: not JSON"):
        read_results(tmp_path / "half.json")
