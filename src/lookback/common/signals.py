"""Signals that ask a program to end, and how it ends.

====================================  =========  ================================================================
signal                                exit code  sent by
====================================  =========  ================================================================
SIGHUP                                129        a terminal that is closed
SIGINT                                130        Ctrl+C
SIGUSR1 (10)                          138        ``sbatch --signal=USR1@90``: Slurm, before the time is over
SIGUSR2 (12)                          140        the same, as submitit asks for it
SIGTERM                               143        ``kill``, ``scancel``, a preempted or restarted machine
====================================  =========  ================================================================

The numbers are those of Linux on x86 and ARM; the exit code is always 128 + the signal's number. After SIGUSR1 or
SIGUSR2 in a Slurm job, the job is put back into Slurm's queue, as Lightning and submitit do.

The first signal counts. Later ones do not disturb what the program saves before it ends. A signal that the program was
started to ignore, as ``nohup`` does with SIGHUP, is ignored.
"""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2") if hasattr(signal, name)
)
"""The signals that are handled; Windows has only the first two."""
_REQUEUED = {"SIGUSR1", "SIGUSR2"}


class Interrupted(SystemExit):
    """A signal ends the program.

    Args:
        number: of the signal.

    Attributes:
        signal: the signal.
        code: the exit code, 128 + the signal's number.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal = signal.Signals(number)

    def __str__(self) -> str:
        return self.signal.name


class _State:
    """What is known of signals. There is one for the process, as there is one handler of a signal for a process."""

    received: signal.Signals | None = None
    at_once = False
    before: ClassVar[dict[signal.Signals, Callable[..., Any] | int]] = {}
    """The handlers that are set again at the end."""


@contextmanager
def handled() -> Iterator[None]:
    """Handles ``SIGNALS`` inside: they raise ``Interrupted`` wherever the program is, except inside ``deferred()``.

    At the end the handlers from before are set again, and a signal that has arrived is passed on: to the handler from
    before, which in a job of submitit requeues it, or to Slurm. Python handles signals in the main thread alone, so in
    another thread nothing is handled.

    Raises:
        Interrupted: at the end, if a signal has arrived that nothing else raised.
    """
    if threading.current_thread() is not threading.main_thread() or _State.before:
        yield
        return
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    _State.before = {number: handler for number, handler in handlers.items() if handler not in (None, signal.SIG_IGN)}
    _State.received = None
    install()
    received = None
    try:
        with at_once():
            yield
    finally:
        received, before = _State.received, _State.before
        for number, handler in before.items():
            signal.signal(number, handler)
        _State.received, _State.before = None, {}
        if received is not None and isinstance(sys.exception(), Interrupted):
            _pass_on(received, before.get(received))


def install() -> None:
    """Sets the handlers again, where a library has set its own inside ``handled()``."""
    for number in _State.before:
        signal.signal(number, _handle)


def received() -> signal.Signals | None:
    """The first signal that has arrived inside ``handled()``."""
    return _State.received


@contextmanager
def at_once() -> Iterator[None]:
    """Inside, a signal raises ``Interrupted``; also one that was noted before."""
    with _mode(True):
        yield


@contextmanager
def deferred() -> Iterator[None]:
    """Inside, a signal is only noted; ``Interrupted`` is raised at the end."""
    with _mode(False):
        yield


@contextmanager
def _mode(at_once: bool) -> Iterator[None]:
    outside, _State.at_once = _State.at_once, at_once
    try:
        _raise_noted()
        yield
        _State.at_once = at_once or outside
        _raise_noted()
    finally:
        _State.at_once = outside


def _raise_noted() -> None:
    if _State.at_once and _State.received is not None:
        raise Interrupted(_State.received)


def _handle(number: int, frame: Any) -> None:
    if _State.received is None:
        _State.received = signal.Signals(number)
        # not print, because the signal may have come in the middle of a print
        os.write(2, f"{_State.received.name}: stopping\n".encode())
    _raise_noted()


def _pass_on(number: signal.Signals, handler: Callable[..., Any] | int | None) -> None:
    """Gives a signal to the handler from before, if a program has set one, or else to Slurm."""
    if callable(handler) and handler is not signal.default_int_handler:
        handler(number, None)
    elif number.name in _REQUEUED and "SLURM_JOB_ID" in os.environ and _is_first_of_job():
        requeue_slurm_job()


def _is_first_of_job() -> bool:
    """False for the other ranks of a distributed training. Slurm signals all processes of a job."""
    return all(os.environ.get(name, "0") == "0" for name in ("SLURM_PROCID", "LOCAL_RANK"))


def requeue_slurm_job() -> None:
    """Puts this Slurm job back into the queue. A failure is printed and changes nothing else."""
    job = os.environ["SLURM_JOB_ID"]
    if "SLURM_ARRAY_JOB_ID" in os.environ:
        job = f"{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ['SLURM_ARRAY_TASK_ID']}"
    if not re.fullmatch(r"[0-9_]+", job):
        print(f"SLURM_JOB_ID={job}: expected a number; the job is not requeued", flush=True)
        return
    try:
        done = subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True, timeout=60, check=False)
        said, failed = done.stderr.strip(), done.returncode != 0
    except (OSError, subprocess.TimeoutExpired) as error:
        said, failed = str(error), True
    print(f"scontrol requeue {job}: {said}" if failed else f"Slurm job {job} is requeued", flush=True)
