"""A training as a Hydra job."""

import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from traceback import format_exception

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from lookback.commands.jobs import outcome
from lookback.commands.streams import lasting_streams
from lookback.common.configs import explain, hide_environment, one_line
from lookback.common.errors import InputError
from lookback.common.outside_ranks import outside_rank, started_outside
from lookback.common.signals import Interrupted
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
    _refuse_two_choices(hydra)
    lasting_streams()  # a launcher may have started this process
    if started_outside() and hydra.mode == RunMode.MULTIRUN:
        raise InputError("--multirun: expected one training where torchrun or srun starts the ranks")
    if outside_rank():
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):  # rank 0 prints for all
            train_as_rank(config, hydra.runtime.output_dir)
        return None
    directory = Path(hydra.runtime.output_dir)
    if hydra.mode != RunMode.MULTIRUN:
        with _way_on(directory, f"resume={directory}"):
            train(config, directory)
        print(f"translate: python translate.py run={directory} < input.txt", flush=True)
        return None
    print(f"\n#{hydra.job.num}  {' '.join(hydra.overrides.task)}", flush=True)
    try:
        with _way_on(directory, f"-m resume={hydra.sweep.dir}"):
            train(config, directory, Path(hydra.sweep.dir))
    except Exception as error:
        said = one_line(error) if explain(error) is not None else "".join(format_exception(error))
        log.error(hide_environment(said, config))
        return math.nan
    return outcome(directory, config.optimized_metric)[0]


def _refuse_two_choices(hydra: HydraConf) -> None:
    """A model chooses encoder, decoder and attention: another choice of one of them would bear the model's name."""
    model = hydra.runtime.choices.get("model")
    keys = {override.partition("=")[0] for override in hydra.overrides.task}
    typed = [group for group in ("attention", "encoder", "decoder") if group in keys]
    if model is not None and typed:
        raise InputError(f"{typed[0]}=…: model={model} chooses it; expected one of the two")


@contextmanager
def _way_on(directory: Path, resume: str) -> Iterator[None]:
    """Says what a training that a signal ends has saved, and how to go on."""
    try:
        yield
    except Interrupted:
        saved = "what is trained is saved in" if (directory / "checkpoints" / "last.ckpt").is_file() else "no update in"
        print(f"stopped; {saved} {directory}\nto go on: python train.py {resume}", flush=True)
        raise
