"""Signals: what ends at once, what is only noted, and who is told."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lookback.common.signals import SIGNALS, Interrupted, at_once, deferred, handled, received


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Every signal would end this process if nothing handled it."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    assert {number: signal.getsignal(number) for number in SIGNALS} == before


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def ended(program: Callable[[], None]) -> Interrupted:
    """How a program ends whose signals are handled."""
    with pytest.raises(Interrupted) as end:
        handled()(program)()
    return end.value


@pytest.mark.parametrize(
    ("name", "code"), [("SIGHUP", 129), ("SIGINT", 130), ("SIGTERM", 143), ("SIGUSR1", 138), ("SIGUSR2", 140)]
)
def test_a_signal_ends_the_program_with_its_code(name: str, code: int) -> None:
    def program() -> None:
        send(getattr(signal, name))
        pytest.fail("it went on")

    end = ended(program)
    assert (end.code, end.signal.name, str(end)) == (code, name, name)


def test_a_deferred_signal_ends_the_program_later_and_the_first_counts() -> None:
    steps = []

    def program() -> None:
        with deferred():
            send(signal.SIGTERM)
            steps.append(received())
            send(signal.SIGINT)
            steps.append(received())
        pytest.fail("it went on")

    assert ended(program).signal == signal.SIGTERM
    assert steps == [signal.SIGTERM, signal.SIGTERM]


def test_at_once_inside_deferred_ends_at_its_beginning() -> None:
    def program() -> None:
        with deferred():
            send(signal.SIGTERM)
            with at_once():
                pytest.fail("it went on")

    assert ended(program).signal == signal.SIGTERM


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with handled():
            send(signal.SIGHUP)
            assert received() is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_handler_from_before_is_told_after_the_program_has_ended() -> None:
    told: list[tuple[int, str]] = []
    state = "running"

    def program() -> None:
        nonlocal state
        try:
            send(signal.SIGUSR2)
        finally:
            state = "saved"

    before = signal.signal(signal.SIGUSR2, lambda number, frame: told.append((number, state)))  # as submitit does
    try:
        ended(program)
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert told == [(signal.SIGUSR2, "saved")]


@pytest.mark.parametrize(
    ("name", "environment", "requeued"),
    [
        ("SIGUSR1", {"SLURM_PROCID": "0"}, "requeue 17"),
        ("SIGUSR2", {"SLURM_ARRAY_JOB_ID": "12", "SLURM_ARRAY_TASK_ID": "3"}, "requeue 12_3"),
        ("SIGTERM", {}, None),
        ("SIGUSR1", {"SLURM_PROCID": "1"}, None),  # another rank, which srun has started
        ("SIGUSR1", {"SLURM_PROCID": "0", "LOCAL_RANK": "1"}, None),  # or rank 0, or torchrun
    ],
)
def test_slurm_requeues_the_job_after_the_signals_that_a_user_asks_it_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, environment: dict[str, str], requeued: str | None
) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/asked"\n')
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    ended(lambda: send(getattr(signal, name)))
    asked = tmp_path / "asked"
    assert (asked.read_text().strip() if asked.exists() else None) == requeued


def test_slurm_that_refuses_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    assert ended(lambda: send(signal.SIGUSR1)).code == 138
    assert "scontrol requeue 17: " in capsys.readouterr().out


def test_outside_the_main_thread_nothing_is_handled() -> None:
    found = []

    def run() -> None:
        with handled():
            found.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [before]
