"""How the measures of a training move: a line a run, and the mean of each arm's, over updates, tokens or seconds."""

from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import fmean

import altair as alt
import numpy as np
from numpy.typing import NDArray

from lookback.report.charts.chart_words import seeds_and_lines
from lookback.report.charts.charts import (
    Arms,
    Point,
    Runs,
    color_and_shape,
    dash,
    is_crowded,
    layer_chart,
    runs_of,
    scored_arms,
)
from lookback.report.charts.marks import ArmMarks, labelled_height
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
"""Points with a mark on a line, at most: enough to tell the arms apart without colours"""


def learning_chart(runs: Runs, measure: str, x: str = "updates") -> alt.LayerChart | None:
    """Draw one of `MEASURES` over one of `AXES`; None where no run logged it.

    An arm's thick line is the mean of its runs, as far as all of them were trained; thin lines are the runs. The mean
    is taken first; then each line is thinned to `POINTS` points, which keep its shape (`thinned`). Arms have the
    colours and marks of the length chart, so only runs with scores are drawn, unless none has any. `runs` may be arms
    where these are known. The specification holds each line once, its points as columns.

    Raises `InputError` for a metrics.csv that cannot be read, `ValueError` for an unknown measure or axis.
    """
    if measure not in MEASURES or x not in AXES:
        raise ValueError(f"{measure=}, {x=}: expected one of {', '.join(MEASURES)} over one of {', '.join(AXES)}")
    about = MEASURES[measure]
    compared = scored_arms(runs)
    if not compared and not isinstance(runs, Mapping):
        compared = arms(runs)
    curves = {name: logged for name, members in compared.items() if (logged := _logged(members, measure, x))}
    if not curves:
        return None
    legend = {name: f"{name} · {_mean_at(of_runs, -1):{about.form}}" for name, of_runs in curves.items()}
    lines_of = {name: _lines(legend[name], of_runs) for name, of_runs in curves.items()}
    height = labelled_height(320, len(lines_of))

    color, shape = color_and_shape(compared, legend)
    channel = dash(compared, legend)
    dashed = [] if channel is None else [channel]
    numbers = "datum.value ? format(datum.value, '~s') : '0'" if x == "target_tokens" else "format(datum.value, ',d')"
    axis, scale = alt.Axis(tickCount=7, grid=False, labelExpr=numbers), alt.Scale(zero=True, nice=False)
    along = alt.X("x:Q", title=AXES[x], axis=axis, scale=scale)
    values = np.concatenate(list(chain(*curves.values())))[:, 1]
    logarithmic = about.logarithmic and bool(values.min() > 0)
    up, domain = _measure_axis(about, measure, values, logarithmic)
    tooltip = [alt.Tooltip("arm:N"), alt.Tooltip("x:Q", title=x, format=",d"), alt.Tooltip("y:Q", format=about.form)]

    marks = ArmMarks(along, up, color, shape, tooltip, dash=channel)
    lines = alt.Chart().transform_flatten(["x", "y", "mark"])
    thin = lines.transform_filter("!datum.mean")
    thick = lines.transform_filter("datum.mean")
    marked = thick.transform_filter("datum.mark")
    single = marks.opacity(0.4, aside=True)
    layers: list[alt.Chart] = [
        thin.mark_line(strokeWidth=1).encode(along, up, color, *dashed, alt.Detail("run:N"), *single),
        thick.mark_line(strokeWidth=2.6).encode(along, up, color, *dashed, *marks.opacity(1)),
        marked.mark_point(size=62, filled=True, opacity=1).encode(
            along, up, color, shape, *marks.opacity(1), tooltip=tooltip
        ),
        *marks.end_labels(_ends(lines_of), "y", domain, height, logarithmic),
    ]
    title = _title(about, measure, compared, curves)
    data = alt.Data(values=tuple(chain(*lines_of.values())))
    return layer_chart(layers, title, _description(about, x, curves), height, data, labelled=True)


def _logged(runs: Sequence[Run], measure: str, x: str) -> list[Curve]:
    """The curves of the runs that have one."""
    curves = [learning_curve(run, measure, x) for run in runs]
    return [curve for curve in curves if curve is not None]


def _lines(name: str, curves: Sequence[Curve]) -> list[Point]:
    """The arm's runs, where it has several, and their mean: columns `x`, `y`, and `mark`, 1 for a point with a mark."""
    mean = mean_curve(curves)
    of_runs = [thinned(curve) for curve in curves] if len(curves) > 1 else []
    lines = [{"arm": name, "run": index, "mean": False, **_columns(curve, 0)} for index, curve in enumerate(of_runs)]
    return (
        lines if mean is None else [*lines, {"arm": name, "run": -1, "mean": True, **_columns(thinned(mean), _MARKS)}]
    )


