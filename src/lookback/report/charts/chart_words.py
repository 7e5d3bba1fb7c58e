"""What charts say in words: how their numbers were made, and what there is to see for those who do not see it."""

from collections.abc import Mapping, Sequence
from typing import Any

from lookback.evaluation import Measure


def capital(name: str) -> str:
    """A measure's name where a title begins with it: `chrF2` stays what it is, `length ratio` is Length ratio."""
    return name if any(letter.isupper() for letter in name) else name[0].upper() + name[1:]


def span(counts: Sequence[int]) -> str:
    """Rising counts in short: `3`, or `2–3`."""
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def signed(measure: Measure, signature: str) -> str:
    """What a score must be shown with: the BLEU `signature` of a run, where the measure counts BLEU's tokens.

    The other measures are sacrebleu's, of the same version, with its defaults.
    """
    if measure.statistics in ("bleu_statistics", "repetition_statistics"):
        return signature
    version = next((part for part in signature.split("|") if part.startswith("version:")), "")
    return f"{measure.name} with sacrebleu's defaults · {version}"


def described(what: str, lines: Mapping[str, Sequence[Mapping[str, Any]]], key: str, number: str) -> str:
    """The accessible name of a line chart of `what`: where each line, by its name, begins and ends.

    A line's points have a `bucket` and, under `key`, a number whose format is `number`.
    """
    moves = []
    for name, points in lines.items():
        first, last = points[0], points[-1]
        move = f"{name} {first[key]:{number}} at {first['bucket']} words"
        moves.append(move if len(points) == 1 else f"{move}, {last[key]:{number}} at {last['bucket']}")
    return f"Line chart. {what}: {'; '.join(moves)}."
