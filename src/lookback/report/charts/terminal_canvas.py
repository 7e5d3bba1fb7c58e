"""A grid of characters to draw on: vertical rules, under lines of braille dots, under marks."""

import math
from collections import defaultdict
from collections.abc import Iterator

from rich.style import Style
from rich.text import Text

QUIET = Style(dim=True)

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a braille character's dots, by row and column"""

Place = tuple[int, int]
"""Row and column of a character, from the top left"""


class Canvas:
    """The drawing. In ASCII a line is made of full stops, one for a character."""

    def __init__(self, rows: int, columns: int, ascii_only: bool) -> None:
        self._size = rows, columns
        self._ascii_only = ascii_only
        self._dots: dict[Place, int] = defaultdict(int)
        self._rules: dict[Place, Text] = {}
        self._lines: dict[Place, Text] = {}
        self._marks: dict[Place, list[Text]] = defaultdict(list)

    def rule(self, column: int) -> None:
        """Draw a dashed rule from top to bottom."""
        self._rules |= {(row, column): Text("┊", QUIET) for row in range(self._size[0])}

    def line(self, start: tuple[float, int], end: tuple[float, int], style: Style) -> None:
        """Draw a straight line from one (row, column) to another one to its right, centre to centre."""
        for place, dot in self._dots_between(start, end):
            self._dots[place] |= dot
            self._lines[place] = Text("." if self._ascii_only else chr(0x2800 + self._dots[place]), style)

    def mark(self, row: int, column: int, mark: Text) -> None:
        """Set a mark. Marks of one place will stand side by side."""
        self._marks[row, column].append(mark)

    def rows(self) -> list[Text]:
        """What was drawn."""
        marks = {
            (row, column + index - (len(together) - 1) // 2): mark
            for (row, column), together in self._marks.items()
            for index, mark in enumerate(together)
        }
        cells = self._rules | self._lines | marks
        rows, columns = map(range, self._size)
        return [Text.assemble(*(cells.get((row, column), " ") for column in columns)) for row in rows]

    def _dots_between(self, start: tuple[float, int], end: tuple[float, int]) -> Iterator[tuple[Place, int]]:
        """The characters on a line, and the bit of a dot of the line in each."""
        across, down = (1, 1) if self._ascii_only else (2, 4)
        steps = math.ceil(max((end[1] - start[1]) * across, abs(end[0] - start[0]) * down))
        for step in range(steps + 1):
            row, column = (from_ + (to - from_) * step / steps + 0.5 for from_, to in zip(start, end, strict=True))
            y, x = int(row * down), int(column * across)
            yield (y // down, x // across), _DOTS[y % down][x % across]
