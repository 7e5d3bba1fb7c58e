"""BLEU against source length, drawn in the terminal, so that a remote shell shows the result."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

from lookback.evaluation import ENOUGH, label
from lookback.report.charts.charts import BASELINE, colors
from lookback.report.evidence.differences import arms
from lookback.runs import Run
from lookback.runs.run import training_limit

_WIDEST = 96
"""Columns at most: wider curves only get flatter"""
_BESIDE = 60
"""Columns from which on the names stand beside the ends of their lines; in fewer, below the axis"""
_MARGIN = 6
"""Columns left of the axis"""
_HEIGHT = 16
"""Lines of the plot at most, the one of 0 not counted"""

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a braille character's dots, by row and column"""


class _Glyphs(NamedTuple):
    """What the curve is drawn with. Marks are those of the charts; a hollow one stands for few sentences."""

    filled: str
    hollow: str
    fine: tuple[int, int]
    """Columns and rows of dots that a line has in a character"""
    tick: str
    wall: str
    corner: str
    floor: str
    under: str
    limit: str
    few: str


_UNICODE = _Glyphs("●■◆▲✚▼▶", "○□◇△✛▽▷", (2, 4), "┤", "│", "└", "─", "┬", "┊", "hollow")
_ASCII = _Glyphs(ascii_uppercase, ascii_lowercase, (1, 1), "+", "|", "+", "-", "+", ":", "small letter")


class _Cell(NamedTuple):
    text: str
    style: Style


@dataclass(frozen=True)
class _Arm:
    name: str
    style: Style
    scores: list[float | None]
    """A bucket each; None where it has no sentence"""
    bleu: float

    @property
    def last(self) -> float:
        return [score for score in self.scores if score is not None][-1]


