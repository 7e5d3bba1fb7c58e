"""What the README says of its experiments is what docs/ holds: the files that compare.py wrote from the trainings."""

import csv
import io
import math
import re
from collections.abc import Iterable
from itertools import pairwise
from statistics import fmean

import pytest
from rich.console import Console

from lookback.report.difference_table import arm_table
from lookback.report.table import score_table
from running import PROJECT

ARMS = ("none", "dot", "general", "bahdanau")
DOCS = PROJECT / "docs"
README = (PROJECT / "README.md").read_text(encoding="utf-8")
TEXT = (DOCS / "comparison.txt").read_text(encoding="utf-8")
START = README[README.index("## Start") : README.index("## The comparison")]
SECTION = README[README.index("## The comparison") : README.index("## Your own text")]
BLOCK = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)

Row = dict[str, float | str | None]


def words(text: str) -> str:
    return " ".join(text.split())


def lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def number(cell: str) -> float | str | None:
    try:
        return float(cell) if "." in cell or "e" in cell else int(cell)
    except ValueError:
        return cell or None


def rows(name: str, **having: object) -> list[Row]:
    """Of a CSV in docs/ those that have these values."""
    with (DOCS / name).open(encoding="utf-8", newline="") as file:
        found = [{key: number(cell) for key, cell in row.items()} for row in csv.DictReader(file)]
    return [row for row in found if all(row[key] == value for key, value in having.items())]


def printed(table: object) -> str:
    console = Console(file=io.StringIO(), width=80)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_readme_quotes_what_was_printed() -> None:
    """Each part of each block as a whole, in its order."""
    blocks = BLOCK.findall(SECTION)
    assert len(blocks) >= 2
    places = []
    for part in (part for block in blocks for part in lines(block).strip("\n").split("\n\n")):
        assert part in lines(TEXT), part
        places.append(lines(TEXT).index(part))
    assert places == sorted(places)


def test_what_was_printed_is_of_the_same_runs_as_the_tables() -> None:
    """The texts are made again from the CSV, by the code that prints them."""
    runs, arms = rows("comparison.csv"), rows("attentions.csv")
    score_lines = [words(line) for line in printed(score_table(runs, "")).splitlines() if line.strip()]
    arm_lines = [words(line) for line in printed(arm_table(arms)).splitlines() if line.strip()]
    for line in [*score_lines, *arm_lines]:
        assert line in words(TEXT), line
    for row in (row for row in rows("differences.csv") if row["n"]):
        assert f"{row['difference']:+.1f} ({row['low']:.1f} to {row['high']:.1f})" in words(TEXT)


def test_every_arm_has_three_seeds_and_the_same_budget() -> None:
    runs = rows("comparison.csv")
    for name in ARMS:
        assert sorted(row["seed"] for row in runs if row["attention"] == name) == [1, 2, 3]  # type: ignore[type-var]
    assert len(runs) == 3 * len(ARMS)
    assert len({row["updates"] for row in runs}) == len({row["target_tokens"] for row in runs}) == 1
    assert {row["status"] for row in runs} == {"finished"}


@pytest.mark.parametrize("attention", ARMS)
def test_an_attentions_learning_rate_is_the_one_that_validation_chose_and_no_edge(attention: str) -> None:
    config = (PROJECT / "conf" / "attention" / f"{attention}.yaml").read_text()
    (rate,) = re.findall(r"^learning_rate: ([\d.]+)", config, re.M)
    grid = {row["learning_rate"]: row for row in rows("tuning_cosine.csv", attention=attention)}
    best = min(grid, key=lambda rate: grid[rate]["validation_perplexity"])  # type: ignore[arg-type, return-value]
    assert best == float(rate)
    assert [rate for rate, row in grid.items() if row["chosen"] == "True"] == [best]
    assert min(grid) < best < max(grid)  # type: ignore[type-var, operator]
    (quoted,) = re.findall(rf"^  \| `{attention}` \| (.*) \|$", SECTION, re.M)
    each = {rate: f"{rate:g}: {row['validation_perplexity']:.3f}" for rate, row in sorted(grid.items())}  # type: ignore[type-var]
    assert quoted == " · ".join(f"**{text}**" if rate == best else text for rate, text in each.items())


def test_times_and_scores_in_sentences_are_the_tables() -> None:
    """Sentences that name an arm's minutes, and what the first command of the README comes to."""
    runs = rows("comparison.csv")
    found = re.findall(r"`(\w+)` (\d+) to (\d+) minutes", SECTION)
    assert {name for name, _, _ in found} == {"none", "bahdanau"}
    for name, low, high in found:
        minutes = [row["seconds"] / 60 for row in runs if row["attention"] == name]  # type: ignore[operator]
        assert int(low) == math.floor(min(minutes))
        assert int(high) == math.ceil(max(minutes))


