"""predictions.jsonl keeps every text as it was, and refuses what it did not write."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.errors import InputError
from lookback.runs import Prediction, read_predictions, write_predictions

text = st.text(st.characters(codec="utf-8"), max_size=20)
predictions = st.builds(
    Prediction,
    id=st.integers(0, 10**9),
    source=text,
    reference=text,
    hypothesis=text,
    score=st.floats(allow_nan=False, allow_infinity=False),
    source_length=st.integers(0, 1000),
    truncated=st.booleans(),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("run") / "test" / "predictions.jsonl"


@given(written=st.lists(predictions, max_size=4))
def test_read_gives_back_what_was_written(path, written):
    write_predictions(path, written)
    assert read_predictions(path) == written
    assert [entry.name for entry in path.parent.iterdir()] == ["predictions.jsonl"]  # no temporary file is left


def test_one_line_a_sentence_even_with_line_separators_inside(path):
    write_predictions(path, [Prediction(0, "a\u2028b\r\nc\x85d", "", "", -1.0, 3, False)] * 3)
    assert path.read_bytes().count(b"\n") == 3
    assert read_predictions(path)[2].source == "a\u2028b\r\nc\x85d"


def test_a_score_that_is_no_number_is_null_in_the_file(path):
    write_predictions(path, [Prediction(0, "a", "b", "c", -math.inf, 1, True)])
    assert b'"score": null' in path.read_bytes()
    assert math.isnan(read_predictions(path)[0].score)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not json", ":2: not JSON"),
        ("[]", ":2: found list"),
        ('{"id": 1}', ":2: found id; expected the keys id, source"),
        (
            '{"id": true, "source": "", "reference": "", "hypothesis": "", "score": 0, "source_length": 0, '
            '"truncated": false}',
            ":2: id=True has the wrong type",
        ),
    ],
)
def test_a_bad_line_is_named(path, line, message):
    write_predictions(path, [Prediction(0, "a", "b", "c", -1.0, 1, True)])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match=message.replace("[", r"\[")):
        read_predictions(path)


def test_an_absent_file_and_a_file_that_is_no_text_are_named(tmp_path):
    with pytest.raises(InputError, match=r"absent.jsonl: No such file"):
        read_predictions(tmp_path / "absent.jsonl")
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_predictions(tmp_path / "bytes.jsonl")
