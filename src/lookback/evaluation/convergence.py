"""Whether a training had stopped improving: by how much its validation BLEU rose in its last fifth."""

import math
from collections.abc import Sequence

import numpy as np

from lookback.runs import Convergence

Logged = Sequence[tuple[int, float]]
"""(updates before it, value) of each validation; updates rise"""


def convergence(bleu: Logged, perplexity: Logged) -> Convergence | None:
    """`convergence` of results.json, from a training's validations; None without any.

    `rise` is BLEU at the last validation minus BLEU at four fifths of its updates. Between two validations BLEU is
    interpolated linearly. `rise` is None where no validation lies within those four fifths.
    """
    if not bleu:
        return None
    updates, last = bleu[-1]
    since = 4 * updates // 5
    rise = None
    if bleu[0][0] <= since:
        at, values = np.array(bleu, dtype=np.float64).T
        rise = last - float(np.interp(since, at, values))
    return {
        "validation_bleu": last,
        "validation_perplexity": min((value for _, value in perplexity if math.isfinite(value)), default=None),
        "rise": rise,
        "since_update": since,
        "updates": updates,
    }


def rise_in_words(rise: float) -> str:
    """`rose by 0.3`, `fell by 0.2`, or `stayed the same` where a tenth of a BLEU point does not show it."""
    shown = f"{abs(rise):.1f}"
    if shown == "0.0":
        return "stayed the same"
    return f"{'rose' if rise > 0 else 'fell'} by {shown}"
