"""The standard streams of a command, which a shell may have closed: ``<&-``, ``>&-``, ``2>&-``."""

import os
import sys

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
