"""Files are written completely or not at all."""

import pytest

from lookback.common.files import atomic_write, write_json


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path):
    write_json(tmp_path / "x.json", {"a": "é"})
    with pytest.raises(TypeError), atomic_write(tmp_path / "x.json") as file:
        file.writelines([b"half", None])
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == '{\n  "a": "é"\n}\n'


def test_numbers_that_json_lacks_are_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", {"a": float("nan")})
    assert not list(tmp_path.iterdir())
