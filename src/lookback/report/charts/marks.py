"""The marks of a chart of arms: bands, thin and thick lines, filled and hollow points."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import numpy as np

from lookback.report.charts.charts import HIGHLIGHTED, INK, Point, data_chart
from lookback.report.charts.points import apart

LABEL_HEIGHT = 16
"""Pixels of a line of text: the names at the ends of the lines stand at least so far from each other"""
LONGEST_LABEL = 280
"""Pixels that are drawn of a label"""
_MOST = 40
"""Characters that have room there"""
_AWAY, _NAME_AWAY = 0.1, 0.5
"""Opacity of the other arms and of their names while one is brought forward"""


@dataclass(frozen=True)
class ArmMarks:
    """How arms are drawn: each method makes one layer of the data in `base`.

    A point belongs to an `arm` and to a `piece`, the stretch of the line that it is part of.
    """

    x: alt.X
    y: alt.Y
    color: alt.Color | alt.ColorValue
    shape: alt.Shape
    tooltip: list[alt.Tooltip]
    """Of a point"""
    bounds: tuple[alt.Y, alt.Y2] | None = None
    """Ends of the interval around each mean; None where there is none"""
    dash: alt.StrokeDash | None = None
    """Of lines, where there are more arms than colours"""
    piece: alt.Detail = field(default_factory=lambda: alt.Detail("piece:N"))
    run: alt.Detail = field(default_factory=lambda: alt.Detail("run:N"))
    arm: alt.Detail | None = None
    """Needed where `color` is no scale of the arms, which would keep their lines apart"""
    highlights: bool = True
    """Whether the chart has the parameter `HIGHLIGHTED`, by which an arm is brought forward"""

    @property
    def crowded(self) -> bool:
        """Whether the bands, the intervals and the lines of single runs are drawn only of the arm in the foreground."""
        return self.dash is not None

    def layers(self, means: Sequence[Point], singles: Sequence[Point]) -> list[alt.Chart]:
        """The layers of most charts: the arms' `means` with their intervals, below them the `singles`, a line a run."""
        joined, alone = data_chart(in_lines(means)), data_chart(outside_lines(means))
        layers = [self.run_lines(data_chart(in_lines(singles))), self.mean_lines(joined), self.filled_points(joined)]
        if self.bounds:
            layers.insert(0, self.bands(data_chart(_with_interval(in_lines(means)))))
            layers.append(self.intervals(data_chart(_with_interval(outside_lines(means)))))
        return [*layers, self.hollow_points(alone)]

    def bands(self, base: alt.Chart) -> alt.Chart:
        """The intervals along a line."""
        assert self.bounds is not None
        drawn = self.x, *self.bounds, self.color, *self.opacity(0.14, aside=True)
        return base.mark_area().encode(*drawn, **self._detail(self.piece))

    def run_lines(self, base: alt.Chart) -> alt.Chart:
        """Thin: the line of each run."""
        drawn = self.x, self.y, self.color, *self._dash(), *self.opacity(0.4, aside=True)
        return base.mark_line(strokeWidth=1).encode(*drawn, **self._detail(self.run, self.piece))

    def mean_lines(self, base: alt.Chart) -> alt.Chart:
        """Thick: the mean of an arm's runs."""
        drawn = self.x, self.y, self.color, *self._dash(), *self.opacity(1)
        return base.mark_line(strokeWidth=2.6).encode(*drawn, **self._detail(self.piece))

    def filled_points(self, base: alt.Chart) -> alt.Chart:
        """Of enough sentences, or of a significant difference."""
        return self._points(base.mark_point(size=62, filled=True, opacity=1))

    def hollow_points(self, base: alt.Chart) -> alt.Chart:
        """Of too few sentences, or of no significant difference."""
        return self._points(base.mark_point(size=62, fill="white", strokeWidth=2, opacity=1))

    def intervals(self, base: alt.Chart) -> alt.Chart:
        """The interval of a point that is in no line."""
        assert self.bounds is not None
        drawn = self.x, *self.bounds, self.color, *self.opacity(0.7, aside=True)
        return base.mark_rule(strokeWidth=1.4, clip=True).encode(*drawn, **self._detail())

    def end_labels(
        self,
        lines: Mapping[str, Sequence[Point]],
        key: str,
        domain: Sequence[float],
        height: int,
        logarithmic: bool = False,
    ) -> list[alt.Chart]:
        """The arms' marks and names at the right, in place of a legend; a thin line leads there from each last point.

        Names stand apart from each other, as near to their lines as that allows.

        Args:
            lines: the points of each arm's line, by the arm's name; the label is the `arm` of the points.
            key: of the points' values.
            domain: the lowest and the highest value on the axis.
            height: of the chart, in pixels.
            logarithmic: whether the axis is.
        """
        ends = [(name, points[-1]) for name, points in lines.items()]
        values = np.array([*domain, *(end[key] for _, end in ends)], dtype=float)
        low, high, *at = np.log(values) if logarithmic else values
        wanted = [float(np.clip((high - value) / (high - low), 0, 1)) for value in at]
        places = apart(wanted, LABEL_HEIGHT / height)
        base = data_chart(
            [
                {
                    "arm": end["arm"],
                    "name": name,
                    "label": _cut(end["arm"]),
                    "x": end["x"],
                    key: end[key],
                    "place": round(place, 4),
                }
                for (name, end), place in zip(ends, places, strict=True)
            ]
        )
        place = {"expr": "height * datum.place"}
        line = base.mark_rule(strokeWidth=1).properties(name="label_line")
        mark = base.mark_point(size=62, filled=True, opacity=1, cursor="pointer").properties(name="label_mark")
        text = base.mark_text(
            align="left", baseline="middle", fontSize=13, color=INK, limit=LONGEST_LABEL, cursor="pointer"
        ).properties(name="label_text")
        to = alt.X2Value({"expr": "width + 10"}), alt.Y2Value(place)
        return [
            line.encode(self.x, self.y, *to, self.color, *self.opacity(0.45)),
            mark.encode(
                alt.XValue({"expr": "width + 16"}),
                alt.YValue(place),
                self.color,
                self.shape,
                *self.opacity(1, away=_NAME_AWAY),
            ),
            text.encode(
                alt.XValue({"expr": "width + 26"}),
                alt.YValue(place),
                alt.Text("label:N"),
                *self.opacity(1, away=_NAME_AWAY),
            ),
        ]

    def opacity(self, full: float, aside: bool = False, away: float = _AWAY) -> list[alt.OpacityValue]:
        """The channel that brings an arm forward: the others fade to `away`, or vanish where they are only an `aside`.

        In a crowded chart what is `aside` of the means is drawn of that arm alone.
        """
        if not self.highlights:
            return [alt.OpacityValue(full)]
        chosen = {"test": f"datum.arm === {HIGHLIGHTED}", "value": full}
        none_is = {"test": f"{HIGHLIGHTED} === ''", "value": 0 if aside and self.crowded else full}
        return [alt.OpacityValue(0 if aside else away, condition=[chosen, none_is])]

    def _points(self, points: alt.Chart) -> alt.Chart:
        drawn = self.x, self.y, self.color, self.shape, *self.opacity(1)
        return points.encode(*drawn, tooltip=self.tooltip, **self._detail())

    def _dash(self) -> list[alt.StrokeDash]:
        return [] if self.dash is None else [self.dash]

    def _detail(self, *fields: alt.Detail) -> dict[str, Any]:
        """The channel for what tells lines apart beside colour; a field alone needs no list."""
        if self.arm is not None:
            return {"detail": [*fields, self.arm]}
        return {"detail": list(fields) if len(fields) > 1 else fields[0]} if fields else {}


def _cut(label: str) -> str:
    """A label that is too long without the end of its name: the number behind it stays."""
    name, between, number = label.rpartition(" · ")
    if len(label) <= _MOST or not between:
        return label
    return f"{name[: max(1, _MOST - len(between + number) - 1)]}…{between}{number}"


def labelled_height(height: int, arms: int) -> int:
    """The height of a chart of so many arms: `height`, or what their names need at the ends of their lines."""
    return max(height, LABEL_HEIGHT * arms)


def bucket_tooltip(measure: alt.Tooltip) -> list[alt.Tooltip]:
    """What a point of a bucket says when it is pointed at."""
    return [alt.Tooltip("arm:N"), alt.Tooltip("bucket:N"), alt.Tooltip("n:Q"), measure]


def in_lines(points: Iterable[Point]) -> list[Point]:
    """The points that are joined with others."""
    return [point for point in points if point["piece"] is not None]


def outside_lines(points: Iterable[Point]) -> list[Point]:
    """The points that are joined with none."""
    return [point for point in points if point["piece"] is None]


def _with_interval(points: Iterable[Point]) -> list[Point]:
    return [point for point in points if point["low"] is not None]
