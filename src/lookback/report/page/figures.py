"""The charts of a group: every variant that a reader can choose, with its numbers as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from lookback.evaluation import FIFTH_NAMES, MEASURES, Buckets, label
from lookback.report.charts.budget_chart import budget_charts
from lookback.report.charts.capacity_chart import capacity_chart
from lookback.report.charts.charts import Arms
from lookback.report.charts.diagnostics_chart import DIAGNOSTICS, diagnostics_chart
from lookback.report.charts.difference_chart import difference_chart
from lookback.report.charts.learning_chart import learning_chart
from lookback.report.charts.length_chart import length_chart
from lookback.report.charts.recall_chart import bucket_key, bucket_name, has_enough, recall_chart
from lookback.report.evidence.budgets import scored_at_budgets
from lookback.report.evidence.contrasts import ArmRecall, Evidence
from lookback.report.evidence.differences import arms
from lookback.report.evidence.group import Group
from lookback.report.evidence.learning import AXES, learning_curve
from lookback.report.evidence.learning import MEASURES as LOGGED

Table = tuple[list[str], list[list[str]]]
"""Names of columns, and rows"""

Variant = dict[str, Any]
"""`spec`: Vega-Lite; `title`, `caption`: its title and the lines below it; `description`: for readers who cannot see
it; `head`: names of columns; `rows`: cells as texts, the first one of a row is its heading"""

_BUCKETS: dict[Buckets, str] = {"width": "equal width", "count": "equal count"}
_AXES = {"updates": "updates", "target_tokens": "tokens", "seconds": "seconds"}


@dataclass(frozen=True)
class Choice:
    """One thing that a reader chooses about a chart."""

    key: str
    title: str
    options: Mapping[str, str]
    """The names that are shown, by the options' keys"""
    many: bool = False
    """Whether there are too many options to show all of them at once"""
    slider: bool = False
    """Whether the options are steps, such as moments of time"""

    @property
    def start(self) -> str:
        """The key of the option that is chosen at the start: the first one, or the last one of a slider."""
        return list(self.options)[-1 if self.slider else 0]

    @property
    def has_alternatives(self) -> bool:
        """Whether there is anything to choose."""
        return len(self.options) > 1


@dataclass(frozen=True)
class Figure:
    """A chart in the variants that `choices` lead to."""

    key: str
    choices: Sequence[Choice]
    variants: Mapping[str, Variant] = field(repr=False)
    """By the keys of the chosen options in the order of the choices, with a slash between them"""

    @property
    def first(self) -> Variant:
        """The variant that is shown at the start."""
        return self.variants["/".join(choice.start for choice in self.choices)]


def figures(group: Group) -> dict[str, Figure | None]:
    """The charts of the group, by their keys; None where its runs have no numbers for one."""
    with debug_mode(False):  # altair would check each part against the schema, which the tests do
        return {
            "length": _length(group),
            "difference": _difference(group),
            "recall": _recall(group),
            "capacity": _capacity(group),
            "learning": _learning(group),
            "budgets": _budgets(group),
            "diagnostics": _diagnostics(group),
        }


def _length(group: Group) -> Figure | None:
    if not group.counted.arms:
        return None
    variants, measures = {}, {}
    cuts: dict[str, str] = {}
    for key, measure in MEASURES.items():
        for buckets, name in _BUCKETS.items():
            about = group.counted.evidence(group.evidence.baseline, key, buckets)
            try:
                chart = length_chart(group.counted.arms, about, key, buckets)
            except ValueError:  # runs of an earlier version, without their counts
                continue
            measures[key], cuts[buckets] = measure.name, name
            variants[f"{key}/{buckets}"] = _variant(chart, *_curve_table(about))
    choices = [Choice("measure", "Measure", measures), Choice("buckets", "Buckets", cuts)]
    return Figure("length", choices, variants)


