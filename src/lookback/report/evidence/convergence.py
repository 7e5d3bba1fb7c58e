"""Whether trainings were stopped while they still improved: by how much validation BLEU rose in the last fifth."""

from collections.abc import Sequence
from statistics import fmean

from lookback.runs import Run

STILL_RISING = 1.0
"""BLEU in the last fifth of a training's updates: an arm that gained at least as much was still improving.
Less is within the noise between two validations. It does not prove that a training had converged: a falling learning
rate flattens the curve.
"""


def mean_rise(runs: Sequence[Run]) -> float | None:
    """Validation BLEU at the end minus at four fifths of the updates, mean over `runs`; None where any did not log it.

    `convergence.rise` of results.json, which files of earlier versions lack.
    """
    each = [found["rise"] if run.results and (found := run.results["convergence"]) else None for run in runs]
    known = [rise for rise in each if rise is not None]
    return fmean(known) if known and len(known) == len(runs) else None
