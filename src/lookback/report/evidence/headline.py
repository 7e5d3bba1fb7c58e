"""The answer in words: which attentions, how many BLEU, from which length on, how sure, and at which budgets.

A winner is named only where it differs from the next arm; otherwise those that do not differ are named together. Under
three seeds nothing is said of attentions, only of the models that were trained.
"""

from collections.abc import Sequence, Set
from itertools import combinations, permutations
from statistics import fmean
from typing import NamedTuple, TypeVar

from lookback.evaluation import ENOUGH, FEW, BucketDifference, Difference, PairedDifference, differs, label
from lookback.report.evidence.contrasts import Contrast, Evidence
from lookback.report.evidence.convergence import STILL_RISING, mean_rise
from lookback.runs import Run

UNTRAINED = 1.0
"""BLEU of the whole test set: where every arm is under it, there is nothing to compare yet."""

_T = TypeVar("_T")


class Answer(NamedTuple):
    """The answer in parts, so that a page can set what matters larger than what it rests on."""

    claim: str
    """dot scores 12.3 BLEU more than none"""
    basis: str
    """95 % interval +11.3 to +13.6, p < 0.001; empty where nothing is compared"""
    lengths: str
    """It is significantly better from 11 words on; empty where nothing is compared"""
    tests: str
    """one bucket, Holm-corrected p = 0.020; empty where it is at no length"""
    seeds: str
    budgets: str
    convergence: str
    """At this budget: none was still improving (…). Empty where no arm was, or where it was not logged"""

    def __str__(self) -> str:
        sentences = [
            f"{text} ({about})." if about else f"{text}."
            for text, about in ((self.claim, self.basis), (self.lengths, self.tests))
            if text
        ]
        return " ".join([*sentences, *filter(None, (self.seeds, self.budgets, self.convergence))])


def headline(evidence: Evidence) -> str:
    """The answer that the evidence gives, in a few sentences. Raises `ValueError` where it has no contrast."""
    return str(answer(evidence))


def answer(evidence: Evidence) -> Answer:
    """The answer that the evidence gives, in its parts: of the arms that share the best one's baseline.

    Raises `ValueError` where it has no contrast.
    """
    if not evidence.contrasts:
        raise ValueError("evidence: no contrast, expected at least one")
    best = evidence.contrasts[0]
    compared = [contrast for contrast in evidence.contrasts if contrast.baseline == best.baseline]
    about = "The intervals are over sentences alone.", "", ""
    if any(contrast.is_of_trainings for contrast in compared):
        about = _seeds(compared), _budgets(compared), _convergence(compared)
    if all(max(_known(whole["score"]), _known(whole["other"])) < UNTRAINED for whole in map(_whole, compared)):
        claim = f"Not trained long enough to be compared: every arm scores under {UNTRAINED:.0f} BLEU"
        if not any(contrast.is_of_trainings for contrast in compared):
            claim = (
                f"Every system scores under {UNTRAINED:.0f} BLEU: are these the source, the reference and the outputs"
            )
            claim += ", line by line"
        return Answer(claim, "", "", "", *about)
    found = _Findings(compared, _Rivals(evidence.rivals))
    said = _of_better(found) if found.better else _of_alike(found) if found.alike else _of_worse(found)
    parts = [said.claim, *said.further]
    if untrained := [contrast.arm for contrast in compared if _known(_whole(contrast)["score"]) < UNTRAINED]:
        parts.append(f"{_listed(untrained)} scored under {UNTRAINED:.0f} BLEU: not trained long enough to be compared")
    claim = "; ".join(parts)
    if claim.startswith("on "):
        claim = "O" + claim[1:]
    return Answer(claim, said.basis, *_lengths(said.shown, found.few, said.direction, len(compared) == 1), *about)


class _Findings:
    """The contrasts with one baseline, by what was found: better, worse, or not decided."""

    def __init__(self, compared: Sequence[Contrast], rivals: "_Rivals") -> None:
        decided = [contrast for contrast in compared if differs(contrast.difference.whole)]
        self.compared = compared
        self.rivals = rivals
        self.few = min(contrast.difference.seeds for contrast in compared) < FEW
        self.better = [contrast for contrast in decided if _gain(contrast) > 0]
        self.worse = [contrast for contrast in decided if contrast not in self.better]
        self.alike = [contrast for contrast in compared if contrast not in decided]


class _Said(NamedTuple):
    """A claim, what it rests on, what is said further, and the arms whose lengths are named."""

    claim: str
    basis: str
    further: list[str]
    shown: Sequence[Contrast]
    direction: str
    """`better` or `worse` than the baseline"""


