"""How commands start and how they fail: one line if the user can correct it, a traceback if the program is wrong."""

import copyreg
import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import hydra
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig

from lookback.commands.kept_settings import restored_if_refused
from lookback.commands.overrides import (
    check_files,
    check_overrides,
    check_sweeper,
    check_swept,
    quoted,
    quoted_paths,
)
from lookback.commands.streams import lasting_streams, open_closed_streams
from lookback.common.configs import explain
from lookback.common.errors import InputError
from lookback.common.files import read_regular
from lookback.common.outside_ranks import outside_rank
from lookback.common.own_directory import leave_out_strangers, own_directory
from lookback.common.trust import check_trusted, held_to, trusted_names
from lookback.common.yaml_files import read_keys, read_list, read_yaml

# For --help, Hydra makes about a hundred deep copies of its store of configs, which takes half of the time. The store
# is a singleton, so a copy of it can be the store itself.
copyreg.pickle(ConfigStore, lambda store: (ConfigStore.instance, ()))


COMMANDS = {
    "train": (
        "lookback.commands.train",
        "run_job",
        "Train and test a translator, or many: train -m attention=none,dot",
    ),
    "evaluate": ("lookback.commands.evaluate", "evaluate", "Score a trained run: evaluate run=DIR"),
    "translate": ("lookback.commands.translate", "translate", "Translate lines: translate run=DIR < input.txt"),
    "align": ("lookback.commands.align", "align", "Align words: align run=DIR source=FILE target=FILE"),
    "compare": ("lookback.commands.compare", "compare_runs", "One report over runs: compare runs='[DIR, DIR]'"),
    "doctor": ("lookback.commands.doctor", "examine_run", "Examine a trained run: doctor run=DIR"),
    "dashboard": ("lookback.commands.dashboard", "dashboard", "The W&B project's workspace: dashboard project=NAME"),
}
"""By the name of a command: its module, the function that takes its config, and what it does."""

_MULTIRUN = ("-m", "--multirun")
_PACKAGE = Path(__file__).parents[1]
_LARGEST = 1_000_000
"""Bytes of a file in .hydra. Hydra's have some thousands."""


def launch(name: str) -> None:
    """Runs a command with the arguments of ``sys.argv``. It prints UTF-8 on any machine.

    Args:
        name: a key of ``COMMANDS``.
    """
    # with this, Hydra raises errors instead of printing its own version of them
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    open_closed_streams()
    leave_out_strangers()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
    Plugins.instance().register(LocalConfigs)
    with plain_errors():
        typed = with_flags_first(sys.argv[1:])
        directory = resumed_directory(typed) if name == "train" else None
        sys.argv[1:] = quoted_paths(resumed_arguments(typed) if name == "train" else typed)
        if name == "train":
            lasting_streams()
        if name == "train" and outside_rank():  # rank 0 writes for all
            sys.argv += ["hydra.output_subdir=null", "hydra/job_logging=stdout"]
        start = hydra.main(version_base="1.3", config_path=str(config_directory()), config_name=name)
        if directory is None:
            with restored_if_refused():
                start(_task(name))()
            return
        trusted = typed_trust(typed)
        # a sweep imports what its jobs name before the first of them begins
        with restored_if_refused(), held_to(trusted, f"resume={directory}"):
            start(trusting(_task(name), directory, trusted))()


def trusting(
    task: Callable[[DictConfig], Any], directory: Path, trusted: frozenset[str]
) -> Callable[[DictConfig], Any]:
    """A task that refuses a config with names that the user does not trust, whichever file they come from."""

    @wraps(task)
    def checked(config: DictConfig) -> Any:
        from omegaconf import OmegaConf

        with plain_errors():
            check_trusted(OmegaConf.to_container(config), trusted, f"resume={directory}")
        return task(config)

    return checked


def _task(name: str) -> Callable[[DictConfig], Any]:
    module, function, _ = COMMANDS[name]

    def task(config: DictConfig) -> Any:
        # imported here, because ``--help`` does not need torch or anything else of the module
        with plain_errors():
            _take_cores(config, is_training=name == "train")
            return getattr(_imported(module), function)(config)

    task.__module__ = f"lookback.commands.{name}"  # Hydra names the job and its log after it
    return task


def _imported(module: str) -> ModuleType:
    """The module of a command, imported without a search for garbage, now or later, in what comes with it.

    Modules are no garbage. To look through them again and again took a fifth of the seconds before a first batch.
    """
    if module not in sys.modules:  # not for the next job of a sweep: what the last one left is garbage
        gc.disable()
        try:
            import_module(module)
        finally:
            gc.freeze()
            gc.enable()
    return sys.modules[module]


