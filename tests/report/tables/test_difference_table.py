"""The tables of the evidence hold its numbers, mark what is significant, and fit a terminal."""

import io

import pytest
from rich.console import Console

from lookback.evaluation import Difference
from lookback.report.evidence.contrasts import Contrast, evidence
from lookback.report.tables.difference_table import arm_rows, arm_table, difference_rows, difference_tables
from lookback.runs import read_run

LENGTHS = [*(length for length in range(1, 31) for _ in range(6)), *range(61, 66)]


@pytest.fixture(scope="module")
def found(make_run_at, tmp_path_factory):
    place = tmp_path_factory.mktemp("arms")
    slopes = {"none": 0.02, "bahdanau": 0.002, "dot": 0.0198, "general": 0.01}
    runs = [make_run_at(place / name, name, slope=slope, lengths=LENGTHS) for name, slope in slopes.items()]
    return evidence([read_run(run) for run in runs])


def shown(*tables, width=80):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(*tables)
    return console.export_text()


def test_a_row_a_contrast_and_bucket(found):
    rows = difference_rows(found.contrasts, 2)
    assert [row["words"] for row in rows[:8]] == ["all", "1-10", "11-20", "21-30", "31-40", "41-50", "51-60", ">60"]
    assert len(rows) == 3 * 8
    assert rows[0] == {
        "group": 2,
        "arm": "bahdanau",
        "baseline": "none",
        "seeds": 1,
        "words": "all",
        "n": 185,
        "bleu": found.arms["bahdanau"]["score"],
        "baseline bleu": found.arms["none"]["score"],
        "difference": pytest.approx(found.arms["bahdanau"]["score"] - found.arms["none"]["score"]),
        "low": found.contrasts[0].difference.whole["ci"][0],
        "high": found.contrasts[0].difference.whole["ci"][1],
        "p": 1 / 1001,
        "p_holm": 3 / 1001,  # three attentions are shown
        "significant": False,  # of one seed
        "models_differ": True,
    }
    assert {rows[4][key] for key in ("bleu", "difference", "low", "high", "p")} == {None}  # 31-40: no sentence


def test_a_row_an_arm(found):
    rows = arm_rows(found.arms, 1)
    none = found.arms["none"]
    assert [row["arm"] for row in rows] == ["none", "bahdanau", "dot", "general"]
    assert [rows[0][key] for key in ("bleu low", "bleu high")] == none["ci"]
    assert [rows[0][key] for key in ("half_length low", "half_length high")] == none["half_length_ci"]
    assert [rows[1][key] for key in ("half_length", "half_length low", "half_length high")] == [None] * 3
    assert len({tuple(row) for row in rows}) == 1


def test_tables_fit_80_columns_and_mark_what_is_significant(found):
    (table,) = difference_tables(found.contrasts, found.baseline)
    text = shown(table, arm_table(arm_rows(found.arms, 1)))
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    lines = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    curve = found.contrasts[0].difference.curve
    for words, bucket in (("21-30", curve[2]), (">60", curve[6])):
        low, high = bucket["ci"]
        mark = "†" if bucket["models_differ"] else " "
        assert f"{bucket['difference']:+.1f} ({low:.1f} to {high:.1f}){mark}" in lines[words]
    assert curve[2]["models_differ"]
    assert "†" not in lines[">60"]
    assert "*" not in text
    said = " ".join(text.split())
    assert "†: these trained models differ on this test set, Holm-corrected p < 0.05 over sentences; " in said
    assert "fewer than 3 seeds, so not the attentions" in said
    assert "intervals of one seed or output are over sentences alone" in said
    assert "31-40" not in lines
    retention, (low, high) = found.arms["none"]["retention"], found.arms["none"]["retention_ci"]
    assert f"{retention:.0%} {low:.0%} to {high:.0%}" in text


def test_an_open_bound_is_said_in_words(found):
    rows = arm_rows({"none": found.arms["none"] | {"half_length": None, "half_length_ci": [21.25, None]}}, 1)
    assert "21.2 or later" in shown(arm_table(rows))


def test_more_than_three_arms_go_on_in_another_table(found):
    widest = {"n": 99999, "difference": -10.15, "ci": [-11.25, 10.25], "significant": True, "models_differ": False}
    contrasts = [Contrast(f"attention{i}", "none", [], Difference("bleu", 3, widest, [])) for i in range(4)]
    first, second = difference_tables(contrasts, "none")
    text = shown(first)
    assert "-10.2 (-11.2 to 10.2)*" in text
    assert "attention2" in text
    assert "attention3" in shown(second)
    assert "*: significant, Holm-corrected p < 0.05 · no mark under 50 sentences" in text
    assert "†" not in text
