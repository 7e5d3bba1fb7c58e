"""Had a training ended, or was it only stopped: by how much validation BLEU still rose in its last fifth."""

from collections.abc import Sequence
from statistics import fmean

from lookback.runs import Run

STILL_RISING = 1.0
"""BLEU in the last fifth of a training's updates from which on the arm was still improving: more of them, more BLEU.
Less is within the noise of one validation to the next. It is no proof the other way: a rate that falls flattens a
curve.
"""


def mean_rise(runs: Sequence[Run]) -> float | None:
    """Validation BLEU at the end minus at four fifths of the updates, mean over `runs`; None where any did not log it.

    `convergence.rise` of results.json, which files of earlier versions lack.
    """
    each = [((run.results or {}).get("convergence") or {}).get("rise") for run in runs]
    known = [rise for rise in each if rise is not None]
    return fmean(known) if known and len(known) == len(runs) else None
