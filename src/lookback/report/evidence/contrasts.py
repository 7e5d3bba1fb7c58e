"""What each attention gains over the baseline: the runs paired by their seeds, and tested on the same sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np

from lookback.common.errors import InputError
from lookback.evaluation import (
    IN_RESULTS,
    Arm,
    Buckets,
    Difference,
    Pair,
    RecallPart,
    Resamples,
    ScoredBucket,
    equal_count_bounds,
    measure_of,
    recall_curve,
    segments_of,
)
from lookback.evaluation.scores.recall import LINKED
from lookback.evaluation.statistics.significance import trainings_of
from lookback.report.evidence.differences import arms, differing, value
from lookback.runs import Run, Segments

BASELINE = "none"

Curve = list[ScoredBucket]
"""`lookback.evaluation.Resamples.curve`"""

RecallCurve = list[RecallPart]
"""`lookback.evaluation.recall_curve`: the whole test set, then its buckets"""

Counts = Mapping[Path, Segments | None]
"""What was counted of each scored run, by its directory; None where it left nothing"""


@dataclass(frozen=True)
class ArmRecall:
    """Where in the source an arm's words are lost."""

    mean: RecallCurve
    """The runs' mean, with its intervals"""
    runs: list[RecallCurve]
    """Of each run, in the order of their seeds"""


@dataclass(frozen=True)
class Contrast:
    """One arm against the baseline's: on the pairs of runs that share a seed."""

    arm: str
    baseline: str
    pairs: list[tuple[Run, Run]]
    """The arm's run and the baseline's, of the same seed"""
    difference: Difference

    @property
    def is_of_trainings(self) -> bool:
        """Whether a training is compared, and not what other systems wrote alone."""
        return any(run.is_training for pair in self.pairs for run in pair)


@dataclass(frozen=True)
class Evidence:
    """What the sentences of one test set say about the arms of a comparison."""

    measure: str = "bleu"
    """Key of what is measured (`lookback.evaluation.MEASURES`)"""
    buckets: Buckets = "width"
    """How the sentences are cut by source length"""
    baseline: str | None = None
    """Name of the arm, recipe or attention that the others are compared with; None where there is nothing to compare"""
    contrasts: list[Contrast] = field(default_factory=list)
    """Largest gain first"""
    rivals: list[Contrast] = field(default_factory=list)
    """Each two arms that share the first contrast's baseline, on the whole test set; the one that gains more first"""
    arms: dict[str, Arm] = field(default_factory=dict)
    """The runs of each arm, summed up"""
    curves: dict[str, list[Curve]] = field(default_factory=dict)
    """Of each arm's runs, in the order of their seeds"""
    notes: list[str] = field(default_factory=list)
    """What could not be compared, and why"""

    @property
    def compared_with(self) -> str:
        """The arms that the others are compared with, by their own names."""
        return " or ".join(dict.fromkeys(contrast.baseline for contrast in self.contrasts))