class TerminalCurve:
    """The length curve of scored `runs` of one test set and signature: `console.print(TerminalCurve(runs))`.

    A line is the mean of an arm's runs, with a mark a bucket, and the arm's name and BLEU of the whole test set at its
    end. Marks that would hide each other stand side by side. A bucket with fewer than 50 sentences has a hollow mark,
    joined to no other; the dashed line is the longest sentence of training. It takes the width that the console has,
    up to 96 columns: under 60 the names stand below, and where bucket labels would touch, every second, third, … is
    shown. Where the console's encoding is not UTF-8, marks are letters and nothing leaves ASCII.

    Raises `ValueError` where no run has sentences that are scored.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        compared = arms([run for run in runs if run.bleu is not None])
        curves = {name: [(run.results or {})["by_length"] for run in of] for name, of in compared.items()}
        every = [curve for of in curves.values() for curve in of]
        filled = [place for curve in every for place, bucket in enumerate(curve) if bucket["n"]]
        if not filled:
            raise ValueError("runs: none is scored, expected at least one with test/results.json")
        shown = range(min(filled), max(filled) + 1)
        self._buckets: list[Mapping[str, Any]] = [every[0][place] for place in shown]
        self._arms = [
            _Arm(
                name,
                _style(color),
                [_mean(curve, place) for place in shown],
                fmean(run.bleu or 0 for run in compared[name]),
            )
            for (name, curve), color in zip(curves.items(), colors(list(compared)), strict=True)
        ]
        self._limits = sorted({limit for of in compared.values() for run in of if (limit := training_limit(run))})
        best = min(100, max(score for arm in self._arms for score in arm.scores if score is not None))
        self._step = next(step for step in (2, 5, 10, 20) if best <= 5 * step)
        self._ticks = max(3, math.ceil(best / self._step))
        self._rows = self._ticks * (_HEIGHT // self._ticks)  # lines above the one of 0
        self._seeds = sorted({len(of) for of in compared.values()})
        self._signature = next((run.results or {})["signature"] for of in compared.values() for run in of)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        glyphs = _ASCII if options.ascii_only or options.legacy_windows else _UNICODE
        width = min(options.max_width, _WIDEST)
        names = self._names(glyphs)
        longest = max(name.cell_len for name in names)
        beside = width >= _BESIDE and longest <= width // 3 and len(names) <= self._rows
        slot = max(2, (width - _MARGIN - (longest + 1 if beside else 0)) // len(self._buckets))
        yield Text("BLEU by source length", Style(bold=True))
        for line in self._plot(glyphs, slot, names if beside else []):
            line.rstrip()
            line.no_wrap, line.overflow = True, "crop"
            yield line
        yield from [] if beside else [Text(), *_flowing(names, width)]
        yield from _flowing([Text(part, Style(dim=True)) for part in self._notes(glyphs)], width)

    def _names(self, glyphs: _Glyphs) -> list[Text]:
        """Of the arms, each behind its mark: only that has the colour, which is hard to read on some backgrounds."""
        return [
            Text.assemble((_mark(glyphs.filled, place), arm.style), f" {arm.name} {arm.bleu:.1f}")
            for place, arm in enumerate(self._arms)
        ]

    def _notes(self, glyphs: _Glyphs) -> list[str]:
        """How the lines are made, and the signature that BLEU is never shown without."""
        notes = []
        if self._seeds[-1] > 1:
            notes.append(f"mean of {' to '.join(map(str, dict.fromkeys((self._seeds[0], self._seeds[-1]))))} seeds")
        if any(0 < bucket["n"] < ENOUGH for bucket in self._buckets):
            notes.append(f"{glyphs.few}: n < {ENOUGH}")
        return [*notes, self._signature]

    def _plot(self, glyphs: _Glyphs, slot: int, names: Sequence[Text]) -> list[Text]:
        """The plot's lines, from the training limit's words to the buckets' sentences; `names` are put beside it."""
        grid = self._grid(glyphs, slot)
        ends = self._ends() if names else {}
        quiet = Style(dim=True)
        lines = [self._limit_words(glyphs, slot)] if self._limit_columns(slot) else []
        for row in range(self._rows + 1):
            ticks, between = divmod(self._rows - row, self._rows // self._ticks)
            value, wall = ("", glyphs.wall) if between else (ticks * self._step, glyphs.tick)
            line = Text().append(f"{value:>{_MARGIN - 2}} {wall}", quiet)
            for column in range(slot * len(self._buckets)):
                line.append(*grid.get((row, column), _Cell(" ", Style())))
            if row in ends:
                line.append(" ").append_text(names[ends[row]])
            lines.append(line)
        return [*lines, *self._axis(glyphs, slot)]

    def _grid(self, glyphs: _Glyphs, slot: int) -> dict[tuple[int, int], _Cell]:
        """What stands in each (row, column) of the plot: training limits under lines under marks."""
        limit = _Cell(glyphs.limit, Style(dim=True))
        grid = {(row, column): limit for column in self._limit_columns(slot) for row in range(self._rows + 1)}
        drawn: dict[tuple[int, int], int] = {}
        marks: dict[tuple[int, int], list[int]] = {}  # the arms whose mark belongs there
        for place, arm in enumerate(self._arms):
            points = [
                (self._row(score), index * slot + slot // 2, self._buckets[index]["n"] >= ENOUGH)
                for index, score in enumerate(arm.scores)
                if score is not None
            ]
            for (row, column, enough), (next_row, next_column, next_enough) in pairwise(points):
                if enough and next_enough and next_column == column + slot:
                    for cell, bit in _line((row, column), (next_row, next_column), glyphs.fine):
                        drawn[cell] = drawn.get(cell, 0) | bit
                        grid[cell] = _Cell("." if glyphs is _ASCII else chr(0x2800 + drawn[cell]), arm.style)
            for row, column, _ in points:
                marks.setdefault((round(row), column), []).append(place)
        for (at, column), places in marks.items():
            kind = glyphs.filled if self._buckets[column // slot]["n"] >= ENOUGH else glyphs.hollow
            for index, place in enumerate(places):
                grid[at, column + index - (len(places) - 1) // 2] = _Cell(_mark(kind, place), self._arms[place].style)
        return grid

    def _ends(self) -> dict[int, int]:
        """The row of each arm's name, as near to the end of its line as the others' names leave room for."""
        order = sorted(range(len(self._arms)), key=lambda place: -self._arms[place].last)
        taken: list[int] = []
        for place in order:
            nearest = round(self._row(self._arms[place].last))
            taken.append(max(nearest, taken[-1] + 1) if taken else nearest)
        lowest = self._rows
        for index in reversed(range(len(taken))):  # what was pushed off the bottom comes back up
            taken[index] = min(taken[index], lowest)
            lowest = taken[index] - 1
        return dict(zip(taken, order, strict=True))

    def _axis(self, glyphs: _Glyphs, slot: int) -> list[Text]:
        """The axis, the buckets' lengths and the sentences in each; of labels that would touch, some are left out."""
        labels = [label(dict(bucket)) for bucket in self._buckets]
        counts = [f"{bucket['n']:,}" for bucket in self._buckets]
        every = math.ceil((max(map(len, [*labels, *counts])) + 1) / slot)
        shown = range(0, len(labels), every)
        quiet = Style(dim=True)
        floor = [glyphs.floor] * (slot * len(labels))
        for place in shown:
            floor[place * slot + slot // 2] = glyphs.under
        lines = [Text(" " * (_MARGIN - 1) + glyphs.corner + "".join(floor), quiet)]
        for head, texts in (("words", labels), ("n", counts)):
            line = f"{head:<{_MARGIN}}"
            for place in shown:
                line = line.ljust(_MARGIN + place * slot + slot // 2 - len(texts[place]) // 2) + texts[place]
            lines.append(Text(line, quiet if head == "n" else Style()))
        return lines

    def _limit_words(self, glyphs: _Glyphs, slot: int) -> Text:
        """Beside the first limit, on the side that has room."""
        column, *others = self._limit_columns(slot)
        words = f"trained up to {' and '.join(map(str, self._limits[: 1 + len(others)]))} words"
        if column + 2 + len(words) <= slot * len(self._buckets):
            return Text(" " * (_MARGIN + column) + f"{glyphs.limit} {words}", Style(dim=True))
        return Text(f"{words} {glyphs.limit}".rjust(_MARGIN + column + 1), Style(dim=True))

    def _limit_columns(self, slot: int) -> list[int]:
        """Where the longest sentences of training are, as far as they are left of the last bucket's end."""
        columns = []
        for limit in self._limits:
            for place, bucket in enumerate(self._buckets):
                size = 10 if bucket["hi"] is None else bucket["hi"] - bucket["lo"] + 1
                column = int((place + (limit + 1 - bucket["lo"]) / size) * slot)
                if bucket["lo"] <= limit < bucket["lo"] + size and column < slot * len(self._buckets):
                    columns.append(column)
        return columns

    def _row(self, score: float) -> float:
        return self._rows * (1 - score / (self._ticks * self._step))


def _line(
    start: tuple[float, int], end: tuple[float, int], fine: tuple[int, int]
) -> Iterator[tuple[tuple[int, int], int]]:
    """The (row, column) of each character on a straight line between two others' centres, and its dot's bit there."""
    across, down = fine
    steps = math.ceil(max((end[1] - start[1]) * across, abs(end[0] - start[0]) * down))
    for step in range(steps + 1):
        row, column = (from_ + (to - from_) * step / steps + 0.5 for from_, to in zip(start, end, strict=True))
        y, x = int(row * down), int(column * across)
        yield (y // down, x // across), _DOTS[y % down][x % across]


def _style(color: str) -> Style:
    """Of an arm: the charts' colour; the baseline's dark grey is whatever the terminal writes with."""
    return Style() if color == BASELINE else Style(color=color)


def _mark(marks: str, place: int) -> str:
    return marks[place % len(marks)]


def _mean(curves: Sequence[Sequence[Mapping[str, Any]]], place: int) -> float | None:
    scores = [curve[place]["bleu"] for curve in curves if curve[place]["bleu"] is not None]
    return fmean(scores) if scores else None


def _flowing(parts: Sequence[Text], width: int) -> list[Text]:
    """The parts after one another, three spaces apart, in as many lines as they need."""
    lines = [Text()]
    for part in parts:
        if lines[-1] and lines[-1].cell_len + 3 + part.cell_len > width:
            lines.append(Text())
        lines[-1].append("   " if lines[-1] else "").append_text(part)
    return lines
