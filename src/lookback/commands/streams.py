"""The standard streams of a command, which a shell may have closed: ``<&-``, ``>&-``, ``2>&-``."""

import os
import sys
from contextlib import suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any

from lookback.common.errors import InputError


def open_closed_streams() -> None:
    """Opens the null device in place of each standard stream that is closed.

    Without it the next file that is opened gets the stream's number, and what libraries print would land in it; what is
    printed to a closed standard error would land on standard output.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is not None:
            continue
        null = os.open(os.devnull, os.O_RDWR)  # the least number that is free, which is this one
        if null != number:
            os.dup2(null, number)
            os.close(null)
        setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # as long as the process


def check_open(name: str, instead: str) -> None:
    """Refuses a standard stream that was closed, for a command that needs it.

    Args:
        name: ``stdin`` or ``stdout``.
        instead: what is expected.

    Raises:
        InputError: if it was closed.
    """
    stream = getattr(sys, name)
    if stream is None or getattr(stream, "name", None) == os.devnull:
        words = {"stdin": "standard input", "stdout": "standard output"}
        raise InputError(f"{words[name]} is closed; expected {instead}")


class _Lasting(FileIO):
    """A stream's file that becomes the null device when it cannot be written to any more."""

    def __init__(self, number: int, name: str) -> None:
        super().__init__(number, "w", closefd=False)
        self._said = f"note: {name}"

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            with suppress(OSError):
                os.write(2, f"{self._said}: {error.strerror}; going on without it\n".encode())
            return len(data)


def lasting_streams() -> None:
    """Makes standard output and error outlast their readers: ``| head``, a terminal that is gone, a full disk of a log.

    What is printed is lost then; the training that prints it goes on.
    """
    for name, words in (("stdout", "standard output"), ("stderr", "standard error")):
        stream = getattr(sys, name)
        if type(stream) is not TextIOWrapper or isinstance(getattr(stream.buffer, "raw", None), _Lasting):
            continue  # a program or a test has put something of its own there
        stream.flush()
        raw = _Lasting(stream.fileno(), words)
        lasting = TextIOWrapper(BufferedWriter(raw), "utf-8", stream.errors, line_buffering=stream.line_buffering)
        setattr(sys, name, lasting)
