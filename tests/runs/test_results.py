"""results.json read back: earlier versions too, and what does not fit is refused with the key's name."""

import json

import pytest

from lookback.common.errors import InputError
from lookback.common.files import write_json
from lookback.evaluation import count
from lookback.runs import BUCKET, SCHEMA, check_results, read_results
from support.made_results import CONVERGENCE, COST, PREDICTIONS, TRAINING_DATA, score


def test_has_every_field_and_survives_json(tmp_path):
    record = score()
    assert list(record) == list(SCHEMA)
    assert set(record["by_length"][0]) == set(record["by_equal_count"][0]) == set(BUCKET)
    write_json(tmp_path / "results.json", record)
    assert read_results(tmp_path / "results.json") == record
    assert score(segments=count(PREDICTIONS, "none")) == record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.update(bleu=float("nan")), "bleu=nan, expected a number that is finite"),
        (lambda record: record.update(bleu=10**400), "bleu=10+, expected a number that is finite"),
        (lambda record: record.update(blue=1.0), "unknown key 'blue'; did you mean bleu"),
        (lambda record: record.pop("chrf"), "no key 'chrf'"),
        (lambda record: record.update(seed="1"), "seed='1', expected int"),
        (lambda record: record.update(truncated=None), "truncated=None, expected int"),
        (lambda record: record.update(schema=9), "schema 9; this version of lookback reads 8"),
        (lambda record: record["training_data"].pop("dropped"), "training_data: no key 'dropped'"),
        (lambda record: record["cost"].pop("updates"), "cost: no key 'updates'"),
        (lambda record: record["convergence"].pop("rise"), "convergence: no key 'rise'"),
        (lambda record: record["convergence"].update(updates=None), "convergence: updates=None, expected int"),
        (
            lambda record: record["by_length"][1].update(high=20),
            r"by_length\[1\]: unknown key 'high'; did you mean hi",
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


NEW_IN_3 = ("by_equal_count", "half_length_ci", "retention_ci", "attention_by_length")


NEW_COSTS = {"products": None, "flops_per_token": None}


NEW_IN_4 = ("position_recall", "convergence", "agreement")


def without(curve, keys):
    return [{key: bucket[key] for key in bucket if key not in keys} for bucket in curve]


NEW_IN_8 = ("repeated_trigrams", "never_looked_at")


def version_7(record):
    return record | {"schema": 7, **{name: without(record[name], NEW_IN_8) for name in ("by_length", "by_equal_count")}}


def as_version_7(record):
    """What a file of version 7 says, in this version."""
    unknown = dict.fromkeys(NEW_IN_8)
    return record | {name: [bucket | unknown for bucket in record[name]] for name in ("by_length", "by_equal_count")}


def version_6(record):
    kept = {key: value for key, value in version_7(record).items() if key != "aer_by_look"}
    return kept | {"schema": 6, "cost": {key: value for key, value in COST.items() if key != "flops_per_token"}}


def version_5(record):
    record = version_6(record)
    return record | {"schema": 5, "cost": {key: value for key, value in record["cost"].items() if key != "products"}}


def version_4(record):
    """Of a recipe, whose name stood in place of the attention's; what is compared had no key of its own."""
    kept = {key: value for key, value in version_5(record).items() if key != "arm"}
    return kept | {"schema": 4, "attention": "cho2014"}


def version_3(record):
    record = version_5(record)
    kept = {key: value for key, value in record.items() if key not in ("arm", *NEW_IN_4)}
    curves = {
        name: without(record[name], ("omitted", "repeated", *NEW_IN_8)) for name in ("by_length", "by_equal_count")
    }
    return kept | curves | {"schema": 3, "aer": None}


def version_2(record):
    record = version_3(record)
    kept = {key: value for key, value in record.items() if key not in NEW_IN_3}
    return kept | {"schema": 2, "by_length": without(record["by_length"], ("chrf", "ter"))}


def version_1(record):
    cost = {key: value for key, value in COST.items() if key not in ("waiting", "products", "flops_per_token")}
    kept = {key: value for key, value in version_2(record).items() if key != "training_data"}
    return kept | {"schema": 1, "cost": cost}


@pytest.mark.parametrize("old", [version_1, version_2, version_3])
def test_a_file_of_an_earlier_version_is_read_with_null_for_what_it_does_not_hold(tmp_path, old):
    record = score()
    write_json(tmp_path / "results.json", old(record))
    found = read_results(tmp_path / "results.json")
    assert found["schema"] == 8
    assert {found[key] for key in NEW_IN_4} == {None}
    unknown = ("omitted", "repeated", *NEW_IN_8, *(() if old is version_3 else ("chrf", "ter")))
    assert found["by_length"] == [bucket | dict.fromkeys(unknown) for bucket in record["by_length"]]
    if old is version_3:
        assert found["by_equal_count"] == [bucket | dict.fromkeys(unknown) for bucket in record["by_equal_count"]]
        assert {key: found[key] for key in NEW_IN_3[1:]} == {key: record[key] for key in NEW_IN_3[1:]}
    else:
        assert {found[key] for key in NEW_IN_3} == {None}
    first = old is version_1
    assert found["training_data"] == (dict.fromkeys(TRAINING_DATA) if first else TRAINING_DATA)
    assert found["cost"] == COST | NEW_COSTS | ({"waiting": None} if first else {})
    changed = {"schema", "by_length", "training_data", "cost", "aer", *NEW_IN_3, *NEW_IN_4}
    assert {key: found[key] for key in SCHEMA if key not in changed} == {
        key: record[key] for key in SCHEMA if key not in changed
    }


def test_a_file_of_version_4_has_an_arm_by_the_name_of_its_attention(tmp_path):
    write_json(tmp_path / "results.json", version_4(score()))
    named = {"arm": "cho2014", "attention": "cho2014", "cost": COST | NEW_COSTS}
    assert read_results(tmp_path / "results.json") == as_version_7(score()) | named


def test_a_file_of_version_5_does_not_say_with_which_products(tmp_path):
    write_json(tmp_path / "results.json", version_5(score()))
    assert read_results(tmp_path / "results.json") == as_version_7(score()) | {"cost": COST | NEW_COSTS}


def test_a_file_of_version_6_does_not_say_how_much_a_token_costs(tmp_path):
    write_json(tmp_path / "results.json", version_6(score()))
    assert read_results(tmp_path / "results.json") == as_version_7(score()) | {"cost": COST | {"flops_per_token": None}}


def test_a_file_of_version_7_does_not_say_what_was_never_looked_at(tmp_path):
    write_json(tmp_path / "results.json", version_7(score()))
    assert read_results(tmp_path / "results.json") == as_version_7(score())


def test_what_another_system_wrote_has_neither_attention_nor_seed(tmp_path):
    record = score() | {"attention": None, "seed": None}
    write_json(tmp_path / "results.json", record)
    assert read_results(tmp_path / "results.json") == record


@pytest.mark.parametrize("by_length", [None, 3, [3]])
def test_an_old_file_that_is_broken_is_refused_by_its_key(tmp_path, by_length):
    write_json(tmp_path / "results.json", version_2(score()) | {"by_length": by_length})
    with pytest.raises(InputError, match=r"by_length"):
        read_results(tmp_path / "results.json")


def test_a_text_sends_nothing_to_a_terminal(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({**score(), "arm": "x\x1b]52;c;ZXZpbA==\x07", "git": "\x1b[31m"}))
    assert (read_results(path)["arm"], read_results(path)["git"]) == ("x␛]52;c;ZXZpbA==␇", "␛[31m")


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(InputError, match=r"absent.json: No such file"):
        read_results(tmp_path / "absent.json")
    (tmp_path / "half.json").write_text('{"schema": 1')
    with pytest.raises(InputError, match=r"half.json: not JSON"):
        read_results(tmp_path / "half.json")


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_refused_wherever_it_is(tmp_path, number):
    record = score()
    record["by_length"][0]["ci"] = [0.0, 12345.5]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(record).replace("12345.5", number))
    with pytest.raises(InputError, match=r"results\.json: not JSON") as caught:
        read_results(path)
    assert "\n" not in str(caught.value)