class CountedRuns:
    """Runs of one test set and signature, and the counts of their sentences.

    Sentences are resampled when a measure first needs it, and what was computed is kept. A page asks here for all its
    measures, buckets and baselines.
    """

    arms: Mapping[str, Sequence[Run]]
    """All scored runs, by the name of their arm (`lookback.report.evidence.differences.arms`)"""

    def __init__(self, runs: Sequence[Run], counts: Counts | None = None) -> None:
        """Take runs; those without scores or without segments.npz are left out.

        Without `counts` they are read from the run directories. Raises `InputError` where the runs were not tested on
        the same sentences after all.
        """
        self.arms = arms([run for run in runs if run.bleu is not None])
        self._notes: list[str] = []
        self._counted, self._places = _counted(self.arms, counts_of(runs) if counts is None else counts, self._notes)
        self._resamples: dict[Buckets, Resamples] = {}
        self._summed: dict[tuple[str, Buckets], tuple[dict[str, Arm], dict[str, list[Curve]]]] = {}
        self._evidence: dict[tuple[str, str, Buckets], Evidence] = {}
        if self._counted:
            segments = [segments for _, segments in self._counted]
            try:
                resamples = Resamples(segments)
            except ValueError as error:
                directories = ", ".join(str(run.directory) for run, _ in self._counted)
                raise InputError(f"{error} (segments.npz of {directories})") from None
            bounds = equal_count_bounds(segments[0].source_length)
            self._resamples = {"width": resamples, "count": resamples.cut(bounds, closed=True)}
        self._aligned = _aligned(self._counted, self._notes)

    def evidence(self, baseline: str | None = None, measure: str = "bleu", buckets: Buckets = "width") -> Evidence:
        """What `evidence` gives for these runs."""
        if buckets not in IN_RESULTS:
            raise ValueError(f"buckets={buckets!r}: expected one of {', '.join(IN_RESULTS)}")
        measure_of(measure)  # which refuses one that is not known
        if not self._counted:
            return Evidence(measure, buckets, notes=list(self._notes))
        baseline = baseline or self._baseline()
        key = baseline, measure, buckets
        if key not in self._evidence:
            self._evidence[key] = self._tested(*key)
        return self._evidence[key]

    def _baseline(self) -> str:
        """`none` where some arms look nowhere and others do not, or else the first recipe by the alphabet."""
        first = {name: self._counted[min(of_seed.values())][0] for name, of_seed in self._places.items()}
        return BASELINE if _candidates(first, BASELINE) else min(run.recipe for run in first.values())

    def _tested(self, baseline: str, measure: str, buckets: Buckets) -> Evidence:
        sign = measure_of(measure).better or 1
        notes = list(self._notes)
        first = {name: self._counted[min(of_seed.values())][0] for name, of_seed in self._places.items()}
        opponents = _opponents(first, baseline, notes)
        pairs: dict[str, list[Pair]] = {}
        for name, opponent in opponents.items():
            if shared := self._pairs(name, opponent):
                pairs[name] = shared
            else:
                notes.append(f"{name} and {opponent} have no seed in common; no difference was taken")
        resamples = self._resamples[buckets]
        differences = resamples.differences(list(pairs.values()), measure)
        contrasts = [
            Contrast(name, opponents[name], self._runs(of), difference)
            for (name, of), difference in zip(pairs.items(), differences, strict=True)
        ]
        contrasts.sort(key=lambda contrast: -sign * (contrast.difference.whole["difference"] or 0))
        rivals = self._rivals(resamples, contrasts, measure, notes)
        sums, curves = self._sums(measure, buckets)
        return Evidence(measure, buckets, baseline if contrasts else None, contrasts, rivals, sums, curves, notes)

    def _sums(self, measure: str, buckets: Buckets) -> tuple[dict[str, Arm], dict[str, list[Curve]]]:
        """The runs of each arm, summed up, and their curves: the same for every baseline."""
        if (measure, buckets) not in self._summed:
            resamples = self._resamples[buckets]
            runs_of = {name: list(of_seed.values()) for name, of_seed in self._places.items()}
            self._summed[measure, buckets] = (
                {name: resamples.arm(of, measure) for name, of in runs_of.items()},
                {name: [resamples.curve(run, measure) for run in of] for name, of in runs_of.items()},
            )
        return self._summed[measure, buckets]

    def _rivals(
        self, resamples: Resamples, contrasts: Sequence[Contrast], measure: str, notes: list[str]
    ) -> list[Contrast]:
        """Each two arms that are compared with the first contrast's baseline, the one that gains more first."""
        compared = [contrast.arm for contrast in contrasts if contrast.baseline == contrasts[0].baseline]
        pairs: dict[tuple[str, str], list[Pair]] = {}
        for one, other in combinations(compared, 2):
            if shared := self._pairs(one, other):
                pairs[one, other] = shared
            else:
                notes.append(f"{one} and {other} have no seed in common; no difference was taken")
        wholes = resamples.whole_differences(list(pairs.values()), measure)
        return [
            Contrast(one, other, self._runs(of), Difference(measure, trainings_of(of), whole, []))
            for ((one, other), of), whole in zip(pairs.items(), wholes, strict=True)
        ]

    def _pairs(self, one: str, other: str) -> list[Pair]:
        """Places of the runs of two arms that share a seed; what a system without seeds wrote goes with each run."""
        ours, theirs = self._places[one], self._places[other]
        if None in ours or None in theirs:
            return [(our, their) for our in ours.values() for their in theirs.values()]
        return [(place, theirs[seed]) for seed, place in ours.items() if seed in theirs]

    def _runs(self, pairs: Sequence[Pair]) -> list[tuple[Run, Run]]:
        return [(self._counted[one][0], self._counted[other][0]) for one, other in pairs]

    @cached_property
    def recall(self) -> dict[str, ArmRecall]:
        """By arm, where in the source words are lost; arms without gold links, and runs without, are left out."""
        aligned = self._aligned
        found: dict[str, ArmRecall] = {}
        resamples = Resamples([self._counted[place][1] for place in aligned]) if aligned else None
        for name, of_seed in self._places.items():
            runs = [aligned.index(place) for place in of_seed.values() if place in aligned]
            if resamples and runs:
                mean = recall_curve(resamples, runs)
                each = [recall_curve(resamples, [run]) for run in runs] if len(runs) > 1 else [mean]
                found[name] = ArmRecall(mean, each)
        return found


