"""A training as a Hydra job."""

import logging
import math
import os
from contextlib import redirect_stdout
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from lookback.commands.jobs import outcome
from lookback.common.configs import explain, one_line
from lookback.common.errors import InputError
from lookback.common.outside_ranks import outside_rank, started_outside
from lookback.training.fit import train, train_as_rank

log = logging.getLogger(__name__)


def run_job(config: DictConfig) -> float | None:
    """Trains in Hydra's run directory. status.json holds the reason of a failure.

    A single job raises its error. A job of a sweep logs it, and the other jobs go on.

    Args:
        config: as ``conf/train.yaml`` composes it.

    Returns:
        Of a job of a sweep: the best value of ``config.optimized_metric``, which a search for settings goes by; NaN if
        the job failed.
    """
    hydra = HydraConfig.get()
    if started_outside() and hydra.mode == RunMode.MULTIRUN:
        raise InputError("--multirun: expected one training where torchrun or srun starts the ranks")
    if outside_rank():
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):  # rank 0 prints for all
            train_as_rank(config, hydra.runtime.output_dir)
        return None
    if hydra.mode != RunMode.MULTIRUN:
        train(config, hydra.runtime.output_dir)
        return None
    print(f"\n#{hydra.job.num}  {' '.join(hydra.overrides.task)}", flush=True)
    try:
        train(config, hydra.runtime.output_dir)
    except Exception as error:
        log.error(one_line(error), exc_info=explain(error) is None)
        return math.nan
    return outcome(Path(hydra.runtime.output_dir), config.optimized_metric)[0]
