"""What a user types, and what an earlier run left of it, made ready for Hydra."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override, Sweep
from hydra.errors import HydraException

from lookback.common.configs import leaves
from lookback.common.errors import InputError
from lookback.common.trust import check_targets, is_interpolated, is_target, name_shown
from lookback.common.words import UNKNOWN_WORDS

_KEY = re.compile(r"[A-Za-z_][\w./-]*", re.ASCII)
_OTHER_SETTING = re.compile(r"\$\{[\w.]*\}", re.ASCII)
_WRITTEN = {"callbacks": ("dirpath", "directory", "filename", "path"), "data": ("cache",)}
"""What the parts of a training call the places that they write to."""
_COUNTS = ("n_trials", "n_jobs", "max_batch_size", "retry_failed", "seed", "sampler.n_startup_trials")
"""The settings of sweepers that are a number or a switch."""
_NAME = re.compile(r"\w+", re.ASCII)
_AGAIN = "type this line again beside resume= if you want it"


def quoted(text: str) -> str:
    """A text as a value of Hydra's grammar that has no meaning beyond the text."""
    # a backslash has a meaning only before these and at the end
    escaped = re.sub(r"(\\*)('|\$\{|\Z)", lambda found: found[1] * 2 + (f"\\{found[2]}" if found[2] else ""), text)
    return f"'{escaped}'"


def quoted_paths(arguments: Sequence[str]) -> list[str]:
    """Quotes each path that Hydra's grammar would refuse or read as something else, such as ``run=a=b`` or ``run=a,b``.

    A value is a path if there is a file or directory of that name, or for ``out=`` if there may be one.
    """
    return [_with_quoted_path(argument) for argument in arguments]


def _with_quoted_path(argument: str) -> str:
    key, is_value, value = argument.partition("=")
    if not is_value or argument.startswith("-"):
        return argument
    try:
        parsed = OverridesParser.create().parse_override(argument).value()
    except HydraException:
        parsed = None
    else:
        if not isinstance(parsed, dict | list | Sweep) and "${" not in value:
            return argument
    path = Path(value).expanduser()
    try:
        is_path = path.exists() or (key == "out" and path.parent.is_dir())
    except (OSError, ValueError):  # too long for a name
        return argument
    return f"{key}={quoted(value)}" if is_path else argument


def _single_values(line: str) -> list[str]:
    """A line for each value that a line of a sweep gives its key; the line itself if it gives one value."""
    try:
        override = OverridesParser.create().parse_override(line)
    except (HydraException, RecursionError):
        return [line]
    if not override.is_sweep_override():
        return [line]
    if isinstance(override.value(), Glob):  # of the names of a group's own files, none of which is a path
        return [f"{override.get_key_element()}=name"]
    if override.is_discrete_sweep():
        return [f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()]
    return [f"{override.get_key_element()}=0"]  # an interval: a number between two others


def check_overrides(
    lines: Sequence[str], directory: Path, trusted: frozenset[str], file: str = ".hydra/overrides.yaml"
) -> None:
    """Checks what a run was started with, before Hydra composes a config of it.

    Each line must set or delete a key of the training. It may name what is trusted, may not read the environment, and
    may not let anything be written outside of the run.

    Args:
        lines: of the run's .hydra/overrides.yaml.
        directory: of the run.
        trusted: the names that a run's config may use.
        file: where the lines are from.

    Raises:
        InputError: for the first line that is anything else.
    """
    where = f"resume={directory}: {file}"
    targets: list[tuple[str, Any]] = []
    for line in lines:
        said = f"{where}: {name_shown(line)}"
        try:
            override: Override = OverridesParser.create().parse_override(line)
        except (HydraException, RecursionError):
            raise InputError(f"{said}: expected key=value") from None
        key = override.key_or_group
        if not _KEY.fullmatch(key) or override.package is not None or re.split("[./]", key)[0] == "hydra":
            raise InputError(f"{said}: expected a setting of the training; {_AGAIN}")
        if override.is_sweep_override():
            raise InputError(f"{said}: expected one value")
        for name, value in leaves(key, override.value()):
            if name.startswith("logger."):
                raise InputError(f"{said}: says where your numbers are sent; {_AGAIN}")
            if is_target(name):
                targets.append((name, value))
            elif isinstance(value, str):
                _check_value(name, value, directory, trusted, said)
    check_targets(targets, trusted, where)


