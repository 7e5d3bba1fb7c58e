"""Which learning rate validation would choose for each attention. The test set is not used."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from lookback.report.evidence.differences import differing, value
from lookback.runs import Run

RATES = ("optimizer.lr", "learning_rate")
"""The optimizer's own, and the one that it takes where it has none of its own"""


class Tuned(NamedTuple):
    """What the validations of one attention say of a grid of learning rates."""

    attention: str
    seeds: tuple[int, ...]
    """Of the trainings that every rate has"""
    perplexities: Mapping[float, float]
    """By rate, rising: the lowest validation perplexity of a training, its mean over the seeds"""

    @property
    def rate(self) -> float:
        """The rate with the lowest perplexity; of two that are alike, the smaller."""
        return min(self.perplexities, key=lambda rate: self.perplexities[rate])

    @property
    def at_edge(self) -> bool:
        """Whether it is the smallest or the largest of the grid: a better one may lie outside."""
        rates = list(self.perplexities)
        return self.rate in (rates[0], rates[-1])


def tuned(runs: Sequence[Run]) -> list[Tuned]:
    """The attentions that have runs at several learning rates and differ in nothing else, in the order of their names.

    Rates are compared on the seeds that all of them have. Runs without a validation perplexity are left out, and
    so is an attention whose runs differ in more than rate and seed.
    """
    found = []
    for attention in sorted({run.recipe for run in runs}):
        known = [run for run in runs if run.recipe == attention and _perplexity(run) is not None]
        if len(keys := differing(known)) != 1 or keys[0] not in RATES:
            continue
        grid: dict[Any, dict[int, float]] = {}
        for run in known:
            grid.setdefault(value(run, keys[0]), {}).setdefault(run.seed or 0, _perplexity(run) or 0.0)
        seeds = sorted(set.intersection(*(set(of_seed) for of_seed in grid.values())))
        if seeds and all(isinstance(rate, int | float) for rate in grid):
            means = {float(rate): fmean(grid[rate][seed] for seed in seeds) for rate in sorted(grid)}
            found.append(Tuned(attention, tuple(seeds), means))
    return found


def tuned_in_words(found: Sequence[Tuned]) -> str:
    """`learning rate chosen on validation: none 0.004 (perplexity 1.71; 0.002: 1.80, 0.008: 1.75) · …`."""
    parts = []
    for one in found:
        others = ", ".join(f"{rate:g}: {at:.3f}" for rate, at in one.perplexities.items() if rate != one.rate)
        edge = "; the edge of its grid" if one.at_edge else ""
        parts.append(f"{one.attention} {one.rate:g} (perplexity {one.perplexities[one.rate]:.3f}; {others}{edge})")
    return f"learning rate chosen on validation: {' · '.join(parts)}"


def tuned_rows(found: Sequence[Tuned], group: int) -> list[dict[str, object]]:
    """A row an attention and rate, for tuning.csv."""
    return [
        {
            "group": group,
            "attention": one.attention,
            "learning_rate": rate,
            "seeds": len(one.seeds),
            "validation_perplexity": perplexity,
            "chosen": rate == one.rate,
        }
        for one in found
        for rate, perplexity in one.perplexities.items()
    ]


def _perplexity(run: Run) -> float | None:
    convergence = run.results["convergence"] if run.results else None
    return convergence["validation_perplexity"] if convergence else None
