"""Checks that constructors share: what is refused is named, with its value and what was expected."""

from collections.abc import Mapping


def check_sizes(sizes: Mapping[str, int]) -> None:
    """Each size, by its argument's name, is 1 or more."""
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name}={size}: expected 1 or more")


def check_dropout(dropout: float) -> None:
    """A share of values to drop leaves some."""
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout={dropout}: expected 0 up to 1, 1 not included")
