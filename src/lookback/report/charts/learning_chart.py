"""How the measures of a training move: a line a run, and the mean of each arm's, over updates, tokens or seconds."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lookback.report.charts.chart_words import span
from lookback.report.charts.charts import layered, told_apart
from lookback.report.evidence.differences import arms
from lookback.report.evidence.learning import (
    AXES,
    MEASURES,
    POINTS,
    Curve,
    Logged,
    learning_curve,
    mean_curve,
    thinned,
)
from lookback.runs import Run

_MARKS = 12
"""Marks on a line, at most: enough to tell the arms apart without colours"""


def learning_chart(runs: Sequence[Run], measure: str, x: str = "updates") -> alt.LayerChart | None:
    """Draw one of `MEASURES` over one of `AXES`; None where no run logged it.

    An arm's thick line is the mean of its runs, where all of them were trained that long; thin lines are the runs. All
    lines are thinned to `POINTS` points, which keep their shape (`lookback.report.evidence.learning.thinned`); the mean is taken
    before. Arms have the colours and marks of the length chart, and so those runs are drawn that have scores; where
    none has, all are. The lines are in the specification once, as columns. Raises `InputError` for a metrics.csv that
    cannot be read, `ValueError` for a measure or an axis that is not known.
    """
    if measure not in MEASURES or x not in AXES:
        raise ValueError(f"{measure=}, {x=}: expected one of {', '.join(MEASURES)} over one of {', '.join(AXES)}")
    about = MEASURES[measure]
    known = arms([run for run in runs if run.bleu is not None] or runs)
    found = {name: [learning_curve(run, measure, x) for run in of] for name, of in known.items()}
    curves = {name: logged for name, of in found.items() if (logged := [curve for curve in of if curve is not None])}
    if not curves:
        return None
    legend = {name: f"{name} · {fmean(curve[-1, 1] for curve in of):{about.form}}" for name, of in curves.items()}
    values = tuple(line for name, of in curves.items() for line in _lines(legend[name], of))

    color, shape = told_apart(list(known), legend)
    numbers = "datum.value ? format(datum.value, '~s') : '0'" if x == "target_tokens" else "format(datum.value, ',d')"
    axis, scale = alt.Axis(tickCount=7, grid=False, labelExpr=numbers), alt.Scale(zero=True, nice=False)
    along = alt.X("x:Q", title=AXES[x], axis=axis, scale=scale)
    up = _up(about, measure, np.concatenate([curve[:, 1] for of in curves.values() for curve in of]))
    hover = [alt.Tooltip("arm:N"), alt.Tooltip("x:Q", title=x, format=",d"), alt.Tooltip("y:Q", format=about.form)]

    lines = alt.Chart().transform_flatten(["x", "y", "mark"])
    thin = lines.transform_filter("!datum.mean")
    thick = lines.transform_filter("datum.mean")
    marked = thick.transform_filter("datum.mark")
    layers: list[alt.Chart] = [
        thin.mark_line(strokeWidth=1, opacity=0.4).encode(along, up, color, alt.Detail("run:N")),
        thick.mark_line(strokeWidth=2.6).encode(along, up, color),
        marked.mark_point(size=62, filled=True, opacity=1).encode(along, up, color, shape, tooltip=hover),
    ]
    title = _title(about, measure, known, curves)
    return layered(layers, title, _description(about, x, curves), data=alt.Data(values=values))


def _lines(name: str, curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """The arm's runs, where it has several, and their mean: columns `x`, `y`, and `mark`, 1 where a mark stands."""
    mean = mean_curve(curves)
    of_runs = [thinned(curve) for curve in curves] if len(curves) > 1 else []
    lines = [{"arm": name, "run": index, "mean": False, **_columns(curve, 0)} for index, curve in enumerate(of_runs)]
    return (
        lines if mean is None else [*lines, {"arm": name, "run": -1, "mean": True, **_columns(thinned(mean), _MARKS)}]
    )


def _columns(curve: Curve, marks: int) -> dict[str, list[float]]:
    """The points as numbers of few digits, and `marks` of them marked, evenly along the line."""
    marked = np.zeros(len(curve), dtype=int)
    if marks:
        marked[np.linspace(0, len(curve) - 1, min(marks, len(curve))).round().astype(int)] = 1
    x, y = ([_short(value, digits) for value in column] for column, digits in zip(curve.T, (7, 5), strict=True))
    return {"x": x, "y": y, "mark": marked.tolist()}


def _short(value: float, digits: int) -> float:
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short


def _up(about: Logged, measure: str, values: NDArray[np.float64]) -> alt.Y:
    """The measure's axis: a share's is whole, a logarithmic one has ticks at 1, 2, 5, 10, … ."""
    axis, scale = alt.Axis(tickCount=6), alt.Scale(zero=measure in ("bleu", "entropy"), nice=True)
    if about.share:
        scale = alt.Scale(domain=[0, 1])
    elif about.logarithmic and values.min() > 0:
        ticks = [digit * 10.0**power for power in range(-3, 13) for digit in (1, 2, 5)]
        low = max((tick for tick in ticks if tick <= values.min()), default=ticks[0])
        high = min((tick for tick in ticks if tick >= values.max() and tick > low), default=ticks[-1])
        shown = [tick for tick in ticks if low <= tick <= high]
        axis = alt.Axis(values=shown if len(shown) <= 8 else [tick for tick in shown if f"{tick:e}"[0] == "1"])
        scale = alt.Scale(type="log", domain=[low, high], clamp=True)
    return alt.Y("y:Q", title=about.title, axis=axis, scale=scale)


def _title(about: Logged, measure: str, known: dict[str, list[Run]], curves: dict[str, list[Curve]]) -> alt.TitleParams:
    """What is drawn, how the lines are made, and the signature that BLEU is never shown without."""
    results = next((run.results for of in known.values() for run in of if run.results), None)
    seeds = sorted({len(of) for of in curves.values()})
    drawn = "one seed" if seeds[-1] == 1 else f"{span(seeds)} seeds: thin lines, their mean thick"
    data = f"data {results['data']} · " if results else ""
    subtitle = [f"{data}{drawn} · beside each name: the last value"]
    if any(len(curve) > POINTS for of in curves.values() for curve in of):
        subtitle.append(f"a line has at most {POINTS} of the logged points")
    if about.column.startswith("attention/"):
        subtitle.append("attention is a soft alignment, not an explanation")
    if measure == "bleu" and results:
        subtitle.append(results["signature"])
    return alt.TitleParams(text=f"{about.title} while training", subtitle=subtitle)


def _description(about: Logged, x: str, curves: dict[str, list[Curve]]) -> str:
    """The chart for those who do not see it: from where to where each arm goes."""
    moves = (
        f"{name} from {fmean(curve[0, 1] for curve in of):{about.form}} "
        f"to {fmean(curve[-1, 1] for curve in of):{about.form}}"
        for name, of in curves.items()
    )
    end = max(curve[-1, 0] for of in curves.values() for curve in of)
    return f"Line chart. {about.title} over {AXES[x].lower()}, up to {end:,.0f}: {'; '.join(moves)}."
