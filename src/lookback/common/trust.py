"""What the config of a run may name.

Hydra calls whatever a config names as ``_target_``. A run directory may come from a stranger, so its config may name
only what this module lists, and what the user allows with ``trust=MODULE.NAME``. It is checked before anything of it is
imported.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from lookback.common.configs import PRESENT_NAMES
from lookback.common.errors import InputError

ENVIRONMENT = "oc.env"
"""Beside classes and functions, ``trust=oc.env`` lets a run's config read environment variables."""

_TORCH_OPTIMIZERS = (
    *("ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam"),
    *("RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam"),
)
_PRESENT = {
    "attention": (
        "lookback.nn.AdditiveAttention",
        "lookback.nn.CoverageAttention",
        "lookback.nn.DotAttention",
        "lookback.nn.FixedContext",
        "lookback.nn.GeneralAttention",
        "lookback.nn.LocalMonotonicAttention",
        "lookback.nn.LocalPredictiveAttention",
        "lookback.nn.LocationAttention",
        "lookback.nn.LocationSensitiveAttention",
        "lookback.nn.MultiHeadAttention",
        "lookback.nn.NormedAdditiveAttention",
        "lookback.nn.ScaledDotAttention",
    ),
    "callbacks": (
        "lightning.pytorch.callbacks.EarlyStopping",
        "lightning.pytorch.callbacks.ModelCheckpoint",
        "lookback.training.callbacks.BudgetScores",
        "lookback.training.callbacks.LastCheckpoint",
    ),
    "data": (
        "lookback.data.GrammarCorpus",
        "lookback.data.HubCorpus",
        "lookback.data.RecordsCorpus",
        "lookback.data.TextCorpus",
    ),
    "decoder": ("lookback.nn.RecurrentDecoder", "lookback.nn.TransformerDecoder"),
    "encoder": ("lookback.nn.RecurrentEncoder", "lookback.nn.TransformerEncoder"),
    "logger": ("lookback.tracking.tensorboard_logger", "lookback.tracking.wandb_logger"),
    "optimizer": tuple(f"torch.optim.{name}" for name in _TORCH_OPTIMIZERS),
    "scheduler": (
        "lookback.training.schedules.constant",
        "lookback.training.schedules.cosine",
        "lookback.training.schedules.inverse_sqrt",
        "lookback.training.schedules.luong",
        "lookback.training.schedules.plateau",
    ),
    "search": ("lookback.search.BeamSearch", "lookback.search.GreedySearch", "lookback.search.SamplingSearch"),
    "tokenizer": (
        "lookback.data.BPETokenization",
        "lookback.data.CharacterTokenization",
        "lookback.data.FileTokenization",
        "lookback.data.UnigramTokenization",
        "lookback.data.WordTokenization",
    ),
    "trainer": ("lightning.Trainer",),
}
TRUSTED: Mapping[str, frozenset[str]] = {
    section: frozenset(names) | {earlier for earlier, present in PRESENT_NAMES.items() if present in names}
    for section, names in _PRESENT.items()
}
"""By the section of a config that builds them: Hydra would call what stands elsewhere before anybody refuses it.

Exact names: Hydra follows the attributes of a module, so ``lookback.data.X.os.system`` would reach anything.
"""
_OWN = frozenset[str]().union(*TRUSTED.values())
_PLACE = re.compile(r"(?:(callbacks)\.[^.\[\]]+|(?!callbacks\.)([^.\[\]]+))\._target_")
"""Where a section names what it builds: at its top, and under ``callbacks`` one key lower."""
_held: ContextVar[tuple[frozenset[str], str] | None] = ContextVar("held", default=None)
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
_ENVIRONMENT_VALUE = re.compile(r"\$\{oc\.env:[^${}]*\}")
_LONGEST_NAME = 80  # characters of it in a message
_DEEPEST = 32
_MOST_VALUES = 20_000  # a config of ours has about 200
_LONGEST_TEXT = 10_000


def trusted_names(trust: str | Iterable[str]) -> frozenset[str]:
    """The names that a run's config may use beside lookback's own, anywhere in it.

    Args:
        trust: what the user allows: ``MODULE.NAME``, or a list of such names.

    Raises:
        InputError: for anything else.
    """
    names = list(trust) if isinstance(trust, Iterable) and not isinstance(trust, str) else [trust]
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(f"trust={name}: expected MODULE.NAME, or a list such as '[a.One, b.Two]'")
    return frozenset(names)


