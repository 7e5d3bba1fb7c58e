"""Run directories, read back: what was asked for, how it ended, and its numbers."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from lookback.common.configs import with_present_targets
from lookback.common.errors import InputError
from lookback.runs.results import read_results
from lookback.runs.schema import Results
from lookback.runs.status import read_status


@dataclass(frozen=True)
class Run:
    """One run directory, as a report sees it."""

    directory: Path
    attention: str
    seed: int | None
    status: str
    """running, finished, failed or interrupted; "unknown" where the run left no status.json"""
    reason: str | None
    """Why it failed"""
    results: Results | None
    """results.json (`lookback.runs.SCHEMA`); None where the test set was not scored"""
    config: Mapping[str, Any]
    """The composed config, interpolations as written"""

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The config's values by their dotted keys, such as `encoder.layers`."""
        return _flat(with_present_targets(self.config))

    @property
    def bleu(self) -> float | None:
        """BLEU of the whole test set; None without a score."""
        return self.results["bleu"] if self.results else None


def read_run(directory: Path | str) -> Run:
    """Read one run directory. Raises `InputError` where it is none, or where a file in it is not what it should be."""
    directory = Path(directory)
    if not is_run(directory):
        raise InputError(f"{directory}: expected a run directory (there is no .hydra/config.yaml in it)")
    config = _yaml(directory / ".hydra" / "config.yaml")
    status, reason = read_status(directory / "status.json")
    path = directory / "test" / "results.json"
    results = read_results(path) if path.exists() else None
    attention = results["attention"] if results else _name(config, directory)
    seed = results["seed"] if results else config.get("seed")
    return Run(directory, attention, seed if isinstance(seed, int) else None, status, reason, results, config)


def read_runs(directories: Iterable[Path | str]) -> list[Run]:
    """Read every run that the entries name, each once: an entry is a run directory, or a sweep with runs inside.

    Raises `InputError` for an entry that is neither, and for a run that cannot be read.
    """
    found: dict[Path, Path] = {}
    for entry in map(Path, directories):
        if not entry.is_dir():
            raise InputError(f"{entry}: no such directory; expected a run directory, or a sweep with runs inside")
        inside = [entry] if is_run(entry) else runs_inside(entry)
        if not inside:
            raise InputError(f"{entry}: neither a run directory (.hydra/config.yaml) nor a directory with runs inside")
        for directory in inside:
            found.setdefault(directory.resolve(), directory)
    return [read_run(directory) for directory in found.values()]


def runs_inside(directory: Path | str) -> list[Path]:
    """The run directories below a sweep's directory, in the order of their names, 2 before 10."""
    configs = Path(directory).glob("**/.hydra/config.yaml")
    return sorted((config.parent.parent for config in configs), key=_natural)


def training_limit(run: Run) -> int | None:
    """Words of the longest source that the run was trained on; None without a limit.

    It is `data.train_max_length`. Where that is not set it is `data.max_length`: a corpus with such a setting makes no
    longer sentence.
    """
    data = run.config.get("data")
    if not isinstance(data, Mapping):
        return None
    limit = data.get("train_max_length") or data.get("max_length")
    return limit if isinstance(limit, int) else None


def is_run(directory: Path) -> bool:
    """Whether a run left its config there."""
    return (directory / ".hydra" / "config.yaml").is_file()


def _name(config: Mapping[str, Any], directory: Path) -> str:
    """The arm's name: what a recipe calls it, else the attention that was typed."""
    names = config.get("names")
    name = names.get("attention") if isinstance(names, Mapping) else None
    if isinstance(name, str) and "${" not in name:
        return name
    return _chosen_attention(directory / ".hydra" / "hydra.yaml")


def _chosen_attention(path: Path) -> str:
    """What was typed as attention=…; Hydra keeps it beside the config."""
    node: Any = _yaml(path) if path.exists() else None
    for key in ("hydra", "runtime", "choices", "attention"):
        node = node.get(key) if isinstance(node, Mapping) else None
    return node if isinstance(node, str) else "?"


def _yaml(path: Path) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}; expected YAML") from None
    if not isinstance(content, Mapping):
        raise InputError(f"{path}: found {type(content).__name__}, expected YAML with keys")
    return content


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, entry in config.items():
        if isinstance(entry, Mapping) and entry:
            flat |= _flat(entry, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = entry
    return flat


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part or 0), text) for text, part in re.findall(r"(\D*)(\d*)", str(path))]
