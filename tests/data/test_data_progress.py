import re
import time

import pytest
from datasets.utils import are_progress_bars_disabled

from lookback.data import progress


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def test_a_short_step_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with progress.step("Reading a.en"):
        assert are_progress_bars_disabled()
    assert not are_progress_bars_disabled()
    assert capfd.readouterr() == ("", "Reading a.en …\n")


def test_a_long_step_says_that_it_goes_on(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY", 0.3)
    said = ""
    with progress.step("Reading a.en"):
        while said.count("\n") < 6:
            time.sleep(0.05)
            said += capfd.readouterr().err
    first, *others = said.splitlines()
    assert first == "Reading a.en …"
    seconds = [int(re.fullmatch(r"Reading a\.en … (\d+) s", line)[1]) for line in others]
    assert seconds == sorted(seconds)
    assert seconds[-1] >= 1, "the fifth line comes after a second and a half"


@pytest.mark.parametrize("error", [None, KeyError, KeyboardInterrupt])
def test_behind_its_end_it_says_nothing(
    error: type[BaseException] | None, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY", 0.01)
    if error is None:
        with progress.step("Reading a.en"):
            time.sleep(0.1)
    else:
        with pytest.raises(error), progress.step("Reading a.en"):
            raise error
    capfd.readouterr()
    time.sleep(0.1)
    assert capfd.readouterr().err == ""
