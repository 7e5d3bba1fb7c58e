"""The sentence browser's data."""

from collections.abc import Sequence
from typing import Any

from lookback.report.runs import Run


def sentences(runs: Sequence[Run]) -> dict[str, Any] | None:
    """What the sentence browser shows of scored `runs` of one test set; None where there is nothing to show."""
    return None
