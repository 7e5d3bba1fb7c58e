"""What kind of look back an attention takes: numbers that need no gold alignment."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookback.evaluation.alignment.links import links


class Diagnostics(NamedTuple):
    """How one sentence looks back; None where it is too short to say.

    Attributes:
        entropy: −Σ_i α_ji ln α_ji in nats, mean over target words j: 0 is a look at one place, ln(places) at all alike.
        sharpness: max_i α_ji, mean over target words: 1 is a look at one place.
        coverage: min(1, Σ_j α_ji), mean over source words i: 1 is a sentence none of whose words was left unread, as
            the coverage of Tu et al. 2016, "Modeling Coverage for Neural Machine Translation", means to achieve.
        monotonicity: share of target words, from the second, whose source word is not before that of the last one.
        diagonality: 1 − |i / (S − 1) − j / (T − 1)|, its mean under α over source words i and then over target words j:
            1 is a look that goes along the sentence at an even pace.
    """

    entropy: float | None
    sharpness: float | None
    coverage: float | None
    monotonicity: float | None
    diagonality: float | None


def diagnose(weights: NDArray[np.floating]) -> Diagnostics:
    """The diagnostics of one sentence pair.

    The row of the target's end mark is left out everywhere. The source's end mark is a place to look at like any other
    for entropy and sharpness; coverage speaks of words alone, and monotonicity and diagonality of where among the words
    the look is: of the largest weight of a word, and of the weights of words scaled to sum to 1 (a target word that
    gives all its weight to the end mark has none, and is left out).

    None: all of them without a target word, or where a weight is no number, as of a training that diverged; coverage
    without a source word; monotonicity where fewer than two target words look at a word; diagonality where either side
    has fewer than two words, so that its axis has no length.

    Args:
        weights: (target words + 1, source words + 1), rows that sum to 1, end marks last.

    Errors: ValueError for weights that are no table with both end marks.
    """
    if weights.ndim != 2 or 0 in weights.shape:
        raise ValueError(f"weights: {weights.shape}, expected (target words + 1, source words + 1)")
    rows = weights[:-1].astype(np.float64)
    words = rows[:, :-1]
    if not len(rows) or not np.isfinite(rows).all():
        return Diagnostics(None, None, None, None, None)
    logarithms = np.log(rows, out=np.zeros_like(rows), where=rows > 0)  # 0 · ln 0 = 0
    received = np.minimum(words.sum(axis=0), 1.0)
    return Diagnostics(
        entropy=abs(float((rows * logarithms).sum(axis=1).mean())),
        sharpness=float(rows.max(axis=1).mean()),
        coverage=float(received.mean()) if len(received) else None,
        monotonicity=_monotonicity(words),
        diagonality=_diagonality(words),
    )


def _monotonicity(words: NDArray[np.float64]) -> float | None:
    looked_at = np.array([i for i, _ in links(words)], dtype=np.int64)
    return float((np.diff(looked_at) >= 0).mean()) if len(looked_at) > 1 else None


def _diagonality(words: NDArray[np.float64]) -> float | None:
    """The mean, under the weights of words scaled to sum to 1, of 1 − the distance from the diagonal."""
    sums = words.sum(axis=1)
    if min(words.shape) < 2 or not sums.any():
        return None
    down, right = (np.linspace(0.0, 1.0, size) for size in words.shape)
    distance = np.abs(down[:, None] - right)
    looking = sums > 0
    return 1 - float(((words * distance).sum(axis=1)[looking] / sums[looking]).mean())
