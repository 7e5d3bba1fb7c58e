"""Where in the source words are lost: the share that the translations have, from the first fifth to the last."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from lookback.evaluation import ENOUGH, label
from lookback.report.charts.chart_words import span
from lookback.report.charts.charts import drawn_from, layered, told_apart
from lookback.report.evidence.contrasts import ArmRecall
from lookback.report.evidence.differences import arms
from lookback.runs import Run

FIFTHS = ("first fifth", "second fifth", "third fifth", "fourth fifth", "last fifth")
"""Of the source"""

Part = Mapping[str, Any]
"""The whole test set or a bucket of it, as `lookback.evaluation.recall_curve` has it"""


def recall_chart(runs: Sequence[Run], found: Mapping[str, ArmRecall], bucket: str = "all") -> alt.LayerChart:
    """Draw what `CountedRuns.recall` found of scored `runs`, for the bucket of source lengths with this `bucket_key`.

    An arm's thick line is the mean of its runs, with the band of its interval over trainings and sentences; thin lines
    are the runs; the dotted line is what is there by chance. Colours and marks are those of the length chart. With
    fewer than 50 sentences points are hollow and joined to no other. Raises `ValueError` where nothing was found, and
    for a bucket that is not there.
    """
    parts = {name: _part(of.mean, bucket) for name, of in found.items()}
    if not parts:
        raise ValueError("found: no arm, expected at least one with gold links")
    about = next(iter(parts.values()))
    means = [point for name, part in parts.items() for point in _points(name, part)]
    singles = [
        {**point, "run": index}
        for name, of in found.items()
        if len(of.runs) > 1
        for index, curve in enumerate(of.runs)
        for point in _points(name, _part(curve, bucket))
    ]

    color, shape = told_apart(list(arms([run for run in runs if run.bleu is not None])), {name: name for name in found})
    scale = alt.Scale(domain=[0.75, len(FIFTHS) + 0.25], nice=False)
    texts = str([name.split() for name in FIFTHS])
    ticks = list(range(1, len(FIFTHS) + 1))
    axis = alt.Axis(
        values=ticks, labelExpr=f"({texts})[datum.value - 1]", grid=False, labelLineHeight=15, labelFlush=False
    )
    x = alt.X("x:Q", title="Part of the source, in words", axis=axis, scale=scale)
    shares = alt.Scale(domain=[0, 1])
    title = "Recall: share of its words in the translation"
    y = alt.Y("y:Q", title=title, axis=alt.Axis(tickCount=6), scale=shares)
    between = (alt.Y("low:Q", title=title, scale=shares), alt.Y2("high:Q"))
    chance = alt.Y("chance:Q", title=title, scale=shares)
    hover = [alt.Tooltip("arm:N"), alt.Tooltip("part:N")]
    hover += [
        alt.Tooltip(f"{key}:Q", title=name, format=".2f") for key, name in (("y", "recall"), ("chance", "chance"))
    ]
    piece = alt.Detail("piece:N")

    def having(points: Sequence[dict[str, Any]], joined: bool) -> alt.Chart:
        return drawn_from([point for point in points if (point["piece"] is not None) is joined])

    joined, alone = having(means, True), having(means, False)
    layers: list[alt.Chart] = [
        joined.mark_area(opacity=0.14).encode(x, *between, color, piece),
        having(singles, True)
        .mark_line(strokeWidth=1, opacity=0.4)
        .encode(x, y, color, detail=[alt.Detail("run:N"), piece]),
        joined.mark_line(strokeWidth=1.6, strokeDash=[2, 4], opacity=0.8).encode(x, chance, color, piece),
        joined.mark_line(strokeWidth=2.6).encode(x, y, color, piece),
        joined.mark_point(size=62, filled=True, opacity=1).encode(x, y, color, shape, tooltip=hover),
        alone.mark_rule(strokeWidth=1.4, opacity=0.7).encode(x, *between, color),
        alone.mark_point(size=62, fill="white", strokeWidth=2, opacity=1).encode(x, y, color, shape, tooltip=hover),
    ]
    return layered(layers, _title(runs, found, about), _description(about, parts))


def enough(part: Part) -> bool:
    """Whether it has enough sentences with links to be drawn as a line."""
    return bool(part["n"] >= ENOUGH)


def bucket_key(part: Part) -> str:
    """What chooses it: `all`, `51-60`, or `61-more`."""
    return "all" if "lo" not in part else f"{part['lo']}-{part['hi'] or 'more'}"


def bucket_name(part: Part) -> str:
    """What a reader calls it."""
    return "all" if "lo" not in part else label(dict(part)).replace("-", "–")


def _part(curve: Sequence[Part], bucket: str) -> Part:
    for part in curve:
        if bucket_key(part) == bucket:
            return part
    raise ValueError(f"bucket={bucket!r}: expected one of {', '.join(map(bucket_key, curve))}")


def _points(name: str, part: Part) -> list[dict[str, Any]]:
    """A point a fifth that has linked words. Points of one `piece` are joined; `piece` is None under 50 sentences."""
    points: list[dict[str, Any]] = []
    piece = 0
    for place, (recall, interval, chance) in enumerate(zip(part["recall"], part["ci"], part["chance"], strict=True)):
        if recall is None:
            piece += 1  # whatever follows a gap is a new piece
            continue
        low, high = interval
        point = {"arm": name, "piece": piece if enough(part) else None, "part": FIFTHS[place], "x": place + 1}
        points.append(point | {"y": recall, "low": low, "high": high, "chance": chance})
    return points


def _title(runs: Sequence[Run], found: Mapping[str, ArmRecall], about: Part) -> alt.TitleParams:
    results = next(run.results for run in runs if run.results)
    seeds = sorted({len(of.runs) for of in found.values()})
    lines = "one seed" if seeds[-1] == 1 else f"{span(seeds)} seeds: thin lines, their mean thick"
    over = "sentences" if seeds[-1] == 1 else "trainings and sentences"
    hollow = "" if enough(about) else f" · hollow: n < {ENOUGH}"
    length = "all lengths" if "lo" not in about else f"{bucket_name(about)} source words"
    subtitle = [
        f"data {results['data']}, {length}: {about['n']:,} test sentences with gold links",
        f"{lines} · band: 95 % interval over {over}{hollow}",
        "dotted: share that is there by chance, from the translation of another sentence as long",
    ]
    return alt.TitleParams(text=f"Where words are lost: {length}", subtitle=subtitle)


def _description(about: Part, parts: Mapping[str, Part]) -> str:
    """The chart for those who do not see it."""
    said = (
        f"{name} {', '.join('none linked' if recall is None else f'{recall:.2f}' for recall in part['recall'])}"
        for name, part in parts.items()
    )
    length = "of all lengths" if "lo" not in about else f"of {bucket_name(about)} words"
    return (
        f"Line chart. Share of the words in the translation, from the first to the last fifth of sources {length}: "
        f"{'; '.join(said)}."
    )
