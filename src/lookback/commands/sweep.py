"""The report at the end of a sweep, which compares its runs."""

from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig


class SweepReport(Callback):
    """A Hydra callback that compares the runs of a multirun in its directory, even if some of its jobs failed.

    The last lines of a search name its best run.

    The process then ends with exit status 1 if a run did not finish. Hydra calls ``on_multirun_end`` only if no job
    raised an error, so a failed job must record its failure in status.json and return.
    """

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:  # Hydra's signature
        from lookback.commands.jobs import best_in_words
        from lookback.common.configs import one_line  # imported here, because ``--help`` needs no report
        from lookback.common.errors import InputError
        from lookback.report import compare
        from lookback.runs import read_runs

        directory = Path(config.hydra.sweep.dir)
        try:
            runs = read_runs([directory])
            compare(runs, directory)
            if "study_name" in config.hydra.sweeper:
                print(best_in_words(runs, config.optimized_metric, config.hydra.sweeper.seed), flush=True)
        except InputError as error:
            raise SystemExit(f"error: {error}") from None
        except Exception as error:  # Hydra would only warn, and the sweep would count as a success
            again = f"the runs are whole; `python compare.py runs={directory}` makes it again"
            raise SystemExit(f"error: the comparison of {directory}: {one_line(error)}; {again}") from None
        if any(run.status != "finished" for run in runs):
            raise SystemExit(1)
