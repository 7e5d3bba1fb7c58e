"""Checks of arguments that constructors share. Messages have the form ``name=value: expected …``.

Values come from a config and may be of any type.
"""

from collections.abc import Mapping


def check_sizes(sizes: Mapping[str, object]) -> None:
    """Check that each size is a whole number, 1 or more.

    Args:
        sizes: the values, by the names of their arguments.

    Raises:
        ValueError: for the first value that is not.
    """
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int):
            raise ValueError(f"{name}={size!r}: expected a whole number, 1 or more")
        if size < 1:
            raise ValueError(f"{name}={size}: expected 1 or more")


def check_dropout(dropout: object) -> None:
    """Check that a share of values to drop is 0 or more and below 1.

    Raises:
        ValueError: if it is not.
    """
    if not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise ValueError(f"dropout={dropout!r}: expected 0 up to 1, 1 not included")


def check_switches(switches: Mapping[str, object]) -> None:
    """Check that each switch is true or false: Python would take any other word for true.

    Args:
        switches: the values, by the names of their arguments.

    Raises:
        ValueError: for the first value that is not.
    """
    for name, switch in switches.items():
        if not isinstance(switch, bool):
            raise ValueError(f"{name}={switch!r}: expected true or false")
