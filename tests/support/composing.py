"""Configs that are composed of the same files and choices are read and merged once a process.

A composition is a tenth of a second, most of it the same each time: which files the choices name, and what these say.
What is remembered is that alone, of files that have not changed since. Values that are typed are set anew on a copy.
"""

import os
import pickle
from collections.abc import Hashable, Iterator
from typing import Any

from hydra._internal import config_loader_impl
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.defaults_list import DefaultsList, Overrides
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig

_create = config_loader_impl.create_defaults_list
_merge = ConfigLoaderImpl._compose_config_from_defaults_list
_lists: dict[Hashable, DefaultsList] = {}
_merged: dict[int, bytes] = {}  # by the id of a list of defaults, which is kept above


def remember() -> None:
    """Lets Hydra compose so from now on."""
    config_loader_impl.create_defaults_list = create_defaults_list
    ConfigLoaderImpl._compose_config_from_defaults_list = _compose  # type: ignore[method-assign]


def create_defaults_list(
    repo: Any, config_name: str | None, overrides_list: list[Override], prepend_hydra: bool, skip_missing: bool
) -> DefaultsList:
    typed = Overrides(repo=repo, overrides_list=overrides_list)
    sources = [(source.provider, source.scheme(), source.path) for source in repo.get_sources()]
    key = (
        (config_name, prepend_hydra, skip_missing, str(sources), *_stored(ConfigStore.instance().repo)),
        tuple(stamp for _, scheme, path in sources if scheme == "file" for stamp in _stamps(path)),
        str((typed.override_choices, typed.append_group_defaults, typed.deletions)),
    )
    found = _lists.get(key)
    if found is None:
        found = _create(repo, config_name, overrides_list, prepend_hydra, skip_missing)
        _lists[key] = found
    return DefaultsList(
        defaults=found.defaults,
        defaults_tree=found.defaults_tree,
        config_overrides=typed.config_overrides,
        overrides=found.overrides,
    )


def _compose(loader: ConfigLoaderImpl, defaults: list[Any], repo: Any) -> DictConfig:
    if not any(found.defaults is defaults for found in _lists.values()):
        return _merge(loader, defaults, repo)
    if id(defaults) not in _merged:
        _merged[id(defaults)] = pickle.dumps(_merge(loader, defaults, repo))
    config: DictConfig = pickle.loads(_merged[id(defaults)])
    return config


def _stamps(folder: str) -> Iterator[tuple[str, int, int]]:
    """Each file of a folder, and when it was changed."""
    for path, _, names in os.walk(folder):
        for name in names:
            about = os.stat(os.path.join(path, name))
            yield f"{path}/{name}", about.st_mtime_ns, about.st_size


def _stored(nodes: dict[str, Any], path: str = "") -> Iterator[tuple[str, int]]:
    """Each config that is no file, but a class or a node that a package has registered."""
    for name, node in nodes.items():
        if isinstance(node, dict):
            yield from _stored(node, f"{path}/{name}")
        else:
            yield f"{path}/{name}", id(node)