def _of_better(found: _Findings) -> _Said:
    """Some arms are better than the baseline: those that no other of them beats are named first."""
    better, rivals = found.better, found.rivals
    winners = [one for one in better if not any(rivals.beats(other.arm, one.arm) for other in better)] or better
    following = _following(winners, found.compared, rivals)
    claim, basis = _winning(winners, following, rivals, found.few, len(found.compared))
    beaten = [one for one in better if one not in winners and one is not following]
    further = [_gains(beaten, "more")] if beaten else []
    open_ones = [one for one in found.alike if not any(rivals.beats(winner.arm, one.arm) for winner in winners)]
    if open_ones:
        tied = all(rivals.of(one.arm, winner.arm) for one in open_ones for winner in winners)
        nor = f", nor from {_listed([winner.arm for winner in winners])}" if tied else ""
        further.append(_open(open_ones, found.few) + nor)
    # the arm with the largest gain may be the least sure of it, and yet better than one of the winners
    undecided = {contrast.arm for contrast in found.alike}
    beating = rivals.among([*found.alike, *winners])
    further += [f"{one} scores more than {other}" for one, other in beating if one in undecided]
    if found.worse:
        further.append(_gains(found.worse, "less"))
    return _Said(claim, basis, further, winners, "better")


def _of_alike(found: _Findings) -> _Said:
    """No arm is better than the baseline, and of some it is not decided."""
    alike, family = found.alike, len(found.compared)
    claim, basis = _open(alike, found.few, gains=True), _basis(alike, family, "smallest ")
    further = [f"{one} scores more than {other}" for one, other in found.rivals.among(alike)]
    if found.worse:
        further.append(_gains(found.worse, "less"))
        basis += f"; {_basis(found.worse, family)}"
    return _Said(claim, basis, further, alike, "better")


def _of_worse(found: _Findings) -> _Said:
    """All arms are worse than the baseline."""
    claim, basis = _gains(found.worse, "less"), _basis(found.worse, len(found.compared))
    claim += f": {these_differ(found.worse)}" if found.few else ""
    return _Said(claim, basis, [], found.worse, "worse")


def these_differ(contrasts: Sequence[Contrast]) -> str:
    """What is said of fewer than three seeds in place of a significant difference between attentions."""
    trained = any(contrast.is_of_trainings for contrast in contrasts)
    return f"these {'trained models' if trained else 'systems'} differ on this test set"


