"""The error that a user can correct. Commands print it as a single line, without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """Bad input. The message says what is wrong, where (file and line, or config key) and what was expected."""


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