def check_trusted(config: Any, trusted: frozenset[str], where: str) -> None:
    """Check every name of a config, wherever in it.

    Args:
        config: plain containers.
        trusted: the names that are allowed beside lookback's own, from ``trusted_names``.
        where: the run or the file that the config comes from, for the message.

    Raises:
        InputError: if the config calls for anything else, or is not a plain config.
    """
    check_targets([(key, value) for key, value in _values(config, where) if is_target(key)], trusted, where)


def check_targets(targets: Sequence[tuple[str, Any]], trusted: frozenset[str], where: str) -> None:
    """Check the names of a config, as ``check_trusted`` does.

    Args:
        targets: the full key and the value of every ``_target_``.
        trusted: as in ``check_trusted``.
        where: as in ``check_trusted``.

    Raises:
        InputError: for the first name that is not allowed. The message says what to trust, and what is trusted though
            no key has it: that may be misspelt, or be the name of another run.
    """
    refused = [
        (key, name)
        for key, name in targets
        if not isinstance(name, str) or not (name in trusted or _is_built(key, name))
    ]
    if not refused:
        return
    key, name = refused[0]
    is_own = isinstance(name, str) and name in _OWN
    what = "lookback's own, but not built in this place" if is_own else "no class or function of lookback's own"
    said = f"{where}: {name_shown(key)}={name_shown(name)}: this is {what}"
    # nobody is told to allow what only a stranger would write
    if is_own or not all(isinstance(name, str) and _NAME.fullmatch(name) for _, name in refused):
        raise InputError(said)
    named = trusted & {ENVIRONMENT, *(name for _, name in targets)}
    names = [*sorted(named), *dict.fromkeys(name for _, name in refused)]
    typed = f"'[{', '.join(names)}]'" if names[1:] else names[0]
    others = "".join(f"; {other} is not named there" for other in sorted(trusted - named))
    raise InputError(f"{said}; trust={typed} allows it, if you know what it does{others}")


@contextmanager
def held_to(trusted: frozenset[str], where: str) -> Iterator[None]:
    """Inside, every config is held to these names when it is checked, before anything that it names is imported.

    Args:
        trusted: as in ``check_trusted``.
        where: as in ``check_trusted``.
    """
    before = _held.set((trusted, where))
    try:
        yield
    finally:
        _held.reset(before)


def check_if_held(config: Any) -> None:
    """Check every name of a config as ``held_to`` says; outside of it, the config is the user's own.

    Raises:
        InputError: as ``check_trusted`` does.
    """
    if (held := _held.get()) is not None:
        check_trusted(config, *held)


def check_plain(config: Any, where: str) -> None:
    """Check that a config has plain values only, and no more of them than a training writes.

    Args:
        config: what a file holds.
        where: the file, for the message.

    Raises:
        InputError: if it has others.
    """
    for _ in _values(config, where):
        pass


def names_any(config: Any, trusted: frozenset[str]) -> bool:
    """Whether a config calls one of the names that the user allows."""
    return any(is_target(key) and value in trusted for key, value in _values(config, "config"))


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


def name_shown(name: Any) -> str:
    """A name as messages write it: in one line, and not too long."""
    text = name if isinstance(name, str) and name.isprintable() else ascii(name)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def is_target(key: str) -> bool:
    """Whether a key of a config names what is called."""
    return key.rpartition(".")[2] == "_target_"


def _is_built(key: str, name: str) -> bool:
    """Whether what has this name is built where ``key`` says."""
    place = _PLACE.fullmatch(key)
    return place is not None and name in TRUSTED.get(place[1] or place[2], ())


def _values(config: Any, where: str) -> Iterator[tuple[str, Any]]:
    """The full key and the value of everything in a config that is no container, and of every ``_target_``."""
    left: list[tuple[str, Any, int]] = [("", config, 0)]
    seen = 0
    while left:
        key, value, depth = left.pop()
        kind = type(value)
        is_container = kind in (dict, list) and not is_target(key)
        seen += 1
        most = seen + len(left) + (len(value) if is_container else 0)
        # in a checkpoint, a few bytes can hold the same list or text many times
        if depth > _DEEPEST or most > _MOST_VALUES or max(len(key), len(value) if kind is str else 0) > _LONGEST_TEXT:
            raise InputError(f"{where}: its config is too large; expected one that a training of lookback wrote")
        if is_container and kind is list:
            left += [(f"{key}[{place}]", each, depth + 1) for place, each in reversed(list(enumerate(value)))]
        elif is_container and all(type(name) in (str, int) for name in value):
            left += [(f"{key}.{name}" if key else str(name), each, depth + 1) for name, each in reversed(value.items())]
        elif is_target(key) or value is None or kind in (str, int, float, bool):
            yield key, value
        else:
            raise InputError(
                f"{where}: {name_shown(key)}: found {kind.__name__} in its config; expected texts, numbers and lists"
            )
