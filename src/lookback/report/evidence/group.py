"""Runs that may be ranked together, what their sentences say, and the warnings that a reader needs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lookback.evaluation import FEW
from lookback.report.evidence.capacity import Capacity, capacity
from lookback.report.evidence.contrasts import CountedRuns, Counts, Evidence, counts_of
from lookback.report.evidence.differences import brought, differing, rate_is_the_attentions, told_apart, value
from lookback.report.evidence.rows import Row, rows
from lookback.report.evidence.tuning import Tuned, tuned
from lookback.runs import Run
from lookback.runs.arm import with_short_numbers


@dataclass(frozen=True)
class Group:
    """Runs of one test set and one signature, or runs without scores."""

    number: int
    """From 1, the largest group"""
    runs: Sequence[Run]
    rows: Sequence[Row]
    """A row a run, ranked: `lookback.report.tables.table.rows`"""
    counts: Counts
    """What was counted of each scored run"""
    counted: CountedRuns
    """What their sentences say of any measure, against any baseline"""
    evidence: Evidence
    """What they say of BLEU, against the baseline"""
    capacity: Capacity | None
    """How many words fit in how many numbers; None where the runs do not differ in that"""
    tuned: Sequence[Tuned]
    """The learning rates that validation would choose, where there are several"""
    notes: Sequence[str]
    """Warnings"""

    @property
    def scored(self) -> list[Run]:
        """The runs that have results."""
        return [run for run in self.runs if run.results]


def grouped(runs: Sequence[Run], out: Path, baseline: str | None = None) -> list[Group]:
    """Cut `runs` by test set and signature, largest group first: what differs in either is never ranked together.

    Runs without scores are listed with the others where there is one group, else by themselves. Paths in the rows are
    as seen from `out`. Attentions are compared with `baseline` (`lookback.report.evidence.contrasts.evidence`).
    """
    groups = []
    for number, members in enumerate(map(named, _alike(runs)), 1):
        counts = counts_of(members)
        counted = CountedRuns(members, counts)
        about = counted.evidence(baseline)
        scored = [run for run in members if run.results]
        groups.append(
            Group(
                number=number,
                runs=members,
                rows=rows(members, number, out),
                counts=counts,
                counted=counted,
                evidence=about,
                capacity=capacity(members, counts=counts),
                tuned=tuned(scored),
                notes=[*_warnings(scored), *about.notes],
            )
        )
    return groups


def named(runs: Sequence[Run]) -> list[Run]:
    """The runs, told apart, by names that fit into tables: those of a search's trials have numbers of 17 digits."""
    apart = told_apart(runs)
    short = with_short_numbers({run.arm for run in apart})
    return [run if short[run.arm] == run.arm else replace(run, arm=short[run.arm]) for run in apart]


def _alike(runs: Sequence[Run]) -> list[list[Run]]:
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.results:
            groups.setdefault((run.results["signature"], run.results["data_fingerprint"]), []).append(run)
    if len(groups) <= 1:  # one table shows them all
        return [list(runs)]
    unscored = [run for run in runs if run.results is None]
    return sorted(groups.values(), key=len, reverse=True) + ([unscored] if unscored else [])


def _warnings(runs: Sequence[Run]) -> Iterator[str]:
    """Reasons to doubt that the attention made the difference."""
    runs = [run for run in runs if run.config]  # what another system wrote has no settings
    if keys := differing(runs):
        each = (f"{key} is {', '.join(dict.fromkeys(str(value(run, key)) for run in runs))}" for key in keys)
        yield f"the runs differ in more than the attention: {'; '.join(each)}"
    if (rates := brought(runs, "learning_rate")) and all(map(rate_is_the_attentions, runs)):
        named = ", ".join(f"{attention}: {rate}" for attention, rate in rates.items())
        yield f"each attention has a learning rate of its own ({named})"
    with_query = [run for run in runs if value(run, "decoder.query") is not None]  # a Transformer's has none
    if queries := brought(with_query, "decoder.query"):
        named = ", ".join(f"{attention}: {query}" for attention, query in queries.items())
        yield (
            f"each attention has its paper's query state ({named}); "
            "decoder.query=previous for every run leaves the scorer as the only difference"
        )
    updates = {run.results["cost"]["updates"] for run in runs if run.results}
    if len(updates) > 1:
        yield f"unequal budgets: between {min(map(_count, updates)):,} and {max(map(_count, updates)):,} updates"
    seeds: dict[str, set[int | None]] = {}
    for run in runs:
        seeds.setdefault(run.arm, set()).add(run.seed)
    if len(seeds) > 1 and min(map(len, seeds.values())) < FEW:
        yield (
            "fewer than three seeds of an arm: the spread between trainings is unknown, "
            "so differences are those of the trained models, not of the attentions"
        )


def _count(number: int | None) -> int:
    return number or 0