def _take_cores(config: DictConfig, is_training: bool) -> None:
    """Takes as many threads as the launcher has cores for a job. Only submitit leaves that to the job itself.

    Without a launcher that says so, and unless the user has: a thread a core, where cores have several; the ranks of a
    training share them. It is read when torch and NumPy are imported.
    """
    cores = _launchers_cores()
    if cores is None and not {"OMP_NUM_THREADS", "MKL_NUM_THREADS"} & os.environ.keys():
        found = processors()
        if found.cores < found.hardware_threads:
            ranks = config.trainer.devices if is_training else 1
            cores = max(1, found.cores // ranks) if isinstance(ranks, int) and ranks > 0 else found.cores
            if is_training:
                each = f"{cores} each for {ranks} ranks" if cores < found.cores else "a thread each"
                print(f"{found}: {each} (OMP_NUM_THREADS=N takes N)", flush=True)
    if cores is not None:
        os.environ["OMP_NUM_THREADS"] = str(cores)


class Processors(NamedTuple):
    """hardware_threads: that the system lets this process use. cores: that have them, each one or more."""

    hardware_threads: int
    cores: int

    def __str__(self) -> str:
        return f"{self.cores} {'core' if self.cores == 1 else 'cores'} of {self.hardware_threads} hardware threads"


def processors(topology: Path = Path("/sys/devices/system/cpu")) -> Processors:
    """How many there are, as Linux tells it; elsewhere every hardware thread counts as a core.

    Two threads of one core share its arithmetic. Products of matrices gain little from the second.

    Args:
        topology: the folder that describes each processor, `cpuN/topology/thread_siblings_list`.
    """
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    return Processors(len(usable), len({_siblings(topology, number) for number in usable}))


def _siblings(topology: Path, number: int) -> str:
    """What all hardware threads of one core share: the list of them, such as ``0,4`` or ``0-1``."""
    try:
        found = (topology / f"cpu{number}" / "topology" / "thread_siblings_list").read_text().strip()
        parts = [part.partition("-") for part in found.split(",")]
        if any(int(first) <= number <= int(last or first) for first, _, last in parts):
            return found
    except (OSError, ValueError):
        pass
    return str(number)  # alone, as far as is known


def _launchers_cores() -> int | None:
    return HydraConfig.get().launcher.get("cpus_per_task")


def config_directory() -> Path:
    """The folder of the configs: inside an installed package, or at the top of a working copy."""
    installed = _PACKAGE / "conf"
    return installed if installed.is_dir() else _PACKAGE.parents[1] / "conf"


class LocalConfigs(SearchPathPlugin):
    """Makes Hydra search the folder ``conf`` of the current directory before the configs of the package."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        directory = own_directory()
        own = None if directory is None else directory / "conf"
        if own is not None and own.is_dir() and own.resolve() != config_directory().resolve():
            search_path.prepend("own", f"file://{own}")


@contextmanager
def plain_errors() -> Iterator[None]:
    """Ends the program with one line ``error: …`` and exit status 2 if bad input is found inside.

    Ctrl+C and a closed pipe also end it without a traceback. Other errors are raised as they are. It is also used
    inside Hydra's main function, because Hydra would print lines of its own before it passes an error on.
    """
    try:
        yield
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        # the reader has closed the pipe, as ``| head -1`` does; without this, Python complains when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        message = explain(error)
        if message is None:
            raise
        print(f"error: {message}", file=sys.stderr)
        sys.exit(2)


def with_flags_first(arguments: list[str]) -> list[str]:
    """The arguments with ``-m`` before the others: Hydra takes no setting after it if one stands before it."""
    flags = [argument for argument in arguments if argument in _MULTIRUN]
    return [*flags[:1], *(argument for argument in arguments if argument not in _MULTIRUN)]


def resumed_directory(arguments: list[str]) -> Path | None:
    """The directory of the last ``resume=DIR``; None if there is none."""
    resumes = [argument for argument in arguments if re.match(r"resume(=|$)", argument)]
    if not resumes:
        return None
    directory = resumes[-1].removeprefix("resume").removeprefix("=")
    if not directory:
        raise InputError(f"{resumes[-1]}: expected resume=DIR, the directory of a run or, with -m, of a sweep")
    return Path(directory)


def resumed_arguments(arguments: list[str]) -> list[str]:
    """Replaces ``resume=DIR`` by the arguments that the run or sweep in DIR was started with, and by DIR as its place.

    Args:
        arguments: as typed.

    Returns:
        The arguments for Hydra: those of the run or sweep first, then the others that were typed, so that these count.

    Raises:
        InputError: if DIR is not a run directory or, with ``-m``, not the directory of a sweep; if nothing can be
            written there, or if it has links that lead out of it.
    """
    directory = resumed_directory(arguments)
    if directory is None:
        return arguments
    of_sweep = any(argument in _MULTIRUN for argument in arguments)
    _check_is_there(directory, of_sweep)
    check_files(directory)
    taken = (*_MULTIRUN, "resume=", "trust=")
    rest = [argument for argument in arguments if not argument.startswith(taken)]
    if of_sweep:
        lines, sweeper = _sweep_lines(directory, rest)
        check_swept(lines, directory, typed_trust(arguments))
        check_sweeper(sweeper, directory, typed_trust(arguments))
        return ["-m", *lines, *sweeper, f"hydra.sweep.dir={quoted(str(directory))}", *rest]
    # what is typed again is the user's own
    lines = [line for line in saved_arguments(directory) if line not in rest]
    check_overrides(lines, directory, typed_trust(arguments))
    # a trial of a search has its hparams_search, which asks for more of them
    return [*lines, "hydra.mode=RUN", f"hydra.run.dir={quoted(str(directory))}", *rest]


def _check_is_there(directory: Path, of_sweep: bool) -> None:
    """Checks that a directory is one of a run, or of a sweep, and may be written to."""
    expected, left = ("sweep", "multirun.yaml") if of_sweep else ("run", ".hydra")
    if not (directory / left).exists():
        hint = ""
        if not of_sweep and (directory / "multirun.yaml").is_file():
            hint = "; it is a sweep, which goes on with -m"
        elif of_sweep and (directory / ".hydra").is_dir():
            hint = "; it is a run, which goes on without -m"
        elif inside := sorted(path.parent for path in directory.rglob(left))[:3]:
            hint = f"; inside are {', '.join(map(str, inside))}"
        raise InputError(f"resume={directory}: no {left} there; expected the directory of a {expected}{hint}")
    if not os.access(directory, os.W_OK):
        raise InputError(f"resume={directory}: nothing can be written there; expected a {expected} of your own")


def saved_arguments(directory: Path) -> list[str]:
    """The arguments that a run was started with, as Hydra wrote them into ``directory``/.hydra.

    Hydra writes them twice: first into hydra.yaml and then into overrides.yaml. A process that is killed there leaves
    one of the two missing or empty, but not both, unless the run is new and has trained nothing.

    Raises:
        InputError: if neither file has them.
    """
    folder = directory / ".hydra"
    if not _is_empty(folder / "overrides.yaml"):
        return read_list(folder / "overrides.yaml")
    if not _is_empty(folder / "hydra.yaml"):
        hydra = read_yaml(folder / "hydra.yaml")
        whole = hydra.get("hydra") if isinstance(hydra, dict) else None
        if isinstance(whole, dict) and "verbose" in whole:  # what Hydra writes last: with it, all is there
            return [str(override) for override in whole["overrides"]["task"]]
    if not (folder / "config.yaml").is_file():
        raise InputError(f"resume={directory}: no .hydra/overrides.yaml there; expected a run directory")
    if any((directory / "checkpoints").glob("*.ckpt")):
        raise InputError(
            f"resume={directory}: what the run was started with is lost (no list in .hydra/overrides.yaml); expected "
            f"its command as it was typed, with hydra.run.dir={quoted(str(directory))}, which goes on from there"
        )
    raise InputError(
        f"resume={directory}: the run was killed before it began, and nothing was trained; expected its command as it "
        f"was typed, with hydra.run.dir={quoted(str(directory))} if it is to be the same directory"
    )


def _is_empty(path: Path) -> bool:
    """Whether a file is missing, or has no text in it; after a power cut it may be full of zeros."""
    return not path.is_file() or not read_regular(path, _LARGEST).strip(b"\0 \n")


def _sweep_lines(directory: Path, typed: list[str]) -> tuple[list[str], list[str]]:
    """What a sweep was started with, but for what is typed again: settings of its jobs, and settings of its sweeper.

    A launcher, and all else of Hydra's own settings, is typed again.
    """
    path = directory / "multirun.yaml"
    try:
        overrides = read_keys(path)["hydra"]["overrides"]
        lines = [str(line) for line in overrides["task"]]
        hydra_lines = [str(line) for line in overrides.get("hydra", [])]
    except (AttributeError, KeyError, TypeError):
        raise InputError(f"{path}: no hydra.overrides.task in it; expected what a sweep leaves there") from None
    typed_keys = {_key(line) for line in typed}
    sweeper = [line for line in hydra_lines if re.match(r"hydra[./]sweeper\b", _key(line))]
    return [line for line in lines if line not in typed], [line for line in sweeper if _key(line) not in typed_keys]


def _key(line: str) -> str:
    return line.partition("=")[0].lstrip("+~")


def typed_trust(arguments: list[str]) -> frozenset[str]:
    """The names of ``trust=NAME`` or ``trust=[NAME, NAME]``, which a run's config may use beside lookback's own."""
    typed = [argument.removeprefix("trust=") for argument in arguments if argument.startswith("trust=")]
    return trusted_names(name for value in typed for name in re.split(r"[\s,]+", value.strip("[] ")))
