"""The error that a user can correct. Commands print it as a single line, without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

from lookback.common.visible_text import visible_line

_LONGEST = 1500
"""Characters of a message"""


class InputError(ValueError):
    """Bad input. The message says what is wrong, where (file and line, or config key) and what was expected.

    It is one line of visible text, whatever it quotes: a damaged file may hold line ends, escape sequences of a
    terminal or megabytes. Of a long message the beginning and the end are kept.

    Args:
        message: what it says.
    """

    def __init__(self, message: str) -> None:
        line = visible_line(message)
        super().__init__(line if len(line) <= _LONGEST else f"{line[: _LONGEST - 300]} … {line[-290:]}")


@contextmanager
def config_errors(key: str = "") -> Iterator[None]:
    """Turn a ValueError or TypeError that is raised inside into an InputError: a config value caused it.

    Hydra's ``instantiate`` raises errors of its own, which name the key. This is for calls that Hydra does not make.

    Args:
        key: named before the message; empty where the message names the key.

    Raises:
        InputError: in place of the error that was raised.
    """
    try:
        yield
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{key}: {error}" if key else str(error)) from error
