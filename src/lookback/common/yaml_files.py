"""YAML files of a run directory, which may come from a stranger: reading one takes bounded time and memory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lookback.common.errors import InputError
from lookback.common.files import read_regular

_LARGEST = 300_000
"""Bytes. The files that Hydra writes have some thousands."""


class _Loader(yaml.SafeLoader):
    """Without aliases: a few lines of them can stand for more values than any memory holds. Hydra writes none."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()
            raise yaml.YAMLError(f"an alias, *{event.anchor}, in line {event.start_mark.line + 1}")
        return super().compose_node(parent, index)


def read_yaml(path: Path) -> Any:
    """What a YAML file holds. Raises `InputError` with the file if it is no YAML, too large, or has aliases."""
    try:
        return yaml.load(read_regular(path, _LARGEST).decode(), _Loader)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; expected YAML") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}; expected YAML") from None


def read_keys(path: Path) -> Mapping[str, Any]:
    """A YAML file with keys. Raises `InputError` with the file for anything else."""
    content = read_yaml(path)
    if not isinstance(content, Mapping):
        raise InputError(f"{path}: found {type(content).__name__}, expected YAML with keys")
    return content


def read_list(path: Path) -> list[str]:
    """A YAML file with a list of texts. Raises `InputError` with the file for anything else."""
    content = read_yaml(path)
    if not isinstance(content, list) or not all(isinstance(line, str) for line in content):
        raise InputError(f"{path}: found {type(content).__name__}, expected YAML with a list of texts")
    return content
