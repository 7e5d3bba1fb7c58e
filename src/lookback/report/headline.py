"""The answer in words: which attention, how many BLEU, from which length on, how sure, and at equal budgets or not."""

from statistics import fmean
from typing import NamedTuple

from lookback.report.contrasts import Contrast

FEW = 3
"""Seeds below which nobody knows how much trainings differ by chance."""


class Answer(NamedTuple):
    """The answer in parts, so that a page can set what matters larger than what it rests on."""

    gain: str
    """dot scores 12.3 BLEU more than none"""
    interval: str
    """95 % interval +11.3 to +13.6, p < 0.001"""
    lengths: str
    """is significantly better from 11 words on; empty where it is from no length on"""
    tests: str
    """one bucket, Holm-corrected p = 0.020; empty as `lengths` is"""
    seeds: str
    budgets: str

    def __str__(self) -> str:
        if not self.lengths:
            return f"{self.gain} ({self.interval}); {NOWHERE}. {self.seeds} {self.budgets}"
        return f"{self.gain} ({self.interval}), and {self.lengths} ({self.tests}). {self.seeds} {self.budgets}"


NOWHERE = "from no source length on is it significantly better"


def headline(contrast: Contrast) -> str:
    """The answer that a contrast gives, in three sentences: the gain, the trainings behind it, and their budgets."""
    return str(answer(contrast))


def answer(contrast: Contrast) -> Answer:
    """The answer that a contrast gives, in its parts."""
    whole, better = contrast.difference.whole, contrast.difference.better_from()
    gain, (low, high) = whole["difference"], whole["ci"]
    lengths = tests = ""
    if better:
        worst = p_value(max(bucket["p_holm"] for bucket in better))
        start = better[0]["lo"]
        buckets = "one bucket," if len(better) == 1 else f"each of {len(better)} buckets, largest"
        lengths = f"is significantly better from {start} {'word' if start == 1 else 'words'} on"
        tests = f"{buckets} Holm-corrected {worst}"
    return Answer(
        f"{contrast.arm} scores {abs(gain):.1f} BLEU {'less' if gain < 0 else 'more'} than {contrast.baseline}",
        f"95 % interval {low:+.1f} to {high:+.1f}, {p_value(whole['p'])}",
        lengths,
        tests,
        _seeds(contrast.difference.seeds),
        _budgets(contrast),
    )


def p_value(p: float) -> str:
    """`p = 0.012`; what is smaller than three digits show is `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _seeds(seeds: int) -> str:
    counted = "One seed" if seeds == 1 else f"{seeds} seeds"
    return f"{counted}." if seeds >= FEW else f"{counted}: the spread between trainings is unknown."


def _budgets(contrast: Contrast) -> str:
    """Whether the runs of each pair were trained for as many updates on as many target tokens."""
    spent = [
        [(run.results["cost"]["updates"], run.results["cost"]["target_tokens"]) for run in pair if run.results]
        for pair in contrast.pairs
    ]
    if any(None in cost for pair in spent for cost in pair):
        return "Budgets: unknown."
    if all(one == other for one, other in spent):
        kinds = sorted({cost for pair in spent for cost in pair})
        each = _budget(*kinds[0]) if len(kinds) == 1 else f"{_budget(*kinds[0])} to {_budget(*kinds[-1])}"
        return f"Equal budgets: {each} each."
    ours, theirs = ([round(fmean(pair[side][unit] for pair in spent)) for unit in (0, 1)] for side in (0, 1))
    mean = " on average" if len(spent) > 1 else ""
    return f"Unequal budgets: {_budget(*ours)} against {_budget(*theirs)}{mean}."


def _budget(updates: int, target_tokens: int) -> str:
    return f"{updates:,} updates and {target_tokens:,} target tokens"