def p_value(p: float) -> str:
    """`p = 0.012`; what is smaller than three digits show is `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


class _Rivals:
    """What is known of each two arms that share a baseline."""

    def __init__(self, rivals: Sequence[Contrast]) -> None:
        self.family = len(rivals)
        self._of = {(rival.arm, rival.baseline): rival for rival in rivals}

    def of(self, one: str, other: str) -> Contrast | None:
        """The contrast of two arms, whichever comes first in it; None where they share no seed."""
        return self._of.get((one, other)) or self._of.get((other, one))

    def beats(self, one: str, other: str) -> bool:
        """Whether `one` was found to score more than `other`."""
        rival = self.of(one, other)
        if rival is None or not differs(rival.difference.whole):
            return False
        return (_gain(rival) > 0) is (rival.arm == one)

    def among(self, contrasts: Sequence[Contrast]) -> list[tuple[str, str]]:
        """The pairs of these arms of which the first was found to score more."""
        return [(one.arm, other.arm) for one, other in permutations(contrasts, 2) if self.beats(one.arm, other.arm)]


def _following(winners: Sequence[Contrast], compared: Sequence[Contrast], rivals: _Rivals) -> Contrast | None:
    """The arm next to the one winner; None where there are several winners, or one that does not beat all others."""
    others = [contrast for contrast in compared if contrast not in winners]
    if len(winners) > 1 or not all(rivals.beats(winners[0].arm, other.arm) for other in others):
        return None
    following = max(others, key=_gain, default=None)
    return following if following is not None and _gain(following) > 0 else None  # else the baseline itself is the next


def _winning(
    winners: Sequence[Contrast], following: Contrast | None, rivals: _Rivals, few: bool, family: int
) -> tuple[str, str]:
    """Claim and basis of the arms that are better than the baseline, one of `family`, and beaten by none of these."""
    claim, basis = _gains(winners, "more"), _basis(winners, family)
    if following is not None:
        rival = rivals.of(winners[0].arm, following.arm)
        assert rival is not None
        claim += f", and {abs(_gain(rival)):.1f} more than {following.arm}, the next"
        basis += f"; over {following.arm}: {_basis([rival], rivals.family)}"
    claim += f": {these_differ(winners)}" if few else ""
    pairs = [(one.arm, other.arm, rivals.of(one.arm, other.arm)) for one, other in combinations(winners, 2)]
    tested = [rival for _, _, rival in pairs if rival is not None]
    if tested and len(tested) == len(pairs) and not any(differs(rival.difference.whole) for rival in tested):
        if few:
            claim += f"; {_listed([winner.arm for winner in winners])} were not found to differ from each other"
        else:
            claim += ", and do not differ significantly from each other"
    claim += "".join(f"; {one} and {other} share no seed: not compared" for one, other, rival in pairs if rival is None)
    if tested:
        smallest = min(_p_holm(rival) for rival in tested)
        basis += f"; between them: {_p(smallest, rivals.family, 'smallest ' if len(tested) > 1 else '')}"
    return claim, basis


def _open(alike: Sequence[Contrast], few: bool, gains: bool = False) -> str:
    """`dot and general do not differ significantly from none`; of few seeds what was found of these models alone."""
    names, one = _listed([contrast.arm for contrast in alike]), len(alike) == 1
    if few:
        said = f"on this test set {names} {'was' if one else 'were'} not found to differ from {alike[0].baseline}"
    else:
        said = f"{names} {'does' if one else 'do'} not differ significantly from {alike[0].baseline}"
    if gains:
        each = [f"{_gain(contrast):+z.1f}" for contrast in alike]
        said += f": {_listed(each)} BLEU"
    return said


def _gains(contrasts: Sequence[Contrast], direction: str) -> str:
    """`dot scores 12.3 BLEU more than none`; of several arms from the smallest gain to the largest."""
    gains = sorted({f"{abs(_gain(contrast)):.1f}" for contrast in contrasts}, key=float)
    amount = gains[0] if len(gains) == 1 else f"{gains[0]} to {gains[-1]}"
    verb = "scores" if len(contrasts) == 1 else "score"
    names = _listed([contrast.arm for contrast in contrasts])
    return f"{names} {verb} {amount} BLEU {direction} than {contrasts[0].baseline}"


def _basis(contrasts: Sequence[Contrast], family: int, several: str = "largest ") -> str:
    """The interval and p of one contrast; of several the ends of their intervals, and their largest or smallest p."""
    intervals = [_known(_whole(contrast)["ci"]) for contrast in contrasts]
    low, high = min(low for low, _ in intervals), max(high for _, high in intervals)
    p_values = [_p_holm(contrast) for contrast in contrasts]
    # of two seeds the interval is over trainings, too, and p is not
    alone = " over sentences alone" if any(1 < contrast.difference.seeds < FEW for contrast in contrasts) else ""
    if len(contrasts) == 1:
        return f"95 % interval {low:+z.1f} to {high:+z.1f}, {_p(p_values[0], family)}{alone}"
    p = max(p_values) if several == "largest " else min(p_values)
    return f"95 % intervals within {low:+z.1f} and {high:+z.1f}, {_p(p, family, several)}{alone}"


def _p(p: float, family: int, which: str = "") -> str:
    return f"{which}{'Holm-corrected ' if family > 1 else ''}{p_value(p)}"


def _lengths(contrasts: Sequence[Contrast], few: bool, direction: str, alone: bool) -> tuple[str, str]:
    """At which lengths all of the arms are better (or worse) than the baseline, and how sure that is.

    Where one of them is so elsewhere, or is the opposite, that is said too: no verdict of a chart is left out.
    """
    adverb = "" if few else "significantly "
    opposite = {"better": "worse", "worse": "better"}[direction]
    curve = [bucket for bucket in contrasts[0].difference.curve if bucket["n"] >= ENOUGH]
    of_each = [_verdicts(contrast.difference, direction) for contrast in contrasts]
    shared = {lo for lo in of_each[0] if all(lo in verdicts for verdicts in of_each)}
    names = "it" if alone else _listed([contrast.arm for contrast in contrasts])
    verb, baseline = "is" if len(contrasts) == 1 else "are", contrasts[0].baseline
    if shared:
        said = f"{names} {verb} {adverb}{direction} than {baseline} {_where(shared, curve)}"
        said = f"on this test set {said}" if few else said
    elif not curve:
        return f"No bucket of source lengths has {ENOUGH} sentences: none was tested", ""
    else:
        together = "" if len(contrasts) == 1 else "all "
        said = f"at no source length {verb} {names} {together}{adverb}{direction} than {baseline}"
    for contrast, verdicts in zip(contrasts, of_each, strict=True):
        for word, places in (
            (direction, set(verdicts) - shared),
            (opposite, set(_verdicts(contrast.difference, opposite))),
        ):
            if places:
                said += f"; {'it' if alone else contrast.arm} is {adverb}{word} {_where(places, curve)}"
    said = said if names != "it" and shared and not few else said[0].upper() + said[1:]
    if not shared:
        return said, ""
    worst = max(verdicts[lo] for verdicts in of_each for lo in shared)
    number = len(shared) * len(contrasts)
    buckets = "one bucket," if number == 1 else f"each of {number} buckets, largest"
    return said, f"{buckets} Holm-corrected {p_value(worst)}"


def _verdicts(difference: Difference, direction: str) -> dict[int, float]:
    """The shortest source of each bucket that is better (or worse), and its corrected p."""
    buckets = difference.better_at() if direction == "better" else difference.worse_at()
    return {bucket["lo"]: _known(bucket["p_holm"]) for bucket in buckets}


def _where(places: Set[int], curve: Sequence[BucketDifference]) -> str:
    """`from 11 words on` where these are the last buckets of the curve, else `at 1-10 and 31-40 words`.

    `places` are the shortest sources of the buckets.
    """
    buckets = [bucket for bucket in curve if bucket["lo"] in places]
    if buckets == list(curve[-len(buckets) :]):
        start = buckets[0]["lo"]
        return f"from {start} {'word' if start == 1 else 'words'} on"
    return f"at {_listed([label(bucket) for bucket in buckets])} words"


def _seeds(contrasts: Sequence[Contrast]) -> str:
    seeds = sorted({contrast.difference.seeds for contrast in contrasts})
    outputs = {run.arm for contrast in contrasts for pair in contrast.pairs for run in pair if not run.is_training}
    if outputs:
        each = "is one output" if len(outputs) == 1 else "are one output each"
        return f"{_listed(sorted(outputs))} {each}: what other trainings of it would do is not known."
    counted = "One seed" if seeds[-1] == 1 else " to ".join(map(str, dict.fromkeys((seeds[0], seeds[-1])))) + " seeds"
    if seeds[0] >= FEW:
        return f"{counted}."
    if seeds[-1] == 1:
        return f"{counted}: the intervals are over sentences alone, and the spread between trainings is unknown."
    return f"{counted}: too few to know the spread between trainings."


def _budgets(contrasts: Sequence[Contrast]) -> str:
    """Whether the runs of each pair were trained for as many updates on as many target tokens."""
    pairs = [pair for contrast in contrasts for pair in contrast.pairs if all(run.is_training for run in pair)]
    if not pairs:
        return ""
    spent = [[cost for run in pair if (cost := _spent(run))] for pair in pairs]
    if any(len(costs) < 2 for costs in spent):
        return "Budgets: unknown."
    if all(one == other for one, other in spent):
        kinds = sorted({cost for pair in spent for cost in pair})
        each = _budget(*kinds[0]) if len(kinds) == 1 else f"{_budget(*kinds[0])} to {_budget(*kinds[-1])}"
        return f"Equal budgets: {each} each."
    ours, theirs = ([round(fmean(pair[side][unit] for pair in spent)) for unit in (0, 1)] for side in (0, 1))
    mean = " on average" if len(spent) > 1 else ""
    return f"Unequal budgets: {_budget(*ours)} against {_budget(*theirs)}{mean}."


def _spent(run: Run) -> tuple[int, int] | None:
    """Updates and target tokens of a training; None where either is not known."""
    cost = run.results["cost"] if run.results else None
    if cost is None or cost["updates"] is None or cost["target_tokens"] is None:
        return None
    return cost["updates"], cost["target_tokens"]


def _budget(updates: int, target_tokens: int) -> str:
    return f"{updates:,} updates and {target_tokens:,} target tokens"


def _convergence(contrasts: Sequence[Contrast]) -> str:
    """Which arms were stopped while they were improving: what they would score in the end is another question."""
    runs: dict[str, list[Run]] = {contrasts[0].baseline: []}
    for contrast in contrasts:
        for ours, theirs in contrast.pairs:
            runs.setdefault(contrast.arm, []).append(ours)
            if theirs not in runs[contrast.baseline]:
                runs[contrast.baseline].append(theirs)
    known = {name: mean_rise(of) for name, of in runs.items()}
    rising = {name: rise for name, rise in known.items() if rise is not None and rise >= STILL_RISING}
    if not rising:
        return ""
    by = _listed([f"{rise:.1f}" for rise in rising.values()])
    verb = "was" if len(rising) == 1 else "were"
    said = f"{_listed(list(rising))} {verb} still improving (validation BLEU rose by {by} in the last fifth)"
    return f"At this budget: {said}."


def _whole(contrast: Contrast) -> PairedDifference:
    """The difference on the whole test set."""
    return contrast.difference.whole


def _gain(contrast: Contrast) -> float:
    """BLEU that the arm scores more than the baseline."""
    return _known(_whole(contrast)["difference"])


def _p_holm(contrast: Contrast) -> float:
    """p of the gain, corrected."""
    return _known(_whole(contrast)["p_holm"])


def _known(number: _T | None) -> _T:
    """A number that is there: a scored test set has sentences, and BLEU exists for any."""
    assert number is not None
    return number


def _listed(names: Sequence[str]) -> str:
    """`dot`, `dot and general`, `bahdanau, dot and general`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
