"""Each attention in a line: what it scores, what it gains, and what length does to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lookback.report.charts.charts import BASELINE, PALETTE, colors
from lookback.report.evidence.differences import arms
from lookback.report.evidence.group import Group
from lookback.report.evidence.headline import p_value
from lookback.runs import Run


@dataclass(frozen=True)
class Number:
    """A number as it is shown, and its 95 % interval."""

    text: str
    interval: str = ""


@dataclass(frozen=True)
class Arm:
    """One arm of a group."""

    name: str
    swatch: str
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
    gains = {contrast.arm: contrast.difference.whole for contrast in group.evidence.contrasts}
    marks = swatches(group.scored)
    known = sorted(group.evidence.arms.items(), key=lambda item: -(item[1]["score"] or 0))
    return [
        Arm(
            name,
            marks[name],
            arm["seeds"],
            _number(arm, "score", "ci", ".1f"),
            _number(gains[name], "difference", "ci", "+.1f") if name in gains else None,
            _p(gains[name]) if name in gains else "",
            _number(arm, "retention", "retention_ci", ".0%"),
            _number(arm, "half_length", "half_length_ci", ".1f"),
        )
        for name, arm in known
    ]


def swatches(runs: Sequence[Run]) -> dict[str, str]:
    """For each arm of scored runs, the name of the page's colour that is its colour in every chart."""
    names = list(arms(runs))
    known = (BASELINE, *PALETTE)
    return {name: f"--chart-{known.index(color)}" for name, color in zip(names, colors(names), strict=True)}


def _p(whole: Mapping[str, Any]) -> str:
    """Corrected; under three seeds it is of the trained models, and says so where they differ."""
    return p_value(whole["p_holm"]) + (", these models" if whole["models_differ"] else "")


def _number(record: Mapping[str, Any], key: str, interval: str, form: str) -> Number:
    bounds = record[interval]
    said = "–" if record[key] is None else f"{record[key]:{form}}"
    if bounds is None:
        return Number(said)
    low, high = bounds
    return Number(said, f"{low:{form}} or later" if high is None else f"{low:{form}} to {high:{form}}")
