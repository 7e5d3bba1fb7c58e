"""A training as a Hydra job."""

import logging

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from lookback.common.configs import explain, one_line
from lookback.training.fit import train

log = logging.getLogger(__name__)


def run_job(config: DictConfig) -> None:
    """Trains in Hydra's run directory. status.json holds the reason of a failure.

    A single job raises its error. A job of a sweep logs it, and the other jobs go on.

    Args:
        config: as ``conf/train.yaml`` composes it.
    """
    hydra = HydraConfig.get()
    if hydra.mode != RunMode.MULTIRUN:
        train(config, hydra.runtime.output_dir)
        return
    print(f"\n#{hydra.job.num}  {' '.join(hydra.overrides.task)}", flush=True)
    try:
        train(config, hydra.runtime.output_dir)
    except Exception as error:
        log.error(one_line(error), exc_info=explain(error) is None)
