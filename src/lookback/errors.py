"""The one error that is the user's to mend: scripts print it as a single line, without a traceback."""


class InputError(ValueError):
    """Bad input. The message says what is wrong, where (file and line, or config key) and what was expected."""
