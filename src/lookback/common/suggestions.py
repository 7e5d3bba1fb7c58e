"""Names in messages: the known ones, and the one that the user probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_LONGEST_NAME = 40  # characters of a name in a message


def one_of(known: Iterable[str], word: str) -> str:
    """The known names, sorted, and a hint at the one that is most similar to ``word``."""
    names = sorted(known)
    return ("one of " if names[1:] else "") + listed(names) + nearest(word, names)


def listed(names: Sequence[str]) -> str:
    """Names separated by commas: the first 20 of them, each cut after 40 characters."""
    shown = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in names[:20]]
    return ", ".join(shown) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def nearest(word: str, names: Sequence[str]) -> str:
    """The end of a message that suggests the name most similar to ``word``; empty if none is similar."""
    near = get_close_matches(word, names, n=1)
    return f"; did you mean {near[0]}?" if near else ""
