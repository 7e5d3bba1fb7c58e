"""What the page shows of runs that may be ranked together."""

from collections.abc import Sequence
from dataclasses import dataclass

from lookback.report.contrasts import Evidence
from lookback.report.runs import Run
from lookback.report.table import Row


@dataclass(frozen=True)
class Group:
    """Runs of one test set and signature, and what their sentences say."""

    number: int
    """From 1; ids of the group's elements end in it"""
    runs: Sequence[Run]
    """Scored or not"""
    rows: Sequence[Row]
    """`lookback.report.table.rows` of them"""
    evidence: Evidence

    @property
    def scored(self) -> list[Run]:
        """The runs that have results."""
        return [run for run in self.runs if run.results]
