"""What a run logged while it was trained: metrics.csv as curves over updates, target tokens or seconds."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookback.runs import Run
from lookback.runs.metrics import read_metrics

Curve = NDArray[np.float64]
"""(points, 2): where on the x axis, rising, and the measure there"""

POINTS = 60
"""Points that a line has at most once it is thinned: as many as a chart of 720 pixels can tell apart"""


class Logged(NamedTuple):
    """One column of metrics.csv, and how a chart shows it."""

    column: str
    title: str
    form: str
    """Of a number beside a name, as `format` takes it"""
    share: bool = False
    """Whether it is a share, 0..1, and is drawn on that scale"""
    logarithmic: bool = False
    """Whether it is drawn on a logarithmic scale"""


MEASURES = {
    "train_loss": Logged("train/loss", "Training loss", ".3f"),
    "gradient_norm": Logged("train/gradient_norm", "Gradient norm, before clipping", ".2f", logarithmic=True),
    "learning_rate": Logged("train/learning_rate", "Learning rate", ".2g"),
    "validation_loss": Logged("validation/loss", "Validation loss", ".3f"),
    "perplexity": Logged("validation/perplexity", "Validation perplexity", ".3f", logarithmic=True),
    "bleu": Logged("validation/bleu", "Validation BLEU", ".1f"),
    "aer": Logged("attention/aer", "Alignment error rate", ".3f", share=True),
    "aer_shift_-1": Logged("attention/aer_shift_-1", "Alignment error rate, shift −1", ".3f", share=True),
    "entropy": Logged("attention/entropy", "Entropy of the attention, nats", ".2f"),
    "sharpness": Logged("attention/sharpness", "Sharpness of the attention", ".2f", share=True),
    "coverage": Logged("attention/coverage", "Coverage of the source", ".2f", share=True),
    "monotonicity": Logged("attention/monotonicity", "Monotonicity of the attention", ".2f", share=True),
    "diagonality": Logged("attention/diagonality", "Diagonality of the attention", ".2f", share=True),
}
"""What can be drawn over a training. Each shift of the alignment error rate is a measure of its own: an attention that
looks with the previous state can be one word off all the time, and only both curves tell that from one that errs."""

AXES = {"updates": "Updates", "target_tokens": "Target tokens trained on", "seconds": "Seconds of training"}
"""What can be the x axis, and its title."""

_COST = {"target_tokens": "cost/target_tokens", "seconds": "cost/seconds"}


def learning_curve(run: Run, measure: str, x: str = "updates") -> Curve | None:
    """The measure (of `MEASURES`) over `x` (of `AXES`) of one run; None where it logged no such number.

    A row that has the measure but not its cost takes the cost of its update, interpolated between the rows that have
    it, from 0 at update 0. What is not finite, such as a loss that diverged, is left out.
    """
    path = run.directory / "metrics.csv"
    if not path.exists():
        return None
    columns = read_metrics(path)
    if (column := MEASURES[measure].column) not in columns:
        return None
    along = columns["step"] if x == "updates" else _costs(columns, _COST[x])
    curve = np.stack([along, columns[column]], axis=1)
    curve = curve[np.isfinite(curve).all(axis=1)]
    return curve if len(curve) else None


def mean_curve(curves: Sequence[Curve]) -> Curve | None:
    """The mean of the runs' curves on the part of the x axis that all of them have; None where they share none.

    Its points stand wherever any of them has one; between its own points, a curve is a straight line.
    """
    start, end = max(curve[0, 0] for curve in curves), min(curve[-1, 0] for curve in curves)
    grid = np.unique(np.concatenate([curve[:, 0] for curve in curves]))
    grid = grid[(grid >= start) & (grid <= end)]
    if not len(grid):
        return None
    return np.stack([grid, np.mean([np.interp(grid, *curve.T) for curve in curves], axis=0)], axis=1)


def thinned(curve: Curve, points: int = POINTS) -> Curve:
    """At most `points` (3 or more) of the curve's own points, the first and the last among them, that keep its shape.

    Largest-Triangle-Three-Buckets (Steinarsson 2013, § 4.2): the points between first and last are cut into as many
    parts as points are wanted. Of each part the point is taken that makes the largest triangle with the point taken
    before it and the centre of the next part. So peaks and steps stay, and nothing is averaged.
    """
    if points < 3:
        raise ValueError(f"points={points}: expected 3 or more")
    if len(curve) <= points:
        return curve
    edges = np.linspace(1, len(curve) - 1, points - 1).astype(int)
    taken = [0]
    for part in range(points - 2):
        low, high = edges[part], edges[part + 1]
        following = curve[high : edges[part + 2]] if part + 2 < len(edges) else curve[-1:]
        (x0, y0), (x2, y2) = curve[taken[-1]], following.mean(axis=0)
        x1, y1 = curve[low:high].T
        taken.append(int(low + np.argmax(np.abs((x0 - x2) * (y1 - y0) - (x0 - x1) * (y2 - y0)))))
    return curve[[*taken, len(curve) - 1]]


def _costs(columns: dict[str, NDArray[np.float64]], name: str) -> NDArray[np.float64]:
    """The cost up to each row's update; NaN after the last row that has a cost."""
    steps = columns["step"]
    cost = columns.get(name, np.full(len(steps), np.nan))
    known = np.isfinite(cost)
    if not known.any():
        return cost
    at, costs = steps[known], cost[known]
    if at[0] > 0:
        at, costs = np.concatenate([[0], at]), np.concatenate([[0], costs])
    return np.interp(steps, at, costs, right=np.nan)