def evidence(
    runs: Sequence[Run], baseline: str | None = None, measure: str = "bleu", buckets: Buckets = "width"
) -> Evidence:
    """Test the arms of `runs`, which share test set and signature, against those that `baseline` names.

    It names an arm, or the arms of a recipe or attention; by default `none`, or else the first by the alphabet. An arm
    is compared with the baseline's arm that has most of its other settings. `measure` is a key of
    `lookback.evaluation.MEASURES`; `buckets` of source lengths are ten words wide, or have equally many sentences. To
    ask more than once, ask `CountedRuns`.

    Runs without scores or without segments.npz are left out. Raises `InputError` where runs were not tested on
    the same sentences after all, `ValueError` for a measure or buckets that are not known.
    """
    return CountedRuns(runs).evidence(baseline, measure, buckets)


def counts_of(runs: Sequence[Run]) -> Counts:
    """Read what was counted of the scored `runs`."""
    return {run.directory: segments_of(run) for run in runs if run.bleu is not None}


def _counted(
    compared: Mapping[str, Sequence[Run]], counts: Counts, notes: list[str]
) -> tuple[list[tuple[Run, Segments]], dict[str, dict[int | None, int]]]:
    """The runs that have counts, and for each arm and seed the place of its run among them."""
    counted: list[tuple[Run, Segments]] = []
    places: dict[str, dict[int | None, int]] = {}
    for name, members in compared.items():
        for run in members:
            if (segments := counts[run.directory]) is None:
                notes.append(f"{run.directory} has no segments.npz, and so no part in intervals and differences")
            elif run.seed in places.get(name, {}):
                notes.append(f"{run.directory} is a second run of {name} with seed {run.seed}: not counted again")
            else:
                places.setdefault(name, {})[run.seed] = len(counted)
                counted.append((run, segments))
    return counted, places


def _aligned(counted: Sequence[tuple[Run, Segments]], notes: list[str]) -> list[int]:
    """The places of the runs whose words are counted by position, none where they were counted with other links."""
    found = [
        (place, segments.position_statistics)
        for place, (_, segments) in enumerate(counted)
        if segments.position_statistics is not None
    ]
    if not all(np.allclose(linked[:, LINKED], found[0][1][:, LINKED]) for _, linked in found):
        about = "where words are lost was not compared, and AER is not of one gold"
        notes.append(f"the runs were tested with different gold links: {about}")
        return []
    return [place for place, _ in found]


def _opponents(first: Mapping[str, Run], baseline: str, notes: list[str]) -> dict[str, str]:
    """The baseline's arm for each other arm; `first` has a run of every arm."""
    candidates = _candidates(first, baseline)
    opponents: dict[str, str] = {}
    for name, run in first.items():
        if name in candidates or not candidates:
            continue
        if (nearest := _nearest(run, candidates)) is None:
            notes.append(f"{name}: several runs of {baseline} have as many of its settings; no difference was taken")
        else:
            opponents[name] = nearest
    return opponents


def _candidates(first: Mapping[str, Run], baseline: str) -> dict[str, Run]:
    """The arms that `baseline` may mean: the one of that name, else those of that recipe, else of that attention.

    None where that would be all of them.
    """
    for names in ({name: name for name in first}, {name: run.recipe for name, run in first.items()},
                  {name: run.attention for name, run in first.items()}):  # fmt: skip
        found = {name: run for name, run in first.items() if names[name] == baseline}
        if 0 < len(found) < len(first):
            return found
    return {}


def _nearest(run: Run, candidates: Mapping[str, Run]) -> str | None:
    """The candidate with most of the run's settings, of those that differ between them; None where several have."""
    keys = differing([run, *candidates.values()])
    alike = {name: sum(value(run, key) == value(other, key) for key in keys) for name, other in candidates.items()}
    best = [name for name in alike if alike[name] == max(alike.values())]
    return best[0] if len(best) == 1 else None
