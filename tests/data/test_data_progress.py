import threading
from queue import SimpleQueue

import pytest
from datasets.utils import are_progress_bars_disabled

from lookback.data import progress


class Waits:
    """An event whose waiting ends when the test says so, without any delay."""

    def __init__(self) -> None:
        self.asked: SimpleQueue[float] = SimpleQueue()
        self.over: SimpleQueue[bool] = SimpleQueue()

    def wait(self, timeout: float) -> bool:
        self.asked.put(timeout)
        return self.over.get()

    def set(self) -> None:
        """The step has ended."""


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def test_a_short_step_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with progress.step("Reading a.en"):
        assert are_progress_bars_disabled()
    assert not are_progress_bars_disabled()
    assert capfd.readouterr() == ("", "Reading a.en …\n")


def test_a_long_step_says_that_it_goes_on(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ended, clock = Waits(), Clock()
    monkeypatch.setattr(progress, "Event", lambda: ended)
    monkeypatch.setattr(progress, "time", clock)
    with progress.step("Reading a.en"):
        for seconds in (8.0, 16.0, 24.4):
            assert ended.asked.get() == progress.LINE_EVERY
            clock.now = seconds
            ended.over.put(False)
        assert ended.asked.get() == progress.LINE_EVERY, "the third line is said"
        ended.over.put(False)
        ended.asked.get()
        ended.over.put(True)
    assert capfd.readouterr().err.splitlines() == [
        "Reading a.en …",
        "Reading a.en … 8 s",
        "Reading a.en … 16 s",
        "Reading a.en … 24 s",
        "Reading a.en … 24 s",
    ]


@pytest.mark.parametrize("error", [None, KeyError, KeyboardInterrupt])
def test_behind_its_end_it_says_nothing(
    error: type[BaseException] | None, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    class Kept(threading.Thread):
        def start(self) -> None:
            threads.append(self)
            super().start()

    monkeypatch.setattr(progress, "Thread", Kept)
    if error is None:
        with progress.step("Reading a.en"):
            pass
    else:
        with pytest.raises(error), progress.step("Reading a.en"):
            raise error
    (lines,) = threads
    assert not lines.is_alive(), "who would say a line is gone"
    assert capfd.readouterr().err == "Reading a.en …\n"
