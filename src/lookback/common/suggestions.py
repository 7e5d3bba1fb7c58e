"""Names in messages: those that there are, and the one that is likely to be meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_LONGEST_NAME = 40  # characters of a name in a message


def one_of(known: Iterable[str], word: str) -> str:
    """What a name may be, and which of these ``word`` is most like."""
    names = sorted(known)
    return ("one of " if names[1:] else "") + listed(names) + nearest(word, names)


def listed(names: Sequence[str]) -> str:
    """Names, one after the other: not all where they are many, and not the whole of one that is a sentence."""
    shown = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in names[:20]]
    return ", ".join(shown) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def nearest(word: str, names: Sequence[str]) -> str:
    """A question, to end a message with, whether the one most like ``word`` is meant; nothing where none is like it."""
    near = get_close_matches(word, names, n=1)
    return f"; did you mean {near[0]}?" if near else ""
