"""Where in the source words are lost: the share that the translations have, from the first fifth to the last."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from lookback.evaluation import ENOUGH, FIFTH_NAMES, label
from lookback.report.charts.chart_words import band_words, hollow_note, seeds_and_lines
from lookback.report.charts.charts import (
    Point,
    Runs,
    color_and_shape,
    dash,
    data_chart,
    layer_chart,
    lookup,
    runs_of,
    scored_arms,
)
from lookback.report.charts.marks import ArmMarks, in_lines, labelled_height
from lookback.report.charts.points import pieces
from lookback.report.evidence.contrasts import ArmRecall
from lookback.runs import Run

RECALL_TITLE = "Recall: share of its words in the translation"

Part = Mapping[str, Any]
"""The whole test set or a bucket of it, as `lookback.evaluation.recall_curve` has it"""


def recall_chart(runs: Runs, found: Mapping[str, ArmRecall], bucket: str = "all") -> alt.LayerChart:
    """Draw the recall that `CountedRuns.recall` found, for one bucket of source lengths.

    An arm's thick line is the mean of its runs, with the band of its interval over trainings and sentences. Thin lines
    are the runs; the dotted line is the recall by chance. Colours and marks are those of the length chart. With fewer
    than 50 sentences points are hollow and joined with no other.

    Args:
        runs: scored runs, or their arms where these are known.
        found: the recall of some of these arms.
        bucket: the `bucket_key` of the bucket.

    Raises:
        ValueError: where nothing was found, and for a bucket that does not exist.
    """
    parts = {name: _part(arm.mean, bucket) for name, arm in found.items()}
    if not parts:
        raise ValueError("found: no arm, expected at least one with gold links")
    compared = scored_arms(runs)
    about = next(iter(parts.values()))
    lines = {name: _points(name, part) for name, part in parts.items()}
    means = [point for line in lines.values() for point in line]
    legend = {name: name for name in found}
    marks = _marks(*color_and_shape(compared, legend), dash(compared, legend))
    height = labelled_height(320, len(lines))
    layers = marks.layers(means, _run_points(found, bucket))
    layers.insert(2, _chance(marks, means))
    layers += marks.end_labels({name: line for name, line in lines.items() if line}, "y", [0, 1], height)
    title = _title(runs_of(compared), found, about, marks.crowded)
    return layer_chart(layers, title, _description(about, parts), height, labelled=True)


def has_enough(part: Part) -> bool:
    """Whether it has enough sentences with links to be drawn as a line."""
    return bool(part["n"] >= ENOUGH)


def bucket_key(part: Part) -> str:
    """The key that chooses it: `all`, `51-60`, or `61-more`."""
    return "all" if "lo" not in part else f"{part['lo']}-{part['hi'] or 'more'}"


def bucket_name(part: Part) -> str:
    """Its name for readers."""
    return "all" if "lo" not in part else label(dict(part)).replace("-", "–")


def _part(curve: Sequence[Part], bucket: str) -> Part:
    for part in curve:
        if bucket_key(part) == bucket:
            return part
    raise ValueError(f"bucket={bucket!r}: expected one of {', '.join(map(bucket_key, curve))}")


def _points(name: str, part: Part) -> list[Point]:
    """A point for each fifth that has linked words. Points of one `piece` are joined (`pieces`)."""
    joined = [recall is not None and has_enough(part) for recall in part["recall"]]
    fifths = zip(FIFTH_NAMES, pieces(joined), part["recall"], part["ci"], part["chance"], strict=True)
    return [
        {"arm": name, "piece": piece, "part": fifth, "x": x, "y": recall, "low": ci[0], "high": ci[1], "chance": chance}
        for x, (fifth, piece, recall, ci, chance) in enumerate(fifths, 1)
        if recall is not None
    ]


def _run_points(found: Mapping[str, ArmRecall], bucket: str) -> list[Point]:
    """The points of each run, of arms that have several."""
    return [
        {**point, "run": index}
        for name, arm in found.items()
        if len(arm.runs) > 1
        for index, curve in enumerate(arm.runs)
        for point in _points(name, _part(curve, bucket))
    ]


def _marks(color: alt.Color, shape: alt.Shape, dashed: alt.StrokeDash | None) -> ArmMarks:
    """Recall from 0 to 1 over the five parts of the source."""
    ends, shares = alt.Scale(domain=[0.75, len(FIFTH_NAMES) + 0.25], nice=False), alt.Scale(domain=[0, 1])
    axis = alt.Axis(
        values=list(range(1, len(FIFTH_NAMES) + 1)),
        labelExpr=lookup([name.split() for name in FIFTH_NAMES], "datum.value - 1"),
        grid=False,
        labelLineHeight=15,
        labelFlush=False,
    )
    return ArmMarks(
        x=alt.X("x:Q", title="Part of the source, in words", axis=axis, scale=ends),
        y=alt.Y("y:Q", title=RECALL_TITLE, axis=alt.Axis(tickCount=6), scale=shares),
        color=color,
        shape=shape,
        dash=dashed,
        tooltip=[
            alt.Tooltip("arm:N"),
            alt.Tooltip("part:N"),
            alt.Tooltip("y:Q", title="recall", format=".2f"),
            alt.Tooltip("chance:Q", title="chance", format=".2f"),
        ],
        bounds=(alt.Y("low:Q", title=RECALL_TITLE, scale=shares), alt.Y2("high:Q")),
    )


def _chance(marks: ArmMarks, means: Sequence[Point]) -> alt.Chart:
    """The dotted lines of the recall by chance."""
    chance = alt.Y("chance:Q", title=RECALL_TITLE, scale=alt.Scale(domain=[0, 1]))
    dotted = data_chart(in_lines(means)).mark_line(strokeWidth=1.6, strokeDash=[2, 4])
    return dotted.encode(marks.x, chance, marks.color, marks.piece, *marks.opacity(0.4 if marks.crowded else 0.8))


def _title(runs: Sequence[Run], found: Mapping[str, ArmRecall], about: Part, crowded: bool) -> alt.TitleParams:
    results = next(run.results for run in runs if run.results)
    seeds = {len(arm.runs) for arm in found.values()}
    over = "sentences" if seeds == {1} else "trainings and sentences"
    length = "all lengths" if "lo" not in about else f"{bucket_name(about)} source words"
    band = band_words(f"95 % interval over {over}", crowded)
    subtitle = [
        f"data {results['data']}, {length}: {about['n']:,} test sentences with gold links",
        f"{seeds_and_lines(seeds, crowded)} · {band}{hollow_note(not has_enough(about))}",
        "dotted: share that is there by chance, from the translation of another sentence as long",
    ]
    return alt.TitleParams(text=f"Where words are lost: {length}", subtitle=subtitle)


def _description(about: Part, parts: Mapping[str, Part]) -> str:
    """The chart for a reader who cannot see it."""
    recalls = (
        f"{name} {', '.join('none linked' if recall is None else f'{recall:.2f}' for recall in part['recall'])}"
        for name, part in parts.items()
    )
    length = "of all lengths" if "lo" not in about else f"of {bucket_name(about)} words"
    return (
        f"Line chart. Share of the words in the translation, from the first to the last fifth of sources {length}: "
        f"{'; '.join(recalls)}."
    )
