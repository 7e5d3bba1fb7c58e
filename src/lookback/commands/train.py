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
from lookback.commands.launch import config_directory
from lookback.commands.streams import lasting_streams
from lookback.common.configs import explain, hide_environment, one_line
from lookback.common.errors import InputError
from lookback.common.outside_ranks import outside_rank, started_outside
from lookback.common.own_directory import own_directory
from lookback.common.signals import Interrupted
from lookback.common.yaml_files import read_keys
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
    """A second choice of what a model chooses would bear the model's name."""
    model = hydra.runtime.choices.get("model")
    typed = {override.partition("=")[0] for override in hydra.overrides.task}
    if model is not None and (twice := [group for group in _chosen_by(model) if group in typed]):
        raise InputError(f"{twice[0]}=…: model={model} chooses it; expected one of the two")


def _chosen_by(model: str) -> list[str]:
    """The groups that a model's file overrides; all that it may, where the file is on another path."""
    groups = ["attention", "encoder", "decoder"]
    own = own_directory()
    for folder in ([] if own is None else [own / "conf"]) + [config_directory()]:
        file = folder / "model" / f"{model}.yaml"
        if file.is_file():
            chosen = {name for default in read_keys(file).get("defaults", []) for name in default}
            return [group for group in groups if f"override /{group}" in chosen]
    return groups


@contextmanager
def _way_on(directory: Path, resume: str) -> Iterator[None]:
    """Says what a training that a signal ends has saved, and how to go on."""
    try:
        yield
    except Interrupted:
        saved = "what is trained is saved in" if (directory / "checkpoints" / "last.ckpt").is_file() else "no update in"
        print(f"stopped; {saved} {directory}\nto go on: python train.py {resume}", flush=True)
        raise
