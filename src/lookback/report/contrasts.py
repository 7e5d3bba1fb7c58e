"""What each attention gains over the baseline: the runs paired by their seeds, and tested on the same sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lookback.errors import InputError
from lookback.evaluation import Difference, Resamples, Segments
from lookback.report.differences import arms, differing, value
from lookback.report.runs import Run

BASELINE = "none"


@dataclass(frozen=True)
class Contrast:
    """One arm against the baseline's: on the pairs of runs that share a seed."""

    arm: str
    baseline: str
    pairs: list[tuple[Run, Run]]
    """The arm's run and the baseline's, of the same seed"""
    difference: Difference


@dataclass(frozen=True)
class Evidence:
    """What the sentences of one test set say about the arms of a comparison."""

    baseline: str | None = None
    """Name of the attention that the others are compared with; None where there is nothing to compare"""
    contrasts: list[Contrast] = field(default_factory=list)
    """Largest gain first"""
    arms: dict[str, dict[str, Any]] = field(default_factory=dict)
    """`lookback.evaluation.Resamples.arm` of each arm"""
    notes: list[str] = field(default_factory=list)
    """What could not be compared, and why"""


def evidence(runs: Sequence[Run], baseline: str | None = None) -> Evidence:
    """Test the arms of `runs`, which share test set and signature, against those of the attention `baseline`.

    By default that is `none`, or else the first attention by the alphabet. An arm is compared with the baseline's arm
    that has most of its other settings. Runs without scores or without segments.npz have no part in it. Raises
    `InputError` where runs were not tested on the same sentences after all.
    """
    notes: list[str] = []
    counted: list[tuple[Run, Segments]] = []
    compared: dict[str, dict[int, int]] = {}  # arm: seed: place in `counted`
    for name, members in arms([run for run in runs if run.bleu is not None]).items():
        for run in members:
            if (segments := run.segments()) is None:
                notes.append(f"{run.directory} has no test/segments.npz, and so no part in intervals and differences")
            elif (seed := run.seed or 0) in compared.get(name, {}):
                notes.append(f"{run.directory} is a second run of {name} with seed {seed}: not counted again")
            else:
                compared.setdefault(name, {})[seed] = len(counted)
                counted.append((run, segments))
    if not counted:
        return Evidence(notes=notes)
    try:
        resamples = Resamples([segments for _, segments in counted])
    except ValueError as error:
        directories = ", ".join(str(run.directory) for run, _ in counted)
        raise InputError(f"{error} (test/segments.npz of {directories})") from None
    sums = {name: resamples.arm(list(places.values())) for name, places in compared.items()}

    first = {name: counted[next(iter(places.values()))][0] for name, places in compared.items()}
    attentions = {run.attention for run in first.values()}
    baseline = baseline or (BASELINE if BASELINE in attentions else min(attentions))
    opponents = {name: run for name, run in first.items() if run.attention == baseline}
    others = {name: run for name, run in first.items() if run.attention != baseline}
    if not (opponents and others):
        return Evidence(None, [], sums, notes)

    pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for name, run in others.items():
        if (opponent := _nearest(run, opponents)) is None:
            notes.append(f"{name}: several runs of {baseline} have as many of its settings; no difference was taken")
        elif shared := sorted(compared[name].keys() & compared[opponent].keys()):
            pairs[name, opponent] = [(compared[name][seed], compared[opponent][seed]) for seed in shared]
        else:
            notes.append(f"{name} and {opponent} have no seed in common; no difference was taken")
    contrasts = [
        Contrast(name, opponent, [(counted[one][0], counted[other][0]) for one, other in places], difference)
        for ((name, opponent), places), difference in zip(
            pairs.items(), resamples.differences(list(pairs.values())), strict=True
        )
    ]
    contrasts.sort(key=lambda contrast: -contrast.difference.whole["difference"])
    return Evidence(baseline, contrasts, sums, notes)


def _nearest(run: Run, opponents: dict[str, Run]) -> str | None:
    """The opponent with most of the run's settings, of those that differ between them; None where several have."""
    keys = differing([run, *opponents.values()])
    alike = {name: sum(value(run, key) == value(other, key) for key in keys) for name, other in opponents.items()}
    best = [name for name in alike if alike[name] == max(alike.values())]
    return best[0] if len(best) == 1 else None
