from pathlib import Path
from typing import BinaryIO

import pytest

from lookback.common.errors import InputError
from lookback.data.corpora import lines
from lookback.data.corpora.record_files import refuse_records


def test_a_refused_csv_file_is_closed_while_its_error_is_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it is closed when the error is collected, with a warning if the file goes first."""
    streams: list[BinaryIO] = []
    monkeypatch.setattr(lines, "_open", lambda path: streams.append(path.open("rb")) or streams[-1])
    file = tmp_path / "train.csv"
    file.write_text("source,target\na,b\na,b,c\n" + "a,b\n" * 100)
    with pytest.raises(InputError, match="has 3 cells, expected 2") as caught:
        refuse_records(file, "csv", ("source", "target"))
    assert caught.value.__traceback__ is not None
    assert [stream.closed for stream in streams] == [True]
