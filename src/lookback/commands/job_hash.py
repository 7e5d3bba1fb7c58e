"""The name of a job's directory, by which any later sweep finds it again."""

import hashlib
import json
import re
from typing import Any

from omegaconf import DictConfig, OmegaConf

_ELSEWHERE = re.compile(r"\$\{(?=hydra:runtime\.output_dir\}|oc\.env:|now:)")
"""What depends on the place, the machine or the time of a job: it counts as it is written, not as what it is there."""
_NO_NUMBER = (
    "logger",
    "optimized_metric",
    "batch.evaluation_size",
    "data.cache",
    "callbacks.last.minutes",
    "trainer.accelerator",
    "trainer.devices",
    "trainer.num_nodes",
    "trainer.enable_model_summary",
    "trainer.num_sanity_val_steps",
)
"""Settings that change no number of a run beyond its last digits: with others it is still the same job."""


def job_hash(_root_: DictConfig) -> str:
    """The name of a job's directory: ten hexadecimal digits, a hash of its resolved settings.

    ``conf/hydra/default.yaml`` uses it as ``${job_hash:}``. Equal settings give equal names, however they were typed,
    so that a sweep that is run again, in another order, or with more values finds the jobs that it has.

    Args:
        _root_: the whole config of the job, with ``hydra``.
    """
    settings = OmegaConf.to_container(_root_, resolve=False)
    assert isinstance(settings, dict)
    del settings["hydra"]
    for key in _NO_NUMBER:
        *groups, name = key.split(".")
        inside: Any = settings
        for group in groups:
            inside = inside.get(group) if isinstance(inside, dict) else None
        if isinstance(inside, dict):
            inside.pop(name, None)
    resolved = OmegaConf.to_container(OmegaConf.create(_literal(settings)), resolve=True)
    text = json.dumps(resolved, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _literal(node: Any) -> Any:
    """The settings with the interpolations of ``_ELSEWHERE`` as plain text."""
    if isinstance(node, dict):
        return {key: _literal(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_literal(value) for value in node]
    return _ELSEWHERE.sub(r"\\${", node) if isinstance(node, str) else node
