"""What runs scored at moments of their trainings, summed up by arm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lookback.evaluation import Resamples
from lookback.evaluation.scores.bleu import HYPOTHESIS_LENGTH, REFERENCE_LENGTH
from lookback.evaluation.scores.chrf import COLUMNS as CHRF_COLUMNS
from lookback.evaluation.scores.reading import COLUMNS as READING_COLUMNS
from lookback.evaluation.scores.repetition import COLUMNS as REPETITION_COLUMNS
from lookback.evaluation.scores.ter import COLUMNS as TER_COLUMNS
from lookback.report.evidence.contrasts import Evidence
from lookback.report.evidence.differences import arms
from lookback.runs import Run, Segments
from lookback.runs.budgets import Budgets, read_budgets


@dataclass(frozen=True, eq=False)
class Scored:
    """Runs that were scored on the same sentences at the same shares of their trainings."""

    names: Sequence[str]
    """Of all arms that are compared"""
    arms: Mapping[str, Sequence[Run]]
    """By the names of those that have such runs; a run a seed, in the order of seeds"""
    left_out: int
    """How many scored runs are not in it: without a budgets.npz, with other sentences or shares, or a second one of a
    seed"""
    budgets: Sequence[Budgets]
    """Of each run, arm after arm"""

    @property
    def shares(self) -> tuple[float, ...]:
        return self.budgets[0].shares

    @property
    def sentences(self) -> int:
        return len(self.budgets[0].ids)

    @cached_property
    def moments(self) -> list[Evidence]:
        """What each moment says of BLEU, as `lookback.report.evidence.contrasts.evidence` does; without differences."""
        found = []
        for moment in range(len(self.shares)):
            resamples = Resamples([_segments(budgets, moment) for budgets in self.budgets])
            place = iter(range(len(self.budgets)))
            places = {name: [next(place) for _ in of] for name, of in self.arms.items()}
            found.append(
                Evidence(
                    arms={name: resamples.arm(of) for name, of in places.items()},
                    curves={name: [resamples.curve(run) for run in of] for name, of in places.items()},
                )
            )
        return found

    def said(self, moment: int) -> str:
        """A moment in words: `1,250 updates (an eighth)`; `600 to 1,250 updates` where runs differ."""
        updates = sorted({budgets.updates[moment] for budgets in self.budgets})
        counted = f"{updates[0]:,}" if len(updates) == 1 else f"{updates[0]:,} to {updates[-1]:,}"
        unit = "update" if updates == [1] else "updates"
        share = self.shares[moment]
        return f"{counted} {unit} ({_FRACTIONS.get(share, f'{share:.0%}')})"


def _segments(budgets: Budgets, moment: int) -> Segments:
    """The counts of one moment, for BLEU alone: the others are 0."""
    bleu = budgets.statistics[moment]
    return Segments(
        source_length=budgets.source_length,
        reference_length=bleu[:, REFERENCE_LENGTH],
        hypothesis_length=bleu[:, HYPOTHESIS_LENGTH],
        truncated=np.zeros(len(bleu), dtype=np.bool_),
        bleu_statistics=bleu,
        chrf_statistics=np.zeros((len(bleu), CHRF_COLUMNS), dtype=np.int64),
        ter_statistics=np.zeros((len(bleu), TER_COLUMNS), dtype=np.int64),
        repetition_statistics=np.zeros((len(bleu), REPETITION_COLUMNS), dtype=np.int64),
        trigram_statistics=np.zeros((len(bleu), REPETITION_COLUMNS), dtype=np.int64),
        reading_statistics=np.zeros((len(bleu), READING_COLUMNS), dtype=np.int64),
    )


_FRACTIONS = {0.125: "an eighth", 0.25: "a quarter", 0.5: "half", 1.0: "all"}


def scored_at_budgets(runs: Sequence[Run]) -> Scored | None:
    """The runs of one test set that can be drawn together; None where no run was scored on its way.

    Runs go together where sentences and shares are the same. Where there are several such sets, the largest is taken,
    and of two as large the one that comes first. Raises `InputError` for a budgets.npz that cannot be read.
    """
    known = arms([run for run in runs if run.bleu is not None])
    alike: dict[Any, dict[str, list[tuple[Run, Budgets]]]] = {}
    for name, of in known.items():
        for place, run in enumerate(of):
            path = run.scored_in / "budgets.npz"
            if path.exists() and run.seed not in [other.seed for other in of[:place]]:
                found = read_budgets(path)
                same = found.shares, found.ids.tobytes(), found.source_length.tobytes()
                alike.setdefault(same, {}).setdefault(name, []).append((run, found))
    if not alike:
        return None
    taken = max(alike.values(), key=lambda of_arm: sum(map(len, of_arm.values())))
    budgets = [found for of in taken.values() for _, found in of]
    drawn = {name: [run for run, _ in of] for name, of in taken.items()}
    return Scored(list(known), drawn, sum(map(len, known.values())) - len(budgets), budgets)
