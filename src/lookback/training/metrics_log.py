"""The logger that writes metrics.csv."""

from argparse import Namespace
from itertools import pairwise
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers.logger import Logger, rank_zero_experiment
from lightning.pytorch.utilities import rank_zero_only

from lookback.common.files import atomic_write, read_regular
from lookback.runs.metrics import LARGEST, read_rows, write_metrics


class MetricsLog(Logger):
    """Collects what Lightning logs and writes the whole file at each save, so that nobody reads half a file.

    Metrics that are logged at one step share a row. A resumed run keeps the rows that it wrote before it was
    interrupted, up to the update from which it resumes. Later ones are logged again. Lightning's own ``CSVLogger``
    would delete them all. ``LastCheckpoint`` saves the rows before it writes a checkpoint, so a row that a resumed run
    does not log again is always in the file.

    Args:
        path: the file.
    """

    def __init__(self, path: Path | str) -> None:
        super().__init__()
        self.path = Path(path)
        self.rows: dict[int, dict[str, Any]] = {}

    def resume(self, updates: int) -> None:
        """Reads the rows that an interrupted run has written in its first ``updates`` updates.

        Of a torn file, what is whole.
        """
        text = read_regular(self.path, LARGEST) if self.path.is_file() else b""
        whole = text[: text.rfind(b"\n") + 1]
        if whole != text:  # the last line was cut off
            with atomic_write(self.path) as file:
                file.write(whole)
        if whole:
            self.rows |= {step: row for step, row in read_rows(self.path).items() if step < updates}

    def has_gap(self, step: int, every: int) -> bool:
        """Whether rows before ``step`` are missing, if one was logged at least ``every`` updates."""
        steps = [-1, *(at for at in sorted(self.rows) if at < step), step - 1]
        return every > 0 and any(later - earlier > every for earlier, later in pairwise(steps))

    def logged(self, name: str) -> list[tuple[int, float]]:
        """(updates so far, value) of every row that has the metric, in order; step 0 is the first update."""
        return [(step + 1, float(row[name])) for step, row in sorted(self.rows.items()) if name in row]

    @property
    def name(self) -> str:
        return "metrics"

    @property
    def version(self) -> str:
        return ""

    @property
    @rank_zero_experiment
    def experiment(self) -> "MetricsLog":
        return self

    def log_hyperparams(self, params: dict[str, Any] | Namespace) -> None:
        """Does nothing: the config is in .hydra/ and in every checkpoint."""

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.rows.setdefault(0 if step is None else step, {}).update(metrics)

    @rank_zero_only
    def save(self) -> None:
        if self.rows:
            write_metrics(self.path, self.rows)

    @rank_zero_only
    def finalize(self, status: str) -> None:
        self.save()
