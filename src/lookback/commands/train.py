"""A training as a Hydra job: alone it raises what goes wrong; in a sweep it records it, and the other jobs go on."""

import logging

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from lookback.common.configs import explain, one_line
from lookback.training.fit import train

log = logging.getLogger(__name__)


def run_job(config: DictConfig) -> None:
    """Train in Hydra's run directory. The reason of a failure is in its status.json, and in a sweep's table."""
    hydra = HydraConfig.get()
    if hydra.mode != RunMode.MULTIRUN:
        train(config, hydra.runtime.output_dir)
        return
    print(f"\n#{hydra.job.num}  {' '.join(hydra.overrides.task)}", flush=True)
    try:
        train(config, hydra.runtime.output_dir)
    except Exception as error:
        log.error(one_line(error), exc_info=explain(error) is None)
