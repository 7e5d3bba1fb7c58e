"""The one error that is the user's to mend: commands print it as a single line, without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """Bad input. The message says what is wrong, where (file and line, or config key) and what was expected."""


@contextmanager
def config_errors(key: str = "") -> Iterator[None]:
    """Turns a ValueError or TypeError that is raised inside into an InputError, as a config value caused it.

    ``key`` names the value where the message does not. Hydra's ``instantiate`` has errors of its own, which name the
    key; this is for what it does not call itself.
    """
    try:
        yield
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{key}: {error}" if key else str(error)) from error
