"""Checks that constructors share: what is refused is named, with its value and what was expected.

Values come from a config, and may be of any type.
"""

from collections.abc import Mapping


def check_sizes(sizes: Mapping[str, object]) -> None:
    """Each size, by its argument's name, is 1 or more."""
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int):
            raise ValueError(f"{name}={size!r}: expected a whole number, 1 or more")
        if size < 1:
            raise ValueError(f"{name}={size}: expected 1 or more")


def check_dropout(dropout: object) -> None:
    """A share of values to drop leaves some."""
    if not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise ValueError(f"dropout={dropout!r}: expected 0 up to 1, 1 not included")


def check_switches(switches: Mapping[str, object]) -> None:
    """Each switch, by its argument's name, is on or off: any other word would count as on."""
    for name, switch in switches.items():
        if not isinstance(switch, bool):
            raise ValueError(f"{name}={switch!r}: expected true or false")
