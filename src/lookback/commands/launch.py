"""How commands start, and how they fail: one clear line for what the user can mend, a traceback for what we must."""

import copyreg
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path

import hydra
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig

from lookback.common.configs import explain
from lookback.common.errors import InputError

# Hydra copies all that it knows, deeply, at each of the hundred questions that --help asks: half of its time. Its store
# of configurations is one object in a process, and a copy of it is itself.
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
    "dashboard": ("lookback.commands.dashboard", "dashboard", "The W&B project's workspace: dashboard project=NAME"),
}
"""By name: the module and the function that take the command's config, and what it does"""

_PACKAGE = Path(__file__).parents[1]


def launch(name: str) -> None:
    """Run a command with what was typed behind it, as ``plain_errors`` says. What it prints is UTF-8 on any machine."""
    # Hydra then raises instead of printing its own version of an error
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
    Plugins.instance().register(OwnConfigs)
    with plain_errors():
        directory = resumed_directory(sys.argv[1:]) if name == "train" else None
        sys.argv[1:] = resumed(sys.argv[1:]) if name == "train" else sys.argv[1:]
        with unchanged_if_refused(directory):
            hydra.main(version_base="1.3", config_path=str(config_directory()), config_name=name)(_task(name))()


def _task(name: str) -> Callable[[DictConfig], None]:
    module, function, _ = COMMANDS[name]

    def task(config: DictConfig) -> None:
        # imported here: `--help` needs neither torch nor anything else of it
        with plain_errors():
            getattr(import_module(module), function)(config)

    task.__module__ = f"lookback.commands.{name}"  # after which Hydra names the job, and its log
    return task


def config_directory() -> Path:
    """The config groups: inside an installed package, at the top of a working copy."""
    installed = _PACKAGE / "conf"
    return installed if installed.is_dir() else _PACKAGE.parents[1] / "conf"


class OwnConfigs(SearchPathPlugin):
    """Finds a config in the folder ``conf`` of where a command is typed before one of the package."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        own = Path.cwd() / "conf"
        if own.is_dir() and own.resolve() != config_directory().resolve():
            search_path.prepend("own", f"file://{own}")


@contextmanager
def plain_errors() -> Iterator[None]:
    """Bad input inside ends the program with one line, ``error: …``, and exit status 2; a fault of ours raises.

    Commands use it inside Hydra's main too: Hydra would print lines of its own before an error gets through to us.
    """
    try:
        yield
    except KeyboardInterrupt:
        sys.exit("interrupted")
    except BrokenPipeError:
        # whoever reads has had enough (`| head -1`); Python would complain as it flushes at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        message = explain(error)
        if message is None:
            raise
        print(f"error: {message}", file=sys.stderr)
        sys.exit(2)


@contextmanager
def unchanged_if_refused(directory: Path | None) -> Iterator[None]:
    """Hydra writes what was typed into a resumed run before anyone can look at it: bad input is taken out again."""
    folder = directory / ".hydra" if directory is not None else None
    before = {path: path.read_bytes() for path in folder.glob("*.yaml")} if folder is not None else {}
    try:
        yield
    except SystemExit as end:
        if end.code == 2:
            for path, content in before.items():
                path.write_bytes(content)
        raise


def resumed_directory(arguments: list[str]) -> Path | None:
    """What the last ``resume=DIR`` names."""
    resumes = [argument for argument in arguments if argument.startswith("resume=")]
    return Path(resumes[-1].removeprefix("resume=")) if resumes else None


def resumed(arguments: list[str]) -> list[str]:
    """``resume=DIR`` means: what DIR was started with, in DIR again. What is typed beside it comes last."""
    directory = resumed_directory(arguments)
    if directory is None:
        return arguments
    if {"-m", "--multirun"} & set(arguments):
        raise InputError("resume: goes on with one run; expected no -m beside it")
    saved = directory / ".hydra" / "overrides.yaml"
    if not saved.is_file():
        raise InputError(f"resume={directory}: no .hydra/overrides.yaml there; expected a run directory")
    from omegaconf import OmegaConf

    rest = [argument for argument in arguments if not argument.startswith("resume=")]
    return [*OmegaConf.load(saved), f"hydra.run.dir={_quoted(str(directory))}", *rest]


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
