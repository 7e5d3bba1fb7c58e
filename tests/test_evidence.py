"""What the README says of the comparison is what docs/ holds: the files that compare.py wrote from the trainings."""

import csv
import io
import re
from itertools import pairwise

import pytest
from rich.console import Console

from lookback.report.difference_table import arm_table
from lookback.report.table import score_table
from running import PROJECT

DOCS = PROJECT / "docs"
README = (PROJECT / "README.md").read_text(encoding="utf-8")
TEXT = (DOCS / "comparison.txt").read_text(encoding="utf-8")
SECTION = README[README.index("## The comparison") : README.index("## Your own text")]
BLOCKS = re.findall(r"^```text\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)


def words(text: str) -> str:
    return " ".join(text.split())


def number(cell: str) -> float | str | None:
    try:
        return float(cell) if "." in cell or "e" in cell else int(cell)
    except ValueError:
        return cell or None


def rows(name: str) -> list[dict[str, float | str | None]]:
    with (DOCS / name).open(encoding="utf-8", newline="") as file:
        return [{key: number(cell) for key, cell in row.items()} for row in csv.DictReader(file)]


def printed(table: object) -> str:
    console = Console(file=io.StringIO(), width=80)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_readme_quotes_what_was_printed() -> None:
    assert len(BLOCKS) >= 2
    for block in BLOCKS:
        for line in filter(None, map(words, block.splitlines())):
            assert line in words(TEXT), line


def test_what_was_printed_is_of_the_same_runs_as_the_tables() -> None:
    """The texts are made again from the CSV, by the code that prints them."""
    runs, arms = rows("comparison.csv"), rows("attentions.csv")
    score_lines = [words(line) for line in printed(score_table(runs, "")).splitlines() if line.strip()]
    arm_lines = [words(line) for line in printed(arm_table(arms)).splitlines() if line.strip()]
    for line in [*score_lines, *arm_lines]:
        assert line in words(TEXT), line
    for row in (row for row in rows("differences.csv") if row["n"]):
        assert f"{row['difference']:+.1f} ({row['low']:.1f} to {row['high']:.1f})" in words(TEXT)


def test_every_arm_has_the_same_seeds_and_the_same_budget() -> None:
    runs = rows("comparison.csv")
    seeds: dict[object, list[object]] = {}
    for row in runs:
        seeds.setdefault(row["attention"], []).append(row["seed"])
    assert set(seeds) == {"none", "dot", "general", "bahdanau"}
    assert len({tuple(sorted(of)) for of in seeds.values()}) == 1
    assert len({(row["updates"]) for row in runs}) == 1
    assert {row["status"] for row in runs} == {"finished"}


@pytest.mark.parametrize("attention", ["none", "dot", "general", "bahdanau"])
def test_an_attentions_learning_rate_is_the_one_that_validation_chose(attention: str) -> None:
    (config,) = re.findall(
        r"^learning_rate: ([\d.]+)", (PROJECT / "conf" / "attention" / f"{attention}.yaml").read_text(), re.M
    )
    grid = {row["learning_rate"]: row for row in rows("tuning.csv") if row["attention"] == attention}
    best = min(grid, key=lambda rate: grid[rate]["validation_perplexity"])
    assert best == float(config)
    assert len(grid) > 1
    assert [rate for rate, row in grid.items() if row["chosen"] == "True"] == [best]


def test_times_and_scores_in_sentences_are_the_tables() -> None:
    """Sentences that name an arm's minutes, and what the first command of the README comes to."""
    runs = rows("comparison.csv")
    found = re.findall(r"`(\w+)` (\d+) to (\d+) minutes", SECTION)
    assert {name for name, _, _ in found} == {"none", "bahdanau"}
    for name, low, high in found:
        minutes = [row["seconds"] / 60 for row in runs if row["attention"] == name]
        assert int(low) <= min(minutes) < int(low) + 1
        assert int(high) - 1 < max(minutes) <= int(high)
    (run,) = [row for row in runs if row["attention"] == "bahdanau" and row["seed"] == 1]
    ((score, worst),) = re.findall(r"test BLEU ([\d.]+) \(seed 1\), worst length bucket ([\d.]+)", README)
    assert float(score) == round(run["bleu"], 1)
    assert float(worst) == round(min(run[key] for key in run if key.startswith("bleu ")), 1)


def test_when_an_attention_begins_to_look_is_in_its_file() -> None:
    (said,) = re.findall(
        r"under 2 nats after (\d+) updates for `bahdanau` \((\d+) at a rate of 0.002\), "
        r"(\d+) for `dot`\s+and (\d+) for `general`"
        r".*? it was (\d+) for",
        SECTION,
        re.DOTALL,
    )
    curves: dict[tuple[object, ...], list[tuple[float, float]]] = {}
    for row in rows("entropy.csv"):
        key = row["attention"], row["learning_rate"], row["first_values"] == "by width"
        curves.setdefault(key, []).append((row["update"], row["entropy"]))  # type: ignore[arg-type]

    def under(attention: str, rate: float = 0.004, by_width: bool = True) -> int:
        points = curves[attention, rate, by_width]
        (u0, e0), (u1, e1) = next(pair for pair in pairwise(points) if pair[0][1] >= 2 > pair[1][1])
        return round(u0 + (e0 - 2) / (e0 - e1) * (u1 - u0))

    found = (
        under("bahdanau"),
        under("bahdanau", 0.002),
        under("dot"),
        under("general"),
        under("bahdanau", by_width=False),
    )
    assert tuple(map(int, said)) == found


def test_short_trainings_had_twice_the_rate_where_the_readme_says_so() -> None:
    assert "there `dot` and `none` had twice the rate" in words(SECTION)
    chosen = {row["attention"]: row["learning_rate"] for row in rows("tuning.csv") if row["chosen"] == "True"}
    short = rows("tuning_500.csv")
    for attention in ("dot", "none"):
        best = min(
            (row for row in short if row["attention"] == attention), key=lambda row: row["validation_perplexity"]
        )
        assert best["learning_rate"] == 2 * chosen[attention]
