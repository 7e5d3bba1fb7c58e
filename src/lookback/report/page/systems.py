"""The runs among which a reader of the page chooses: their names, and which two are shown at the start."""

from collections.abc import Sequence

from lookback.report.evidence.contrasts import BASELINE
from lookback.runs import Run


def names(runs: Sequence[Run]) -> list[str]:
    """A unique name for each run: its arm and its seed, and its directory where these are not enough."""
    short = [run.arm + ("" if run.seed is None else f" · seed {run.seed}") for run in runs]
    return [
        name if short.count(name) == 1 else f"{name} · {run.directory}" for run, name in zip(runs, short, strict=True)
    ]


def opponent(runs: Sequence[Run]) -> int:
    """Which of `runs`, in their order, the first one is compared with at the start.

    A run of the attention `none`, or else the last of another arm; of the same seed where there is one. 0 where there
    is one run alone.
    """
    first = runs[0]

    def worth(index: int) -> tuple[bool, bool, bool, int]:
        run = runs[index]
        return run.arm != first.arm, run.recipe == BASELINE, run.seed == first.seed, index

    return max(range(1, len(runs)), key=worth, default=0)
