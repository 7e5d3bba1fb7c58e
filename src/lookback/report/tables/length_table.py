"""Every measure by source length, as rows for lengths.csv."""

from collections.abc import Sequence
from pathlib import Path

from lookback.evaluation import MEASURES
from lookback.report.evidence.rows import ranked, relative
from lookback.runs import Run


def length_rows(runs: Sequence[Run], group: int, out: Path) -> list[dict[str, object]]:
    """A row a run and bucket of source lengths, of runs that have scores; a bucket without sentences has none.

    `lo` and `hi` are words, `hi` None for no end. A measure that a run does not have is None.
    """
    return [
        {
            "group": group,
            "run": relative(run.directory, out),
            "arm": run.arm,
            "seed": run.seed,
            "lo": bucket["lo"],
            "hi": bucket["hi"],
            "n": bucket["n"],
            **{key: bucket[key] for key in MEASURES},  # type: ignore[literal-required]
        }
        for run in ranked(runs)
        if run.results
        for bucket in run.results["by_length"]
        if bucket["n"]
    ]