def _ends(lines: Mapping[str, Sequence[Point]]) -> dict[str, list[Point]]:
    """Where the arms' lines end: the mean, or the last run where there is no mean."""
    return {name: [{"arm": of[-1]["arm"], "x": of[-1]["x"][-1], "y": of[-1]["y"][-1]}] for name, of in lines.items()}


def _columns(curve: Curve, marks: int) -> dict[str, list[float]]:
    """The points, rounded, and which `marks` of them have a mark, evenly along the line."""
    marked = np.zeros(len(curve), dtype=int)
    if marks:
        marked[np.linspace(0, len(curve) - 1, min(marks, len(curve))).round().astype(int)] = 1
    x, y = ([_rounded(value, digits) for value in column] for column, digits in zip(curve.T, (7, 5), strict=True))
    return {"x": x, "y": y, "mark": marked.tolist()}


def _rounded(value: float, digits: int) -> float:
    """To so many digits; an integer where it is one, which is shorter in JSON."""
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded


def _measure_axis(
    about: Logged, measure: str, values: NDArray[np.float64], logarithmic: bool
) -> tuple[alt.Y, list[float]]:
    """The axis, and where it begins and ends: 0 to 1 for a share; ticks at 1, 2, 5, 10, … where it is logarithmic."""
    domain = [0.0, 1.0] if about.share else _round_ends(values, zero=measure in ("bleu", "entropy"))
    axis, scale = alt.Axis(tickCount=6), alt.Scale(domain=domain)
    if logarithmic:
        ticks = [digit * 10.0**power for power in range(-3, 13) for digit in (1, 2, 5)]
        low = max((tick for tick in ticks if tick <= values.min()), default=ticks[0])
        high = min((tick for tick in ticks if tick >= values.max() and tick > low), default=ticks[-1])
        shown = [tick for tick in ticks if low <= tick <= high]
        axis = alt.Axis(values=shown if len(shown) <= 8 else [tick for tick in shown if f"{tick:e}"[0] == "1"])
        domain = [low, high]
        scale = alt.Scale(type="log", domain=domain, clamp=True)
    return alt.Y("y:Q", title=about.title, axis=axis, scale=scale), domain


def _round_ends(values: NDArray[np.float64], zero: bool) -> list[float]:
    """The ends of an axis with about six ticks, at ticks that are 1, 2 or 5 times a power of ten apart."""
    low, high = (min(0.0, values.min()) if zero else values.min()), values.max()
    wide = (high - low) / 5 or 1.0
    power = 10.0 ** np.floor(np.log10(wide))
    step = power * next(digit for digit in (1, 2, 5, 10) if digit * power >= wide * (1 - 1e-9))
    first, last = np.floor(low / step), np.ceil(high / step)
    return [float(f"{end * step:.12g}") for end in (first, max(last, first + 1))]


def _title(about: Logged, measure: str, compared: Arms, curves: dict[str, list[Curve]]) -> alt.TitleParams:
    """What is drawn, how the lines are made, and the signature that BLEU is never shown without."""
    results = next((run.results for run in runs_of(compared) if run.results), None)
    drawn = seeds_and_lines((len(of_runs) for of_runs in curves.values()), is_crowded(compared))
    data = f"data {results['data']} · " if results else ""
    subtitle = [f"{data}{drawn} · beside each name: the last value"]
    if any(len(curve) > POINTS for curve in chain(*curves.values())):
        subtitle.append(f"a line has at most {POINTS} of the logged points")
    if about.column.startswith("attention/"):
        subtitle.append("attention is a soft alignment, not an explanation")
    if measure == "bleu" and results:
        subtitle.append(results["signature"])
    return alt.TitleParams(text=f"{about.title} while training", subtitle=subtitle)


def _description(about: Logged, x: str, curves: dict[str, list[Curve]]) -> str:
    """The chart for a reader who cannot see it: where each arm begins and ends."""
    moves = (
        f"{name} from {_mean_at(of_runs, 0):{about.form}} to {_mean_at(of_runs, -1):{about.form}}"
        for name, of_runs in curves.items()
    )
    end = max(curve[-1, 0] for curve in chain(*curves.values()))
    return f"Line chart. {about.title} over {AXES[x].lower()}, up to {end:,.0f}: {'; '.join(moves)}."


def _mean_at(curves: Sequence[Curve], point: int) -> float:
    """The mean of the curves' first values (point 0) or last values (point -1)."""
    return fmean(curve[point, 1] for curve in curves)