def _difference(group: Group) -> Figure | None:
    variants = {}
    for baseline in dict.fromkeys(run.recipe for run in group.scored):
        about = group.counted.evidence(baseline)
        if about.contrasts:
            chart = difference_chart(about.contrasts, group.counted.arms)
            variants[baseline] = _variant(chart, *_difference_table(about))
    first = group.evidence.baseline
    if first not in variants:
        return None
    options = {name: name for name in sorted(variants, key=lambda name: (name != first, name))}
    return Figure("difference", [Choice("baseline", "Compared with", options, many=True)], variants)


def _recall(group: Group) -> Figure | None:
    found = group.counted.recall
    if not found:
        return None
    parts = next(iter(found.values())).mean
    shown = [part for part in reversed(parts[1:]) if has_enough(part)] + [parts[0]]  # the longest sentences first
    options = {bucket_key(part): bucket_name(part) for part in shown}
    variants = {
        key: _variant(recall_chart(group.counted.arms, found, key), *_recall_table(found, key)) for key in options
    }
    return Figure("recall", [Choice("words", "Source words", options)], variants)


def _capacity(group: Group) -> Figure | None:
    if group.capacity is None:
        return None
    variant = _variant(capacity_chart(group.capacity), *group.capacity.table())
    return Figure("capacity", [], {"": variant})


def _learning(group: Group) -> Figure | None:
    variants, measures = {}, {}
    listed = arms(group.runs)  # with the runs that are not scored
    drawn = group.counted.arms or listed
    for measure in sorted(LOGGED, key=lambda measure: measure != "bleu"):  # BLEU first
        about = LOGGED[measure]
        for x in AXES:
            if (chart := learning_chart(drawn, measure, x)) is not None:
                measures[measure] = about.title
                variants[f"{measure}/{x}"] = _variant(chart, *_learning_table(listed, measure, x))
    # an axis whose cost was not logged is not offered
    axes = {x: name for x, name in _AXES.items() if any(f"{measure}/{x}" in variants for measure in measures)}
    if not variants:
        return None
    choices = [Choice("measure", "Measure", measures, many=True), Choice("x", "Against", axes)]
    return Figure("learning", choices, variants)


def _budgets(group: Group) -> Figure | None:
    if (scored := scored_at_budgets(group.runs)) is None:
        return None
    keys = [f"{share:g}" for share in scored.shares]
    charts = zip(keys, budget_charts(scored), scored.moments, strict=True)
    variants = {key: _variant(chart, *_curve_table(about)) for key, chart, about in charts}
    named = {key: scored.said(moment) for moment, key in enumerate(keys)}
    return Figure("budgets", [Choice("budget", "Training", named, slider=True)], variants)


def _diagnostics(group: Group) -> Figure | None:
    variants, measures = {}, {}
    for measure in DIAGNOSTICS:
        if (chart := diagnostics_chart(group.counted.arms, measure)) is not None:
            measures[measure] = measure
            variants[measure] = _variant(chart, *_diagnostics_table(group.counted.arms, measure))
    return Figure("diagnostics", [Choice("measure", "Measure", measures)], variants) if variants else None


