"""What charts say in words: how their numbers were made, and what a reader who cannot see them is told."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lookback.evaluation import ENOUGH, Measure

_NAMED = 6
"""Arms whose names fit into a title"""


def capital(name: str) -> str:
    """A measure's name at the beginning of a title: `chrF2` stays as it is, `length ratio` becomes Length ratio."""
    return name if any(letter.isupper() for letter in name) else name[0].upper() + name[1:]


def span(counts: Sequence[int]) -> str:
    """Rising counts in short: `3`, or `2–3`."""
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def seeds_and_lines(seeds: Iterable[int], crowded: bool) -> str:
    """How many seeds the arms have, and which lines are drawn of them: in a `crowded` chart the means alone."""
    counts = sorted(set(seeds))
    if counts[-1] == 1:
        return "one seed"
    return f"means of {span(counts)} seeds" if crowded else f"{span(counts)} seeds: thin lines, their mean thick"


def band_words(band: str, crowded: bool) -> str:
    """What the band is: in a `crowded` chart only the arm that a reader brings forward has one."""
    return f"band of the arm brought forward: {band}" if crowded else f"band: {band}"


def names_in_title(names: Iterable[str]) -> str:
    """The names with commas, as far as a title has room for them; else how many there are."""
    listed = list(names)
    return ", ".join(listed) if len(listed) <= _NAMED else f"{len(listed)} arms"


def hollow_note(is_shown: bool) -> str:
    """What a hollow point means, as the end of a line; nothing where there is none."""
    return f" · hollow: n < {ENOUGH}" if is_shown else ""


def score_signature(measure: Measure, signature: str) -> str:
    """What a score must be shown with: the BLEU `signature` of a run, where the measure counts BLEU's tokens.

    Words never looked at are not sacrebleu's. The other measures are, with its defaults, of the same version.
    """
    if measure.statistics in ("bleu_statistics", "repetition_statistics", "trigram_statistics"):
        return signature
    if measure.statistics == "reading_statistics":
        return (
            "never: less than a tenth of one look in the whole translation; an even look, or the mean of several "
            "heads, reaches every word, so this ranks no arms"
        )
    version = next((part for part in signature.split("|") if part.startswith("version:")), "")
    return f"{measure.name} with sacrebleu's defaults · {version}"


def line_chart_description(what: str, lines: Mapping[str, Sequence[Mapping[str, Any]]], key: str, number: str) -> str:
    """The accessible name of a line chart of `what`: where each line, by its name, begins and ends.

    A line's points have a `bucket` and, under `key`, a value that is written in the format `number`.
    """
    moves = []
    for name, points in lines.items():
        first, last = points[0], points[-1]
        move = f"{name} {first[key]:{number}} at {first['bucket']} words"
        moves.append(move if len(points) == 1 else f"{move}, {last[key]:{number}} at {last['bucket']}")
    return f"Line chart. {what}: {'; '.join(moves)}."
