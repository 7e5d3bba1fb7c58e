"""The alignment viewer's data."""

from collections.abc import Sequence
from typing import Any

from lookback.report.runs import Run


def alignments(runs: Sequence[Run]) -> dict[str, Any] | None:
    """What the alignment viewer shows of scored `runs` of one test set; None where no run has alignments.npz."""
    return None
