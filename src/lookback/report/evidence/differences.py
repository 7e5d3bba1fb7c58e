"""What the configs of runs differ in, and what the arms of a comparison are called.

Attention and seed are meant to differ; anything else is a note of the report.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lookback.common.configs import changes_no_number
from lookback.runs import Run
from lookback.runs.arm import with_settings
from lookback.runs.run import natural

_BESIDE = ("seed", "names.", "callbacks.budgets.")
"""Keys that may differ, too: the seed is a column of its own, and what is scored on the way changes no score."""

_BROUGHT_BY_ATTENTION = ("attention.", "decoder.query", "learning_rate")
"""Keys that an attention's own file sets: they tell two runs apart only where these are of one recipe."""


def differing(runs: Sequence[Run]) -> list[str]:
    """Config keys, such as `encoder.cell`, with more than one value in `runs`, beside the attention and the seed.

    What another system wrote has no config, and differs in nothing.
    """
    return [key for key in _differing(runs) if not key.startswith(_BROUGHT_BY_ATTENTION) or _differs(key, runs, True)]


def _differing(runs: Sequence[Run]) -> list[str]:
    """The same with the keys that an attention brings."""
    runs = [run for run in runs if run.config]
    keys = dict.fromkeys(key for run in runs for key in run.settings if _counts(key))
    if not any(map(rate_is_the_attentions, runs)):
        keys.pop("learning_rate", None)  # nothing reads it
    found = [key for key in keys if _differs(key, runs, False)]
    # of another kind of network all settings are others
    others = tuple(f"{side}." for side in ("encoder", "decoder") if f"{side}._target_" in found)
    return [key for key in found if key.endswith("._target_") or not key.startswith(others)]


def _counts(key: str) -> bool:
    return not key.startswith(_BESIDE) and not changes_no_number(key)


def rate_is_the_attentions(run: Run) -> bool:
    """Whether its optimizer takes `learning_rate`, which attentions' own files set, and no rate of its own."""
    return value(run, "optimizer.lr") == "${learning_rate}"


def brought(runs: Sequence[Run], key: str) -> dict[str, Any]:
    """The values of a key that attentions' own files set, such as `decoder.query`, by recipe.

    Empty where all have the same value, and where one of them has several: `differing` names such a key.
    """
    runs = [run for run in runs if run.config]
    values = {run.recipe: value(run, key) for run in runs}
    return values if len(set(map(str, values.values()))) > 1 and not _differs(key, runs, True) else {}


def value(run: Run, key: str) -> Any:
    """A config value by its dotted key; None where the run's config has no such key."""
    return run.settings.get(key)


def settings_but(run: Run, *keys: str) -> list[tuple[str, str]]:
    """The run's settings that a number may depend on, in the order of their keys, without `keys`."""
    others = (key for key in sorted(run.settings) if _counts(key) and key not in keys)
    return [(key, str(run.settings[key])) for key in others]


def told_apart(runs: Sequence[Run]) -> list[Run]:
    """The runs, in their order; where some of one arm differ in more than the seed, its name says in what.

    Other names stay short, however much two arms differ: that is a note of the report. What is told apart once is
    not changed by a second time.
    """
    arms: dict[str, list[Run]] = {}
    for run in runs:
        arms.setdefault(run.arm, []).append(run)
    named = [_named(run, arms[run.arm]) for run in runs]
    # a longer name may be another arm's already
    same = [run.arm for run in named] == [run.arm for run in runs]
    return named if same else told_apart(named)


def _named(run: Run, of: Sequence[Run]) -> Run:
    """The run with what tells it from others of its arm in its name: its attention, then its settings."""
    several = len({other.attention for other in of}) > 1
    alike = [other for other in of if other.attention == run.attention]
    if not several and len(alike) == 1:
        return run
    name = f"{run.arm}, {run.attention}" if several else run.arm
    return replace(run, arm=with_settings(name, {key: value(run, key) for key in _differing(alike)}))


def arms(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs by their arm, told apart: `none` first, then by name; the runs of an arm in the order of their seeds."""
    found: dict[str, list[Run]] = {}
    for run in sorted(told_apart(runs), key=_place):
        found.setdefault(run.arm, []).append(run)
    return found


def _differs(key: str, runs: Sequence[Run], within_recipe: bool) -> bool:
    """Whether a key has several values, in all runs or in those of one recipe and attention. 2 and 2.0 are one."""
    seen = {((run.recipe, run.attention) if within_recipe else None, _plain(value(run, key))) for run in runs}
    return len(seen) > len({recipe for recipe, _ in seen})


def _plain(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(float(value)) if is_number else str(value)


def _place(run: Run) -> tuple[bool, bool, list[tuple[str, float]], int]:
    """The baseline of all others first: runs that look nowhere, those of no recipe before the others."""
    return run.attention != "none", run.recipe != "none", natural(run.arm), run.seed or 0