def _variant(chart: alt.LayerChart, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Variant:
    """The chart as the page needs it. Its title stays in the specification too, for the files that a reader saves."""
    specification = chart.to_dict(validate=False)
    title = specification["title"]
    caption = title["subtitle"]
    return {
        "spec": specification,
        "title": title["text"],
        "caption": caption,
        "description": specification.get("description", f"{title['text']}. {caption[0]}"),
        "head": list(head),
        "rows": [list(row) for row in rows],
    }


def _curve_table(about: Evidence) -> Table:
    """A row for each bucket, a column for each arm: the mean of its runs and its interval."""
    form = MEASURES[about.measure].number
    known = list(about.arms.values())
    if not known:
        return [], []
    buckets = zip(*(arm["by_length"] for arm in known), strict=True)
    rows = [_bucket_row(of[0], [_score_cell(bucket, form) for bucket in of]) for of in buckets if of[0]["n"]]
    whole = ["all", f"{known[0]['n']:,}", *(_score_cell(arm, form) for arm in known)]
    return ["source words", "n", *about.arms], [whole, *rows]


def _difference_table(about: Evidence) -> Table:
    """A row for the whole test set and each bucket, a column for each contrast: difference, interval, corrected p."""
    form = MEASURES[about.measure].number
    of = [contrast.difference for contrast in about.contrasts]
    buckets = zip(*((one.whole, *one.curve) for one in of), strict=True)
    rows = [
        _bucket_row(each[0], [_difference_cell(bucket, form) for bucket in each]) for each in buckets if each[0]["n"]
    ]
    return ["source words", "n", *(contrast.arm for contrast in about.contrasts)], rows


def _recall_table(found: Mapping[str, ArmRecall], key: str) -> Table:
    """A row for each fifth of the source, a column for each arm: recall, its interval, and recall by chance."""
    parts = [next(part for part in of.mean if bucket_key(part) == key) for of in found.values()]
    rows = [[name, *(_recall_cell(part, place) for part in parts)] for place, name in enumerate(FIFTH_NAMES)]
    return ["part of the source", *found], rows


def _recall_cell(part: Mapping[str, Any], place: int) -> str:
    recall, interval, chance = (part[key][place] for key in ("recall", "ci", "chance"))
    return "–" if recall is None else f"{recall:.2f} ({interval[0]:.2f} to {interval[1]:.2f}; chance {chance:.2f})"


def _learning_table(listed: Arms, measure: str, x: str) -> Table:
    """A row for each run: where its curve begins and ends, and its extremes."""
    form = LOGGED[measure].form
    rows = []
    for name, members in listed.items():
        for run in members:
            if (curve := learning_curve(run, measure, x)) is not None:
                values = curve[:, 1]
                numbers = [f"{value:{form}}" for value in (values[0], values.min(), values.max(), values[-1])]
                seed = "–" if run.seed is None else str(run.seed)
                rows.append([name, seed, f"{len(curve):,}", *numbers, f"{curve[-1, 0]:,.0f}"])
    return ["arm", "seed", "points", "first", "lowest", "highest", "last", f"last at, {_AXES[x]}"], rows


def _diagnostics_table(compared: Arms, measure: str) -> Table:
    """A row for each bucket, a column for each arm: the mean of its runs."""
    found: dict[str, list[Sequence[Mapping[str, Any]]]] = {}
    for name, members in compared.items():
        if curves := [run.results["attention_by_length"] for run in members if run.results]:
            found[name] = [curve for curve in curves if curve]
    found = {name: curves for name, curves in found.items() if curves}
    rows = []
    for place, bucket in enumerate(next(iter(found.values()))[0]):
        if bucket["n"]:
            means = [[curve[place][measure] for curve in curves] for curves in found.values()]
            cells = ["–" if None in values else f"{fmean(values):.3f}" for values in means]
            rows.append(_bucket_row(bucket, cells))
    return ["source words", "n", *found], rows


def _bucket_row(bucket: Mapping[str, Any], cells: Sequence[str]) -> list[str]:
    return [label(dict(bucket)) if "lo" in bucket else "all", f"{bucket['n']:,}", *cells]


def _score_cell(bucket: Mapping[str, Any], form: str) -> str:
    if bucket["score"] is None:
        return "–"
    low, high = bucket["ci"]
    return f"{bucket['score']:{form}} ({low:{form}} to {high:{form}})"


def _difference_cell(bucket: Mapping[str, Any], form: str) -> str:
    if bucket["difference"] is None:
        return "–"
    low, high = bucket["ci"]
    p = "" if bucket["p_holm"] is None else f", p = {bucket['p_holm']:.3f}"
    mark = " *" if bucket["significant"] else " †" if bucket["models_differ"] else ""
    return f"{bucket['difference']:+z{form}} ({low:+z{form}} to {high:+z{form}}{p}){mark}"
