"""The rows of the table, their order, and what a terminal shows of them."""

import io

import pytest
from rich.console import Console

from lookback.report.evidence.rows import rows
from lookback.report.tables.arm_name import ArmName
from lookback.report.tables.table import cost_table, distinguishing, score_table
from lookback.runs import read_run


@pytest.fixture
def table(make_run, tmp_path):
    runs = [
        make_run("0", "none", 1, slope=0.015),
        make_run("1", "none", 2, slope=0.012),
        make_run("2", "bahdanau", 2, slope=0.004),
        make_run("3", "bahdanau", 1, slope=0.002),
        make_run("4", "dot", 1, status="failed", reason="RuntimeError: [bold]out[/] of memory", scored=False),
    ]
    return rows([read_run(run) for run in runs], 1, tmp_path)


def test_the_best_arm_comes_first_then_seeds_and_unscored_runs_last(table):
    assert [(row["attention"], row["seed"], row["run"]) for row in table] == [
        ("bahdanau", 1, "3"),
        ("bahdanau", 2, "2"),
        ("none", 1, "0"),
        ("none", 2, "1"),
        ("dot", 1, "4"),
    ]


def test_rows_hold_the_numbers_of_results_json(table, tmp_path):
    results = read_run(tmp_path / "3").results
    row = table[0]
    assert row["bleu"] == results["bleu"]
    assert [row[f"bleu {name}"] for name in ("1-10", "51-60")] == [results["by_length"][i]["bleu"] for i in (0, 5)]
    assert row["n 1-10"] == 10
    assert "bleu >60" not in row  # no run has a sentence there
    assert row["updates"] == results["cost"]["updates"]
    assert row["signature"] == results["signature"]
    failed = table[-1]
    assert (failed["bleu"], failed["updates"], failed["status"]) == (None, None, "failed")


def test_both_tables_fit_80_columns_and_show_what_matters(table):
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(score_table(table, "title"))
    console.print(cost_table(table))
    shown = console.export_text()
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    for text in ("1-10", "51-60", f"{table[0]['bleu']:.1f}", "2.41M", "9.88M", "4m 47s", "failed"):
        assert text in shown


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (40, ["location_sensitive, learning_rate=0.004"]),
        (20, ["location_sensitive,", "learning_rate=0.004"]),
        (14, ["location_", "sensitive,", "learning_rate=", "0.004"]),
        (10, ["location_", "sensitive,", "learning_", "rate=0.004"]),
        (5, ["locat", "ion_", "sensi", "tive,", "learn", "ing_", "rate=", "0.004"]),
    ],
)
def test_a_long_name_is_broken_behind_its_parts(width, lines):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(ArmName("location_sensitive, learning_rate=0.004"))
    assert [line.rstrip() for line in console.export_text().splitlines()] == lines


def test_the_arms_of_the_whole_family_stay_readable_in_80_columns(make_run, tmp_path):
    made = [make_run(str(seed), "location_sensitive", seed) for seed in (1, 2)]
    table = rows([read_run(run) for run in made], 1, tmp_path)
    for made_table in (score_table(table, "title"), cost_table(table)):
        console = Console(width=80, record=True, file=io.StringIO())
        console.print(made_table)
        shown = console.export_text()
        assert max(map(len, shown.splitlines())) <= 80
        assert shown.count("location_") == shown.count("sensitive") == 2


def test_a_place_is_told_from_the_others_by_as_few_parts_as_can_be():
    assert distinguishing(["../x/0", "../x/1"]) == ["0", "1"]
    assert distinguishing(["a/0", "a/1", "b/0"]) == ["a/0", "a/1", "b/0"]
    assert distinguishing(["../../deep/a/0", "../../deep/b/0"]) == ["a/0", "b/0"]
    assert distinguishing(["alone/in/here"]) == ["here"]
    assert distinguishing(["0", "a/0"]) == ["0", "a/0"]


def test_a_run_without_any_score_makes_a_table_too(make_run, tmp_path):
    lonely = rows([read_run(make_run("x", scored=False))], 1, tmp_path)
    assert lonely[0]["bleu"] is None
    Console(quiet=True).print(score_table(lonely, "title"), cost_table(lonely))


def test_what_the_last_fifth_gained_is_a_column_and_a_number_in_the_csv(make_run, tmp_path):
    about = {"validation_bleu": 30.0, "validation_perplexity": 1.7, "since_update": 80, "updates": 100}
    made = [
        make_run(str(seed), "none", seed, convergence={**about, "rise": rise}) for seed, rise in ((1, 4.26), (2, -0.04))
    ]
    made.append(make_run("2026-01-31/12-00-01.134567", "none", 3))
    table = rows([read_run(run) for run in made], 1, tmp_path)
    assert {row["seed"]: (row["rise"], row["validation_perplexity"]) for row in table} == {
        1: (4.26, 1.7),
        2: (-0.04, 1.7),
        3: (None, None),
    }
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(cost_table(table))
    shown = console.export_text()
    assert max(map(len, shown.splitlines())) <= 80
    assert "12-00-01.134567" in shown
    assert "+4.3" in shown
    assert "+0.0" in shown
    assert "rise: validation BLEU gained in the last fifth" in " ".join(shown.split())
    assert [column.header for column in cost_table(table).columns].count("rise") == 1
    without = [row for row in table if row["rise"] is None]
    assert "rise" not in [column.header for column in cost_table(without).columns]
