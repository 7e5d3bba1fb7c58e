"""Counts of a part and of the whole as a score."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def percent(statistics: ArrayLike) -> NDArray[np.float64]:
    """The first count in percent of the second, of summed statistics `(..., 2)`: `(...)`, NaN where the second is 0."""
    statistics = np.asarray(statistics, dtype=np.float64)
    part, whole = statistics[..., 0], statistics[..., 1]
    return np.where(whole > 0, 100 * part / np.where(whole > 0, whole, 1), np.nan)
