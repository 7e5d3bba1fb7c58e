"""What the config of a run may name.

Hydra calls whatever a config names as ``_target_``. A run directory may come from a stranger, so its config may name
only what this module lists, and what the user allows with ``trust=MODULE.NAME``. It is checked before anything of it is
imported.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from lookback.common.configs import PRESENT_NAMES
from lookback.common.errors import InputError

ENVIRONMENT = "oc.env"
"""Beside classes and functions, ``trust=oc.env`` lets a run's config read environment variables."""

TRUSTED = frozenset(
    {
        "lightning.Trainer",
        "lightning.pytorch.callbacks.EarlyStopping",
        "lightning.pytorch.callbacks.ModelCheckpoint",
        "lookback.data.BPETokenization",
        "lookback.data.CharacterTokenization",
        "lookback.data.FileTokenization",
        "lookback.data.GrammarCorpus",
        "lookback.data.HubCorpus",
        "lookback.data.RecordsCorpus",
        "lookback.data.TextCorpus",
        "lookback.data.UnigramTokenization",
        "lookback.data.WordTokenization",
        "lookback.nn.AdditiveAttention",
        "lookback.nn.DotAttention",
        "lookback.nn.FixedContext",
        "lookback.nn.GeneralAttention",
        "lookback.nn.RecurrentDecoder",
        "lookback.nn.RecurrentEncoder",
        "lookback.search.BeamSearch",
        "lookback.search.GreedySearch",
        "lookback.search.SamplingSearch",
        "lookback.tracking.tensorboard_logger",
        "lookback.tracking.wandb_logger",
        "lookback.training.callbacks.BudgetScores",
        "lookback.training.callbacks.LastCheckpoint",
        "lookback.training.schedules.constant",
        "lookback.training.schedules.cosine",
        "lookback.training.schedules.inverse_sqrt",
        "lookback.training.schedules.luong",
        "lookback.training.schedules.plateau",
        *PRESENT_NAMES,
        *(
            f"torch.optim.{name}"
            for name in (
                *("ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam"),
                *("RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam"),
            )
        ),
    }
)
"""Exact names: Hydra follows the attributes of a module, so ``lookback.data.X.os.system`` would reach anything."""

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
_ENVIRONMENT_VALUE = re.compile(r"\$\{oc\.env:[^${}]*\}")
_LONGEST_NAME = 80  # characters of it in a message
_DEEPEST = 32
_MOST_VALUES = 20_000  # a config of ours has about 200


def trusted_names(trust: str | Iterable[str]) -> frozenset[str]:
    """All names that a run's config may use.

    Args:
        trust: what the user allows: ``MODULE.NAME``, or a list of such names.

    Raises:
        InputError: for anything else.
    """
    names = list(trust) if isinstance(trust, Iterable) and not isinstance(trust, str) else [trust]
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(f"trust={name}: expected MODULE.NAME, or a list such as '[a.One, b.Two]'")
    return TRUSTED | frozenset(names)


def check_trusted(config: Any, trusted: frozenset[str], where: str) -> None:
    """Check every name of a config, wherever in it.

    Args:
        config: plain containers.
        trusted: the names that are allowed, from ``trusted_names``.
        where: the run or the file that the config comes from, for the message.

    Raises:
        InputError: if the config calls for anything else, or is not a plain config.
    """
    refused = [
        (key, value)
        for key, value in _values(config, where)
        if _is_target(key) and (not isinstance(value, str) or value not in trusted)
    ]
    if not refused:
        return
    key, name = refused[0]
    said = f"{where}: {shown(key)}={shown(name)}: this is no class or function of lookback's own"
    if not all(isinstance(name, str) and _NAME.fullmatch(name) for _, name in refused):
        raise InputError(said)
    names = [*sorted(trusted - TRUSTED), *dict.fromkeys(name for _, name in refused)]
    typed = f"'[{', '.join(names)}]'" if names[1:] else names[0]
    raise InputError(f"{said}; trust={typed} allows it, if you know what it does")


def plain_text(config: Any, trusted: frozenset[str]) -> Any:
    r"""A config in which OmegaConf resolves nothing: each ``${`` is a text, written ``\${``.

    With ``oc.env`` among ``trusted``, a text keeps its ``${oc.env:NAME}`` if it has no other interpolation.
    """
    if isinstance(config, dict):
        return {key: plain_text(value, trusted) for key, value in config.items()}
    if isinstance(config, list):
        return [plain_text(value, trusted) for value in config]
    if not isinstance(config, str) or not is_interpolated(config, trusted):
        return config
    return re.sub(r"(\\*)\$\{", lambda start: start[1] * 2 + r"\${", config)


def is_interpolated(text: str, trusted: frozenset[str]) -> bool:
    """Whether a text has an interpolation that a run's config may not have."""
    return "${" in (_ENVIRONMENT_VALUE.sub("", text) if ENVIRONMENT in trusted else text)


def shown(name: Any) -> str:
    """A name as messages write it: in one line, and not too long."""
    text = name if isinstance(name, str) and name.isprintable() else ascii(name)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def _is_target(key: str) -> bool:
    return key.rpartition(".")[2] == "_target_"


def _values(config: Any, where: str) -> Iterator[tuple[str, Any]]:
    """The full key and the value of everything in a config that is no container, and of every ``_target_``."""
    left: list[tuple[str, Any, int]] = [("", config, 0)]
    seen = 0
    while left:
        key, value, depth = left.pop()
        seen += 1
        if depth > _DEEPEST or seen > _MOST_VALUES:  # in a checkpoint, a few bytes can hold the same list many times
            raise InputError(f"{where}: its config is too large; expected one that a training of lookback wrote")
        if type(value) is dict and not _is_target(key) and all(type(name) in (str, int) for name in value):
            left += [(f"{key}.{name}" if key else str(name), each, depth + 1) for name, each in reversed(value.items())]
        elif type(value) is list and not _is_target(key):
            left += [(f"{key}[{place}]", each, depth + 1) for place, each in reversed(list(enumerate(value)))]
        elif _is_target(key) or value is None or type(value) in (str, int, float, bool):
            yield key, value
        else:
            found = type(value).__name__
            raise InputError(f"{where}: {shown(key)}: found {found} in its config; expected texts, numbers and lists")
