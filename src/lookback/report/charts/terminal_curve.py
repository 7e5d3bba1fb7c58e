"""BLEU against source length, drawn in the terminal, so that a remote shell shows the result."""

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from statistics import fmean
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

import numpy as np
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

from lookback.common.visible_text import visible
from lookback.evaluation import ENOUGH, label
from lookback.report.charts.charts import BASELINE, Runs, colors, runs_of, scored_arms, training_limits
from lookback.report.charts.terminal_canvas import QUIET, Canvas
from lookback.runs import Run

_WIDEST, _NAMES_BESIDE = 96, 60
"""Columns at most: in more, curves only get flatter. In fewer than 60 the names stand below, not beside their lines"""
_MARGIN, _HEIGHT = 6, 16
"""Columns left of the plot, and its lines at most, without the one of 0"""
_ASCII = str.maketrans("┤│└─┬┊", "+|+-+:")


class _Arm(NamedTuple):
    name: str
    bleu: float
    style: Style
    scores: Sequence[float | None]
    """One for each bucket; None where it has no sentence. The last bucket always has one."""


class TerminalCurve:
    """The length curve of scored `runs` of one test set and signature: `console.print(TerminalCurve(runs))`.

    A line is the mean of an arm's runs, with a mark for each bucket; at its end are the arm's name and its BLEU of the
    whole test set. Marks that would hide each other stand side by side. A bucket with fewer than 50 sentences has a
    hollow mark, joined with no other. The dashed line is the longest sentence of training. The plot is as wide as the
    console, up to 96 columns. Under 60 the names stand below it, and where the buckets' labels would touch, only every
    second, third, … is shown. Where the console's encoding is not UTF-8, all is drawn in ASCII, with letters as marks.

    Raises `ValueError` where no run has scored sentences.
    """

    def __init__(self, runs: Runs) -> None:
        arms = scored_arms(runs)
        results = [run.results for run in runs_of(arms) if run.results]
        filled = [place for place, bucket in enumerate(results[0]["by_length"]) if bucket["n"]] if results else []
        if not filled:
            raise ValueError("runs: none is scored, expected at least one with test/results.json")
        shown = slice(filled[0], filled[-1] + 1)
        self._buckets = results[0]["by_length"][shown]
        self._arms = [
            _arm(name, members, color, shown)
            for (name, members), color in zip(arms.items(), colors(list(arms)), strict=True)
        ]
        self._limits = training_limits(runs_of(arms))
        self._seeds = sorted({len(members) for members in arms.values() if members[0].is_training}) or [0]
        self._signature = results[0]["signature"]
        best = min(100, max(score for arm in self._arms for score in arm.scores if score is not None))
        self._step = next(step for step in (2, 5, 10, 20) if best <= 5 * step)
        self._ticks = max(3, math.ceil(best / self._step))
        self._rows = self._ticks * (_HEIGHT // self._ticks)  # above the one of 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        ascii_only = options.ascii_only or options.legacy_windows
        filled, hollow = (ascii_uppercase, ascii_lowercase) if ascii_only else ("●■◆▲✚▼▶", "○□◇△✛▽▷")
        width = min(options.max_width, _WIDEST)
        # only its mark has the arm's colour, in which a name is hard to read on some backgrounds
        names = [
            Text.assemble((filled[number % len(filled)], arm.style), f" {arm.name} {arm.bleu:.1f}")
            for number, arm in enumerate(self._arms)
        ]
        longest = max(name.cell_len for name in names)
        beside = width >= _NAMES_BESIDE and longest <= width // 3 and len(names) <= self._rows
        slot = max(2, (width - _MARGIN - (longest + 1 if beside else 0)) // len(self._buckets))
        yield Text("BLEU by source length", Style(bold=True))
        canvas = self._canvas(slot, filled, hollow, ascii_only)
        for line in [*self._limit_text(slot), *self._plot(canvas, names if beside else []), *self._axis(slot)]:
            line.plain = line.plain.translate(_ASCII) if ascii_only else line.plain
            line.rstrip()
            line.no_wrap, line.overflow = True, "crop"
            yield line
        yield from [] if beside else [Text(), *_flowing(names, width)]
        yield from _flowing(self._notes("small letter" if ascii_only else "hollow"), width)

    def _notes(self, hollow: str) -> list[Text]:
        """How the lines are made, and the signature that BLEU is never shown without."""
        seeds = " to ".join(map(str, dict.fromkeys((self._seeds[0], self._seeds[-1]))))
        notes = [f"mean of {seeds} seeds"] if self._seeds[-1] > 1 else []
        notes += [f"{hollow}: n < {ENOUGH}"] if any(0 < bucket["n"] < ENOUGH for bucket in self._buckets) else []
        return [Text(note, QUIET) for note in (*notes, self._signature)]

    def _canvas(self, slot: int, filled: str, hollow: str, ascii_only: bool) -> Canvas:
        """The training limits, and the arms' lines and marks."""
        canvas = Canvas(self._rows + 1, slot * len(self._buckets), ascii_only)
        for column in self._limit_columns(slot).values():
            canvas.rule(column)
        for number, arm in enumerate(self._arms):
            points = [
                (score, self._row(score or 0), index * slot + slot // 2, bucket["n"] >= ENOUGH)
                for index, (score, bucket) in enumerate(zip(arm.scores, self._buckets, strict=True))
            ]
            for (_, row, column, enough), (_, next_row, next_column, next_enough) in pairwise(points):
                if enough and next_enough:
                    canvas.line((row, column), (next_row, next_column), arm.style)
            for score, row, column, enough in points:
                kind = filled if enough else hollow
                if score is not None:
                    canvas.mark(round(row), column, Text(kind[number % len(kind)], arm.style))
        return canvas

    def _plot(self, canvas: Canvas, names: Sequence[Text]) -> list[Text]:
        """The drawing, with ticks on its left and the names on its right."""
        right = self._name_rows(names)
        lines = []
        for row, drawn in enumerate(canvas.rows()):
            ticks, between = divmod(self._rows - row, self._rows // self._ticks)
            left = " " * (_MARGIN - 1) + "│" if between else f"{ticks * self._step:>{_MARGIN - 2}} ┤"
            lines.append(Text.assemble((left, QUIET), drawn, " ", right.get(row, "")))
        return lines

    def _name_rows(self, names: Sequence[Text]) -> dict[int, Text]:
        """The row of each name: as near to the end of its arm's line as the other names allow."""
        ends = [round(self._row(arm.scores[-1] or 0)) for arm in self._arms[: len(names)]]
        order = sorted(range(len(names)), key=lambda number: -(self._arms[number].scores[-1] or 0))
        rows = accumulate((ends[number] for number in order), lambda above, row: max(above + 1, row))
        # names that were pushed below the axis move up again
        lowest = range(self._rows + 1 - len(names), self._rows + 1)
        return {min(row, most): names[number] for row, most, number in zip(rows, lowest, order, strict=True)}

    def _axis(self, slot: int) -> list[Text]:
        """The axis, the buckets' lengths, and the sentences in each. Labels that would touch are left out."""
        labels = [label(bucket) for bucket in self._buckets]
        counts = [f"{bucket['n']:,}" for bucket in self._buckets]
        every = math.ceil((max(map(len, [*labels, *counts])) + 1) / slot)
        axis, words, sentences = " " * (_MARGIN - 1) + "└", f"{'words':<{_MARGIN}}", f"{'n':<{_MARGIN}}"
        for index in range(0, len(labels), every):
            centre = _MARGIN + index * slot + slot // 2
            axis = axis.ljust(centre, "─") + "┬"
            words = words.ljust(centre - len(labels[index]) // 2) + labels[index]
            sentences = sentences.ljust(centre - len(counts[index]) // 2) + counts[index]
        return [Text(axis.ljust(_MARGIN + slot * len(labels), "─"), QUIET), Text(words), Text(sentences, QUIET)]

    def _limit_text(self, slot: int) -> list[Text]:
        """What the dashed rules are: on the side of the first one that has room; nothing without a rule."""
        columns = self._limit_columns(slot)
        if not columns:
            return []
        column, width = _MARGIN + min(columns.values()), _MARGIN + slot * len(self._buckets)
        text = f"trained up to {' and '.join(map(str, columns))} words"
        right = " " * column + f"┊ {text}"
        return [Text(right if len(right) <= width else f"{text} ┊".rjust(column + 1), QUIET)]

    def _limit_columns(self, slot: int) -> dict[int, int]:
        """The column of each training limit that lies among the buckets, before the end of the last one."""
        last = self._buckets[-1]
        starts = [
            *(bucket["lo"] for bucket in self._buckets),
            last["lo"] + 10 if last["hi"] is None else last["hi"] + 1,
        ]
        inside = [limit for limit in self._limits if starts[0] <= limit < starts[-1] - 1]
        return {limit: int(np.interp(limit + 1, starts, range(len(starts))) * slot) for limit in inside}

    def _row(self, score: float) -> float:
        return self._rows * (1 - score / (self._ticks * self._step))


def _arm(name: str, runs: Sequence[Run], color: str, shown: slice) -> _Arm:
    """The means over an arm's runs, of the buckets that are shown."""
    curves = [[bucket["bleu"] for bucket in run.results["by_length"][shown]] for run in runs if run.results]
    known = [[score for score in scores if score is not None] for scores in zip(*curves, strict=True)]
    style = Style() if color == BASELINE else Style(color=color)  # the baseline's dark grey is hard to see on black
    return _Arm(
        visible(name),
        fmean(run.bleu or 0 for run in runs),
        style,
        [fmean(scores) if scores else None for scores in known],
    )


def _flowing(parts: Sequence[Text], width: int) -> list[Text]:
    """The parts one after another, three spaces apart, in as many lines as they need."""
    lines = [Text()]
    for part in parts:
        if lines[-1] and lines[-1].cell_len + 3 + part.cell_len > width:
            lines.append(Text())
        lines[-1].append("   " if lines[-1] else "").append_text(part)
    return lines
