"""The trials of a search for settings: what each came to, and the best so far."""

from collections.abc import Mapping
from itertools import accumulate

import altair as alt

from lookback.report.charts.charts import BASELINE, PALETTE, data_chart, layer_chart


def search_chart(values: Mapping[int, float], metric: str, direction: str) -> alt.LayerChart:
    """Draw the value of each trial by its number, and a line of the best so far.

    Failed trials have no value and leave a gap. `direction`: minimize or maximize. Raises `ValueError` without a trial.
    """
    if not values:
        raise ValueError("values={}: expected the value of at least one trial")
    better = max if direction == "maximize" else min
    numbers = sorted(values)
    best = list(accumulate((values[number] for number in numbers), better))
    points = [
        {"trial": number, "value": values[number], "best": so_far} for number, so_far in zip(numbers, best, strict=True)
    ]
    base = data_chart(points)
    along = alt.X("trial:Q", title="trial", axis=alt.Axis(tickMinStep=1, format="d", grid=False))
    scale = alt.Scale(zero=False, nice=True)
    up = alt.Y("value:Q", title=metric, scale=scale)
    tooltip = [alt.Tooltip("trial:Q"), alt.Tooltip("value:Q", title=metric, format=".4f")]
    first = next(number for number in numbers if values[number] == best[-1])
    title = alt.TitleParams(
        text=f"{metric} of each trial",
        subtitle=[f"line: the best so far · trial {first} is the best of {len(points)}, {best[-1]:.4f} · {direction}"],
    )
    said = f"Line chart. {metric} of {len(points)} trials, from {values[numbers[0]]:.4f} in the first to {best[-1]:.4f}"
    return layer_chart(
        [
            base.mark_line(interpolate="step-after", color=PALETTE[0], strokeWidth=2).encode(along, alt.Y("best:Q")),
            base.mark_point(filled=True, opacity=1, size=62, color=BASELINE).encode(along, up, tooltip=tooltip),
        ],
        title,
        f"{said} in the best, trial {first}.",
    )
