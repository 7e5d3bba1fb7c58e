"""Builds objects from a config, and explains its errors in one line. Only this module and the commands use Hydra."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from lookback.common.errors import InputError
from lookback.common.suggestions import nearest

PRESENT_NAMES = {
    "lookback.training.budget_scores.BudgetScores": "lookback.training.callbacks.BudgetScores",
    "lookback.training.tracking.tensorboard_logger": "lookback.tracking.tensorboard_logger",
    "lookback.training.tracking.wandb_logger": "lookback.tracking.wandb_logger",
}
"""The present name of each class that configs of earlier versions name differently."""
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
"""Settings, and groups of settings, that change no number of a run. Jobs, searches, reports and ``resume=`` share them.

Where a run trains is no part of what it trains, so that a sweep goes on on the machines that there are. On other
devices the last digits differ. With dropout they draw other masks, a GPU as well as a second process: another draw of
the same settings.
"""


def build(config: Any, kind: type = object, **arguments: Any) -> Any:
    """Build the object of a config with Hydra's ``instantiate``. Names of earlier versions are understood.

    Args:
        config: ``_target_`` names what is called; the other keys are its arguments.
        kind: what the object must be: a class, or a protocol that ``isinstance`` knows.
        arguments: further arguments.

    Returns:
        The object.

    Raises:
        InputError: if the object is of another kind, or if a resolved text still has a ``${``: ``instantiate`` would
            resolve it a second time.
    """
    from hydra.utils import instantiate

    _check_resolved(config)
    target = present_target(config) if isinstance(config, Mapping) else None
    if target is not None and target != config["_target_"]:
        arguments["_target_"] = target
    built = instantiate(config, **arguments, _convert_="all")  # plain lists and dictionaries, as its types say
    if not isinstance(built, kind):
        key = config._get_full_key("")
        raise InputError(f"{key}._target_={config._target_}: expected a {kind.__name__}, found {type(built).__name__}")
    return built


def _check_resolved(config: Any) -> None:
    from omegaconf import OmegaConf

    if not OmegaConf.is_config(config):
        return
    for key, value in leaves(config._get_full_key(""), OmegaConf.to_container(config, resolve=True)):
        if isinstance(value, str) and "${" in value:
            raise InputError(
                f"{key}={value}: the config of a run may not read the environment or other settings; "
                "trust=oc.env lets it read environment variables"
            )


def leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The values that are no containers, with their full keys."""
    if isinstance(value, Mapping):
        for name, inside in value.items():
            yield from leaves(f"{key}.{name}" if key else str(name), inside)
    elif isinstance(value, list):
        for place, inside in enumerate(value):
            yield from leaves(f"{key}[{place}]", inside)
    else:
        yield key, value


def flattened(key: str, value: Any) -> dict[str, Any]:
    """The settings inside a value by their full keys, such as ``decoder.hidden_size``. Lists are whole."""
    if not isinstance(value, Mapping) or (key and not value):
        return {key: value}
    inside = (flattened(f"{key}.{name}" if key else str(name), part) for name, part in value.items())
    return {name: leaf for part in inside for name, leaf in part.items()}


def changes_no_number(key: str) -> bool:
    """Whether a setting, by its dotted key, changes no number of a run but for last digits and dropout's masks."""
    return any(key == each or key.startswith(f"{each}.") for each in _NO_NUMBER)


def without_environment(config: Any) -> Any:
    """The resolved config in plain containers, with ``${oc.env:NAME}`` in place of each text that comes from there."""
    from omegaconf import OmegaConf
    from omegaconf.resolvers import oc

    resolved = OmegaConf.to_container(config, resolve=True)
    # the same once more, with a resolver that answers with its own text: so it goes through all that refers to it
    OmegaConf.register_new_resolver("oc.env", _environment_text, replace=True)
    try:
        written = OmegaConf.to_container(config, resolve=True)
    finally:
        OmegaConf.register_new_resolver("oc.env", oc.env, replace=True)
    return _with_texts_of(written, resolved)


def hide_environment(text: str, config: Any) -> str:
    """``text`` with ``${oc.env:NAME}`` in place of what a config takes from the environment: it may be a secret.

    Numbers and words of under four characters stay, as they stand in many a text that says something else.
    """
    from omegaconf import OmegaConf
    from omegaconf.resolvers import oc

    names: dict[str, str] = {}

    def noted(name: str, *default: Any) -> Any:
        names.update({os.environ[name]: name} if name in os.environ else {})
        return oc.env(name, *default)

    OmegaConf.register_new_resolver("oc.env", noted, replace=True)
    try:
        with suppress(Exception):  # the config itself may be what is wrong
            OmegaConf.to_container(config, resolve=True)
    finally:
        OmegaConf.register_new_resolver("oc.env", oc.env, replace=True)
    for value in sorted(names, key=len, reverse=True):
        if len(value) > 3 and not re.fullmatch(r"[\d.,]+", value):
            text = text.replace(value, f"${{oc.env:{names[value]}}}")
    return text


def _environment_text(*arguments: Any) -> str:
    return f"${{oc.env:{','.join('null' if each is None else str(each) for each in arguments)}}}"


def _with_texts_of(written: Any, resolved: Any) -> Any:
    if isinstance(written, dict) and isinstance(resolved, dict):
        return {key: _with_texts_of(written.get(key), value) for key, value in resolved.items()}
    if isinstance(written, list) and isinstance(resolved, list) and len(written) == len(resolved):
        return [_with_texts_of(*pair) for pair in zip(written, resolved, strict=True)]
    return resolved if resolved is None or isinstance(resolved, bool | int | float) else written


def present_target(config: Mapping[Any, Any]) -> str | None:
    """The name that a config's ``_target_`` has in this version; None if there is no ``_target_``."""
    target = config.get("_target_")
    # in earlier versions, HubCorpus also read the files that RecordsCorpus reads now
    if target == "lookback.data.HubCorpus" and "files" in config:
        return "lookback.data.RecordsCorpus"
    return target if target is None else PRESENT_NAMES.get(target, target)


def with_present_targets(config: Any) -> Any:
    """A plain config with the names of this version, so that equal settings of two versions compare as equal."""
    if isinstance(config, Mapping):
        values = {key: with_present_targets(value) for key, value in config.items()}
        return {**values, "_target_": present_target(config)} if "_target_" in config else values
    return [with_present_targets(value) for value in config] if isinstance(config, list) else config


def explain(error: BaseException) -> str | None:
    """One line that tells the user what to correct; None if the error is one of the program."""
    from hydra.errors import HydraException, InstantiationException, MissingConfigException, OverrideParseException
    from omegaconf.errors import OmegaConfBaseException

    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:  # a disk is full, a folder is a file
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if type(error).__module__.partition(".")[0] == "yaml":  # a user's own config
        return f"{' '.join(str(error).split())}; expected YAML"
    if "Config group override must be a string or a list" in str(error):  # Hydra's plain ValueError
        return "a config group is chosen by name, such as logger=csv; null is no choice"
    if isinstance(error, InstantiationException):
        return _refused(error)
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _no_such_choice(str(error.missing_cfg_file), [str(option) for option in error.options or ()])
    if isinstance(error, OverrideParseException):
        quoted = re.search(r"[{,]\s*(['\"])([^'\"]*)\1\s*:", str(error.override))
        hint = "; a value with other characters has quotes inside the shell's: 'run=\"…\"'"
        hint = f"; a name in braces has no quotes: {quoted[2]}" if quoted else hint
        return f"{error.override}: expected key=value ({str(error).splitlines()[0]}){hint}"
    if isinstance(error, ValueError) and isinstance(error.__cause__, OSError):  # logging, of a file it cannot open
        return explain(error.__cause__)
    if "Ambiguous value for argument" in str(error):
        line = str(error).splitlines()[0].partition("argument ")[2].strip("'")
        return f"{line}: several values; expected a sweep, python train.py -m {line}, or a list in brackets"
    cause = error.__cause__ if isinstance(error, HydraException) and error.__cause__ else error
    if isinstance(cause, OmegaConfBaseException):
        return _wrong_key(cause)
    return " ".join(str(error).split()) if isinstance(error, HydraException) else None


def missing_target(error: BaseException) -> str | None:
    """The class or function that a config names and that cannot be found; None for any other error."""
    found = re.match(r"Error locating target '([^']+)'", str(error))
    return found[1] if found else None


def _refused(error: BaseException) -> str | None:
    """A constructor refused what the config gives it; None where something else went wrong inside."""
    cause = error.__cause__
    _, named, where = str(error).rpartition("full_key: ")
    if target := missing_target(error):
        return f"{where}._target_={target}: {' '.join(str(cause).split())}"
    # Lightning's name for an argument that it refuses; by name, because importing Lightning takes seconds
    if not isinstance(cause, (ValueError, TypeError)) and type(cause).__name__ != "MisconfigurationException":
        return None
    if not (named and where):
        return str(cause)
    return f"{where}.{cause}" if re.match(r"[\w.]+=", str(cause)) else f"{where}: {cause}"


def _no_such_choice(file: str, options: Sequence[str]) -> str:
    group, _, name = file.rpartition("/")
    expected = f"expected one of {', '.join(options)}{nearest(name, options)}"
    return f"{group or 'config'}={name}: no such choice; {expected}"


def _wrong_key(error: Any) -> str:
    """What OmegaConf says of a key, with the nearest one that there is."""
    parent = error.parent_node
    keys = [str(key) for key in parent] if parent is not None and hasattr(parent, "keys") else []
    key = str(error.key) if error.key is not None else ""
    hint = nearest(key, keys) if key not in keys else ""
    return f"{error.full_key or key}: {str(error).splitlines()[0]}{hint}"


def one_line(error: BaseException) -> str:
    """An error in one line: what the user can correct, or else its type and message."""
    return " ".join((explain(error) or f"{type(error).__name__}: {error}").split())
