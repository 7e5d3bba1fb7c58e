"""What a run is called in a comparison: the name of its arm."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lookback.common.configs import changes_no_number
from lookback.common.yaml_files import read_keys

_BESIDE = ("model", "attention", "seed", "names.arm")
"""What a sweep may vary and no name repeats: model or attention begins it, and the runs of an arm differ in their
seeds"""

_FRACTION = re.compile(r"(?<==)-?\d+\.\d+(?:e-?\d+)?(?=,|$)")


def arm_name(directory: Path, attention: str) -> str:
    """The model or the attention, and what the sweep that the run belongs to varied: `none, hidden_size=16`.

    Hydra leaves beside a run's config what was chosen for it, and beside a sweep's runs what was typed. Alone, a run
    has the name of its model, where one was chosen (`model=…`), or of its attention.
    """
    own = _overrides(directory / ".hydra" / "hydra.yaml", "overrides", "task")
    sweep = directory.parent / "multirun.yaml"
    typed = {**_overrides(sweep, "sweeper", "params"), **_overrides(sweep, "overrides", "task")}
    # Hydra writes a value with other spaces and quotes than it was typed with
    varied = {key: value for key, value in own.items() if key in typed and _bare(typed[key]) != _bare(value)}
    named = {key: value for key, value in varied.items() if key not in _BESIDE and not changes_no_number(key)}
    return with_settings(chosen(directory, "model") or attention, named)


def with_settings(name: str, settings: Mapping[str, Any]) -> str:
    """The name and the settings, by the last parts of their dotted keys; by the whole keys where these are alike."""
    short = [key.rpartition(".")[2] for key in settings]
    keys = [
        last if short.count(last) == 1 and f", {last}=" not in name else key
        for key, last in zip(settings, short, strict=True)
    ]
    return ", ".join([name, *(f"{key}={value}" for key, value in zip(keys, settings.values(), strict=True))])


def with_short_numbers(names: Iterable[str]) -> dict[str, str]:
    """By name, the same with four digits of each number such as 0.0034878527; as it is where it would be another's."""
    short = {name: _FRACTION.sub(_four_digits, name) for name in names}
    taken = Counter(short.values())
    return {name: shorter if taken[shorter] == 1 else name for name, shorter in short.items()}


def _four_digits(number: re.Match[str]) -> str:
    shorter = f"{float(number[0]):.4g}"
    return number[0] if float(number[0]) == float(shorter) else shorter  # 1.0 stays as it was typed


def chosen(directory: Path, group: str) -> str | None:
    """What was typed as attention=… or model=…; None where Hydra left nothing that says so."""
    found = _inside(_read(directory / ".hydra" / "hydra.yaml"), "hydra", "runtime", "choices", group)
    return found if isinstance(found, str) else None


def _bare(value: str) -> str:
    return re.sub(r"[\s'\"]", "", value)


def _overrides(path: Path, *keys: str) -> dict[str, str]:
    """By key, what `key=value` sets in a list of them, or in a table; none where the file has no such."""
    found = _inside(_read(path), "hydra", *keys)
    if isinstance(found, Mapping):
        return {str(key): str(value) for key, value in found.items()}
    return dict(_pairs(found)) if isinstance(found, list) else {}


def _pairs(overrides: Sequence[Any]) -> Iterator[tuple[str, str]]:
    for override in overrides:
        key, _, value = str(override).partition("=")
        yield key.lstrip("+"), value


def _read(path: Path) -> Mapping[str, Any]:
    return read_keys(path) if path.exists() else {}


def _inside(node: Any, *keys: str) -> Any:
    for key in keys:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node