def test_the_first_commands_output_is_its_run() -> None:
    (run,) = rows("comparison.csv", attention="bahdanau", seed=1)
    ((score, worst),) = re.findall(r"test BLEU ([\d.]+) \(seed 1\), worst length bucket ([\d.]+)", START)
    buckets = {key.removeprefix("bleu "): value for key, value in run.items() if key.startswith("bleu ") and value}
    assert (score, worst) == (f"{run['bleu']:.1f}", f"{min(buckets.values()):.1f}")  # type: ignore[type-var]
    assert run["bleu"] >= 98  # type: ignore[operator]
    (block,) = BLOCK.findall(START)
    quoted = {line.split()[0]: line.split() for line in block.splitlines()}
    for bucket, value in buckets.items():
        assert quoted[bucket][1:3] == [str(run[f"n {bucket}"]), f"{value:.1f}"]
    assert f"BLEU {run['bleu']:.2f}  chrF {run['chrf']:.2f}  TER {run['ter']:.2f}" in block
    assert f"perplexity {run['perplexity']:.3f}" in block
    assert f"alignment error rate {run['aer_shift_0']:.3f}" in block
    assert f"{abs(run['rise']):.1f} in the last fifth" in block  # type: ignore[arg-type]


def test_what_the_other_schedule_gives_is_in_its_file() -> None:
    said = re.findall(r"`(\w+)` ([\d.]+) \(here ([\d.]+)\)", SECTION)
    assert {name for name, _, _ in said} == set(ARMS)

    def lowest(file: str, name: str) -> str:
        return f"{min(row['validation_perplexity'] for row in rows(file, attention=name)):.3f}"  # type: ignore[type-var]

    for name, luong, here in said:
        assert (luong, here) == (lowest("tuning_luong.csv", name), lowest("tuning_cosine.csv", name))


def test_where_words_are_lost_is_in_its_file() -> None:
    said = re.findall(r"`(\w+)` has ([\d, ]+ and \d+) % of the words of the five fifths", SECTION)
    assert {name for name, _ in said} == {"none", "bahdanau"}
    for name, shares in said:
        found = [f"{100 * row['recall']:.0f}" for row in rows("recall.csv", attention=name, lo=51)]  # type: ignore[operator]
        assert re.findall(r"\d+", shares) == found


def under_two_nats(points: Iterable[Row]) -> int:
    """The update at which the entropy of the look falls under 2 nats, interpolated."""
    curve: list[tuple[float, float]] = [(row["update"], row["entropy"]) for row in points]  # type: ignore[misc]
    (u0, e0), (u1, e1) = next(pair for pair in pairwise(curve) if pair[0][1] >= 2 > pair[1][1])
    return round(u0 + (e0 - 2) / (e0 - e1) * (u1 - u0))


def test_when_an_attention_begins_to_look_is_in_its_file() -> None:
    (said,) = re.findall(
        r"under 2 nats after (\d+) updates for `bahdanau` \((\d+) at a\s+rate of 0.002\), (\d+) for `dot` and "
        r"(\d+) for `general`",
        SECTION,
    )
    arms = (("bahdanau", 0.004), ("bahdanau", 0.002), ("dot", 0.004), ("general", 0.004))
    curves = [rows("entropy.csv", attention=name, learning_rate=rate, first_values="by width") for name, rate in arms]
    assert tuple(map(int, said)) == tuple(map(under_two_nats, curves))


def test_the_finding_is_the_tables() -> None:
    """What the README opens with."""
    opening = words(README[: README.index("## Start")])
    ((short, long, least),) = re.findall(
        r"falls from (\d+) at 1 to 10 words to (\d+) at 51 to 60; with any of three attentions it is (\d+) or more",
        opening,
    )

    def mean(name: str, key: str) -> float:
        return fmean(row[key] for row in rows("comparison.csv", attention=name))  # type: ignore[misc]

    assert (short, long) == (f"{mean('none', 'bleu 1-10'):.0f}", f"{mean('none', 'bleu 51-60'):.0f}")
    assert int(least) == math.floor(min(mean(name, "bleu 51-60") for name in ARMS if name != "none"))
    assert "At this budget `none` still improves" in opening
    assert "none" in TEXT[TEXT.index("At this budget:") :].split(" still improving")[0]
