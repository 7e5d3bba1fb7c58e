"""One file a command, and how commands start, fail and sweep. What names the directory of a job is here."""

import hashlib
import json
import re
import warnings
from typing import Any

from omegaconf import DictConfig, OmegaConf

from lookback.common.configs import changes_no_number

_ELSEWHERE = re.compile(r"\$\{(?=hydra:runtime\.output_dir\}|oc\.env:|now:)")
"""What depends on the place, the machine or the time of a job: it counts as it is written, not as what it is there."""


def job_hash(_root_: DictConfig) -> str:
    """The name of a job's directory: ten hexadecimal digits, a hash of its resolved settings.

    ``conf/hydra/default.yaml`` uses it as ``${job_hash:}``. Equal settings give equal names, however they were typed,
    so that a sweep that is run again, in another order, or with more values finds the jobs that it has.

    Args:
        _root_: the whole config of the job, with ``hydra``.
    """
    text = json.dumps(job_settings(_root_), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def job_settings(config: DictConfig) -> dict[str, Any]:
    """The settings that make a job the one that it is, resolved: those that change a number.

    Args:
        config: of the job, with ``hydra``.
    """
    settings = OmegaConf.to_container(config, resolve=False)
    assert isinstance(settings, dict)
    del settings["hydra"]
    resolved = OmegaConf.to_container(OmegaConf.create(_literal(_that_count(settings))), resolve=True)
    assert isinstance(resolved, dict)
    return {str(key): value for key, value in resolved.items()}


def _that_count(settings: dict[Any, Any], within: str = "") -> dict[Any, Any]:
    return {
        key: _that_count(value, f"{within}{key}.") if isinstance(value, dict) else value
        for key, value in settings.items()
        if not changes_no_number(f"{within}{key}")
    }


def _literal(node: Any) -> Any:
    """The settings with the interpolations of ``_ELSEWHERE`` as plain text."""
    if isinstance(node, dict):
        return {key: _literal(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_literal(value) for value in node]
    return _ELSEWHERE.sub(r"\\${", node) if isinstance(node, str) else node


# both here, because a launcher's worker process imports this package before it composes a job
OmegaConf.register_new_resolver("job_hash", job_hash, replace=True)
# conf/hydra/launcher has files with the names of the launchers' own configs. Hydra 1.3 checks such a file against the
# launcher's, which is welcome, and warns that a later Hydra will take the file alone, which is as good.
warnings.filterwarnings("ignore", message=r"\s*'hydra/launcher/\w+' is validated against ConfigStore schema")
