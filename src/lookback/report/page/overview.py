"""Each arm in a row: its score, its gain over the baseline, and what length does to it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from lookback.report.charts.charts import BASELINE, PALETTE, colors, shapes
from lookback.report.evidence.group import Group
from lookback.report.evidence.headline import p_value


@dataclass(frozen=True)
class Number:
    """A number and its 95 % interval, as text."""

    text: str
    interval: str = ""


class Swatch(NamedTuple):
    """The mark that an arm has in every chart: the page's name of its colour, and its shape."""

    color: str
    shape: str


@dataclass(frozen=True)
class Arm:
    """One arm of a group."""

    name: str
    swatch: Swatch
    seeds: int
    bleu: Number
    gain: Number | None
    """None for the baseline, and where nothing was compared"""
    p: str
    """Of the gain, Holm-corrected over the arms"""
    kept: Number
    half: Number


def overview(group: Group) -> list[Arm]:
    """The arms of the group that have intervals, best first; none where no run left its counts."""
    swatch_of = swatches(group.counted.arms)
    gains = {contrast.arm: contrast.difference.whole for contrast in group.evidence.contrasts}
    known = sorted(group.evidence.arms.items(), key=lambda item: -(item[1]["score"] or 0))
    return [
        Arm(
            name,
            swatch_of[name],
            arm["seeds"],
            _number(arm, "score", "ci", ".1f"),
            _number(gains[name], "difference", "ci", "+.1f") if name in gains else None,
            _p(gains[name]) if name in gains else "",
            _number(arm, "retention", "retention_ci", ".0%"),
            _number(arm, "half_length", "half_length_ci", ".1f"),
        )
        for name, arm in known
    ]


def swatches(arms: Iterable[str]) -> dict[str, Swatch]:
    """The marks of all arms that are compared, by their names."""
    names = list(arms)
    known = (BASELINE, *PALETTE)
    marks = zip(names, colors(names), shapes(len(names)), strict=True)
    return {name: Swatch(f"--chart-{known.index(color)}", shape) for name, color, shape in marks}


def _p(whole: Mapping[str, Any]) -> str:
    """The corrected p. Under three seeds it is about the trained models, which is said where they differ."""
    return p_value(whole["p_holm"]) + (", these models" if whole["models_differ"] else "")


def _number(record: Mapping[str, Any], key: str, interval: str, form: str) -> Number:
    bounds = record[interval]
    text = "–" if record[key] is None else f"{record[key]:{form}}"
    if bounds is None:
        return Number(text)
    low, high = bounds
    return Number(text, f"{low:{form}} or later" if high is None else f"{low:{form}} to {high:{form}}")
