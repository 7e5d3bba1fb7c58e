"""Where the buckets of source lengths stand on a chart's axis."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lookback.evaluation import Buckets, midpoint

TITLES: dict[Buckets, str] = {
    "width": "Source length in words, n test sentences",
    "count": "Source length in words, nearly equal n",
}
"""Of the axis; short enough for a phone"""


class Places:
    """Where each of a curve's buckets stands on the axis."""

    def __init__(self, curve: Sequence[Mapping[str, Any]]) -> None:
        """Take all buckets of a curve. Where the last one has an end, they are buckets of equal counts."""
        self.buckets: Buckets = "count" if curve and curve[-1]["hi"] is not None else "width"
        self._lows = [bucket["lo"] for bucket in curve]
        self._borders = [low - 0.5 for low in self._lows]
        if self.buckets == "count":
            self._borders.append(curve[-1]["hi"] + 0.5)

    def of(self, bucket: Mapping[str, Any]) -> dict[str, float]:
        """`x` of the bucket's point, and `hi`, half a step before the bucket's end: `length_axis` needs both."""
        if self.buckets == "count":
            place = self._lows.index(bucket["lo"])
            return {"x": place + 0.5, "hi": place + 0.5}
        middle = midpoint(dict(bucket))
        return {"x": middle, "hi": 2 * middle - bucket["lo"]}

    def at(self, length: float) -> float:
        """Where a length in words is on the axis; infinity beyond the last bucket of equal counts."""
        if self.buckets == "width":
            return length
        return float(np.interp(length, self._borders, range(len(self._borders)), right=math.inf))
