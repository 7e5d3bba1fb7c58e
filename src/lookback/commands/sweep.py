"""The end of a sweep: what its runs have to say, side by side."""

import traceback
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig


class SweepReport(Callback):
    """Hydra callback: compares the runs of a multirun in its own directory, also where some jobs failed.

    The process then ends with exit status 1 if a run did not finish. Hydra calls `on_multirun_end` only where no job
    raised, so a failed job must record itself in status.json and return.
    """

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:  # Hydra's signature
        from lookback.common.errors import InputError  # the report's libraries load here: `--help` needs none of them
        from lookback.report import compare
        from lookback.runs import read_runs

        directory = Path(config.hydra.sweep.dir)
        try:
            runs = read_runs([directory])
            compare(runs, directory)
        except InputError as error:
            raise SystemExit(f"error: {error}") from None
        except Exception:  # Hydra would turn it into a warning, and the sweep into a success
            traceback.print_exc()
            raise SystemExit(1) from None
        if any(run.status != "finished" for run in runs):
            raise SystemExit(1)
