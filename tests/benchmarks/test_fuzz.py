"""The first inputs of `benchmarks/fuzz.py`; the command tries hundreds of thousands."""

import json
import random
from pathlib import Path

import fuzz
import pytest

from lookback.common.errors import InputError


@pytest.mark.parametrize("name", fuzz.READERS)
def test_a_damaged_file_is_read_or_refused_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (reader,) = fuzz.readers(tmp_path, [name])
    for seed in reader.seeds:
        assert reader.check(tmp_path / f"whole{reader.suffix}", seed), "a good file is refused"
    inputs = 20 if name == "translate" else 80  # a translation takes longer than a file is read
    outcomes = [fuzz.outcome(reader, number, tmp_path) for number in range(inputs)]
    assert not [(number, said) for number, said in enumerate(outcomes) if said not in (fuzz.ACCEPTED, fuzz.REFUSED)]
    assert {fuzz.ACCEPTED, fuzz.REFUSED} == set(outcomes)


def test_an_input_is_the_same_whenever_it_is_made(tmp_path: Path) -> None:
    (reader,) = fuzz.readers(tmp_path, ["predictions"])
    assert reader.input(7) == reader.input(7) != reader.input(8)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (KeyError("a"), "builtins.KeyError"),
        (InputError("nothing is wrong"), "a message without the file"),
        (MemoryError(), "builtins.MemoryError"),
    ],
)
def test_another_error_or_a_line_without_the_file_is_a_fault(raised: Exception, said: str, tmp_path: Path) -> None:
    def read(path: Path) -> None:
        raise raised

    reader = fuzz.Reader("made", ".txt", [b"a"], read)
    assert fuzz.outcome(reader, 1, tmp_path).startswith(said)


def test_an_endless_reader_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: Path) -> None:
        while True:
            pass

    monkeypatch.setattr(fuzz, "SECONDS", 0.1)
    assert "took longer" in fuzz.outcome(fuzz.Reader("made", ".txt", [b"a"], read), 1, tmp_path)


def test_a_changed_value_of_json_is_json_again() -> None:
    changed = [fuzz._value_changed({"a": [1, {"b": "c"}]}, random.Random(number)) for number in range(50)]
    assert len({json.dumps(value) for value in changed}) > 20
