import time

import pytest
from datasets.utils import are_progress_bars_disabled

from lookback.data import progress


def test_a_short_step_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.step("Reading a.en"):
        assert are_progress_bars_disabled()
    assert not are_progress_bars_disabled()
    assert capsys.readouterr() == ("", "Reading a.en …\n")


def test_a_long_step_says_that_it_goes_on(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY", 0.01)
    said = ""
    with progress.step("Reading a.en"):
        for _ in range(1_000):
            said += capsys.readouterr().err
            if said.count("\n") > 3:
                break
            time.sleep(0.01)
    first, *others = said.splitlines()
    assert first == "Reading a.en …"
    assert set(others[:3]) == {"Reading a.en … 0 s"}
    capsys.readouterr()
    time.sleep(0.1)
    assert capsys.readouterr().err == "", "it says so after its end"


def test_a_step_that_fails_stops_talking(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY", 0.01)
    with pytest.raises(KeyError), progress.step("Reading a.en"):
        raise KeyError
    capsys.readouterr()
    time.sleep(0.1)
    assert capsys.readouterr().err == ""
