"""What the configs of runs differ in. Attention and seed are meant to differ; anything else is a note of the report."""

from collections.abc import Sequence
from typing import Any

from lookback.runs import Run

_NO_NUMBER_DEPENDS_ON = ("seed", "names.", "logger.", "data.cache", "callbacks.budgets.")
"""Keys that may differ: the seed is a column of its own, the others change no number."""

_BROUGHT_BY_ATTENTION = ("attention.", "decoder.query", "learning_rate")
"""Keys that an attention's own file sets: they tell two runs apart only where their attention has the same name."""


def differing(runs: Sequence[Run]) -> list[str]:
    """Config keys, such as `encoder.cell`, with more than one value in `runs`, beside the attention and the seed."""
    keys = dict.fromkeys(key for run in runs for key in run.settings if not key.startswith(_NO_NUMBER_DEPENDS_ON))
    if not any(map(rate_is_the_attentions, runs)):
        keys.pop("learning_rate", None)  # nothing reads it
    return [key for key in keys if _differs(key, runs, key.startswith(_BROUGHT_BY_ATTENTION))]


def rate_is_the_attentions(run: Run) -> bool:
    """Whether its optimizer takes `learning_rate`, which attentions' own files set, and no rate of its own."""
    return value(run, "optimizer.lr") == "${learning_rate}"


def naming(runs: Sequence[Run]) -> list[str]:
    """The keys of `differing` that belong into the names of arms: those that differ between runs of one recipe.

    A recipe's own name stands for what the recipe sets (`named_by_recipe`).
    """
    kinds: dict[str, list[Run]] = {}
    for run in runs:
        kinds.setdefault(run.attention if named_by_recipe(run) else "", []).append(run)
    needed = {key for of in kinds.values() for key in differing(of)}
    return [key for key in differing(runs) if key in needed]


def named_by_recipe(run: Run) -> bool:
    """Whether its config names the arm itself, as `experiment=cho2014` does, and not after the chosen attention."""
    name = run.settings.get("names.attention")
    return isinstance(name, str) and "${" not in name


def brought(runs: Sequence[Run], key: str) -> dict[str, Any]:
    """The values of a key that attentions' own files set, such as `decoder.query`, by attention.

    Empty where all attentions have the same value, and where one of them has several: `differing` names such a key.
    """
    values = {run.attention: value(run, key) for run in runs}
    return values if len(set(map(str, values.values()))) > 1 and not _differs(key, runs, True) else {}


def value(run: Run, key: str) -> Any:
    """A config value by its dotted key; None where the run's config has no such key."""
    return run.settings.get(key)


def settings_but(run: Run, *keys: str) -> list[tuple[str, str]]:
    """The run's settings that a number may depend on, in the order of their keys, without `keys`."""
    others = (key for key in sorted(run.settings) if not key.startswith(_NO_NUMBER_DEPENDS_ON) and key not in keys)
    return [(key, str(run.settings[key])) for key in others]


def arm(run: Run, keys: Sequence[str]) -> str:
    """What is compared: the name of the attention or recipe, and `keys`. The runs of one arm differ in seed alone."""
    short = [key.rpartition(".")[2] for key in keys]
    names = [name if short.count(name) == 1 else key for key, name in zip(keys, short, strict=True)]
    return ", ".join([run.attention, *(f"{name}={value(run, key)}" for key, name in zip(keys, names, strict=True))])


def arms(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs by their `arm`: `none` first, then by name; the runs of an arm in the order of their seeds."""
    keys = naming(runs)
    found: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.attention != "none", arm(run, keys), run.seed or 0)):
        found.setdefault(arm(run, keys), []).append(run)
    return found


def _differs(key: str, runs: Sequence[Run], within_attention: bool) -> bool:
    seen = {(run.attention if within_attention else "", str(value(run, key))) for run in runs}
    return len(seen) > len({name for name, _ in seen})
