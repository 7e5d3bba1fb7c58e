"""The marks of a chart of arms: bands, thin and thick lines, filled and hollow points."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from lookback.report.charts.charts import Point, data_chart


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

    def layers(self, means: Sequence[Point], singles: Sequence[Point]) -> list[alt.Chart]:
        """The layers of most charts: the arms' `means` with their intervals, below them the `singles`, a line a run."""
        joined, alone = data_chart(in_lines(means)), data_chart(outside_lines(means))
        layers = [self.run_lines(data_chart(in_lines(singles))), self.mean_lines(joined), self.filled_points(joined)]
        if self.bounds and self.dash is None:  # bands of more arms than colours would cover each other
            layers.insert(0, self.bands(data_chart(_with_interval(in_lines(means)))))
        if self.bounds:
            layers.append(self.intervals(data_chart(_with_interval(outside_lines(means)))))
        return [*layers, self.hollow_points(alone)]

    def bands(self, base: alt.Chart) -> alt.Chart:
        """The intervals along a line."""
        assert self.bounds is not None
        return base.mark_area(opacity=0.14).encode(self.x, *self.bounds, self.color, **self._detail(self.piece))

    def run_lines(self, base: alt.Chart) -> alt.Chart:
        """Thin: the line of each run."""
        lines = base.mark_line(strokeWidth=1, opacity=0.4)
        return lines.encode(self.x, self.y, self.color, *self._dash(), **self._detail(self.run, self.piece))

    def mean_lines(self, base: alt.Chart) -> alt.Chart:
        """Thick: the mean of an arm's runs."""
        lines = base.mark_line(strokeWidth=2.6)
        return lines.encode(self.x, self.y, self.color, *self._dash(), **self._detail(self.piece))

    def filled_points(self, base: alt.Chart) -> alt.Chart:
        """Of enough sentences, or of a significant difference."""
        return self._points(base.mark_point(size=62, filled=True, opacity=1))

    def hollow_points(self, base: alt.Chart) -> alt.Chart:
        """Of too few sentences, or of no significant difference."""
        return self._points(base.mark_point(size=62, fill="white", strokeWidth=2, opacity=1))

    def intervals(self, base: alt.Chart) -> alt.Chart:
        """The interval of a point that is in no line."""
        assert self.bounds is not None
        rules = base.mark_rule(strokeWidth=1.4, opacity=0.7)
        return rules.encode(self.x, *self.bounds, self.color, **self._detail())

    def _points(self, points: alt.Chart) -> alt.Chart:
        return points.encode(self.x, self.y, self.color, self.shape, tooltip=self.tooltip, **self._detail())

    def _dash(self) -> list[alt.StrokeDash]:
        return [] if self.dash is None else [self.dash]

    def _detail(self, *fields: alt.Detail) -> dict[str, Any]:
        """The channel for what tells lines apart beside colour; a field alone needs no list."""
        if self.arm is not None:
            return {"detail": [*fields, self.arm]}
        return {"detail": list(fields) if len(fields) > 1 else fields[0]} if fields else {}


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