def _check_value(key: str, value: str, directory: Path, trusted: frozenset[str], said: str) -> None:
    if is_interpolated(_OTHER_SETTING.sub("", value), trusted):
        raise InputError(f"{said}: reads the environment, or more than a setting; {_AGAIN}")
    if key == "unknown_words" and value not in UNKNOWN_WORDS:
        raise InputError(f"{said}: a file, whose words would be written; {_AGAIN}")
    path = Path(value).expanduser()
    # Hydra finds the choice ../../x of a group outside of the folders of configs
    if "." not in key and (".." in path.parts or path.is_absolute()):
        raise InputError(f"{said}: expected the name of a choice; {_AGAIN}")
    parts = re.split(r"[.\[]", key)
    if parts[-1] in _WRITTEN.get(parts[0], ()):
        inside = path if parts[-1] != "filename" else directory / path
        if "${" in value or not inside.resolve().is_relative_to(directory.resolve()):
            raise InputError(f"{said}: expected a place inside the run; {_AGAIN}")


def check_swept(lines: Sequence[str], directory: Path, trusted: frozenset[str]) -> None:
    """Checks what the jobs of a sweep were started with: each value of a line, as ``check_overrides`` does.

    Raises:
        InputError: for the first value that is refused.
    """
    singles = [single for line in lines for single in _single_values(line)]
    check_overrides(singles, directory, trusted, "multirun.yaml")


def check_sweeper(lines: Sequence[str], directory: Path, trusted: frozenset[str]) -> None:
    """Checks which sweeper a sweep was started with, how many trials it was to make, and what it varied.

    Args:
        lines: of the sweep's multirun.yaml that are about ``hydra.sweeper``.
        directory: of the sweep.
        trusted: the names that a job's config may use.

    Raises:
        InputError: for the first line that is anything else, such as another database.
    """
    for line in lines:
        said = f"resume={directory}: multirun.yaml: {name_shown(line)}"
        try:
            override = OverridesParser.create().parse_override(line)
        except (HydraException, RecursionError):
            raise InputError(f"{said}: expected key=value") from None
        key, value = override.key_or_group.removeprefix("hydra.sweeper."), override.value()
        if override.package is None:
            if key == "hydra/sweeper" and isinstance(value, str) and _NAME.fullmatch(value):
                continue
            if key in _COUNTS and (value is None or type(value) in (int, bool)):
                continue
            name = key.removeprefix("params.")
            params = value if key == "params" else {name: value} if name != key and _NAME.fullmatch(name) else None
            # an interpolation is resolved before the sweeper looks at the values
            if isinstance(params, dict) and all(
                isinstance(each, str | int | float) and "${" not in str(each) for each in params.values()
            ):
                check_swept([f"{param}={each}" for param, each in params.items()], directory, trusted)
                continue
        raise InputError(f"{said}: more than a number of trials, or than what is varied; {_AGAIN}")


def check_files(directory: Path) -> None:
    """Checks that a run is made of files and folders of its own, so that nothing is written or read elsewhere.

    Raises:
        InputError: if something in it is a link that leads out of it, a pipe or a device.
    """
    home = directory.resolve()
    for path in directory.rglob("*"):
        if path.is_symlink():
            # W&B itself leaves links to its logs: it makes them anew, and writes to none
            is_of_wandb = "wandb" in path.relative_to(directory).parts and path.suffix == ".log"
            if not is_of_wandb and not path.resolve().is_relative_to(home):
                raise InputError(f"resume={directory}: {path} is a link that leads out of the run; expected its own")
        elif not (path.is_file() or path.is_dir()):
            raise InputError(f"resume={directory}: {path} is a pipe or a device; expected files and folders")
