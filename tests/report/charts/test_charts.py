"""What all charts have in common: they take arms that are known already, and draw nothing of runs without scores."""

import json
from dataclasses import replace

import pytest

from lookback.report import length_chart
from lookback.report.charts import charts
from lookback.report.charts.diagnostics_chart import diagnostics_chart
from lookback.report.charts.difference_chart import difference_chart
from lookback.report.charts.learning_chart import learning_chart
from lookback.report.charts.recall_chart import recall_chart
from lookback.report.charts.terminal_curve import TerminalCurve
from lookback.report.evidence.contrasts import CountedRuns
from lookback.report.evidence.differences import arms
from lookback.runs import read_run

LENGTHS = [length for length in range(1, 41) for _ in range(6)]


@pytest.fixture(scope="module")
def runs(make_run_at, tmp_path_factory):
    place = tmp_path_factory.mktemp("arms")
    for name, slope in (("dot", 0.005), ("none", 0.02)):
        directory = make_run_at(place / name, name, slope=slope, lengths=LENGTHS)
        (directory / "metrics.csv").write_text("step,train/loss\n50,2.0\n100,1.0\n")
        path = directory / "test" / "results.json"
        record = json.loads(path.read_text())
        looks = {"entropy": 1.0, "sharpness": 0.5, "coverage": 0.5, "monotonicity": 0.5, "diagonality": 0.5}
        buckets = record["by_length"] if name == "dot" else []
        record["attention_by_length"] = [{key: b[key] for key in ("lo", "hi", "n")} | looks for b in buckets] or None
        path.write_text(json.dumps(record))
    return [read_run(place / name) for name in ("dot", "none")]


@pytest.fixture(scope="module")
def counted(runs):
    return CountedRuns(runs)


def drawn(counted, compared):
    """Every chart of the runs, or of their arms."""
    evidence = counted.evidence()
    return [
        length_chart(compared, evidence).to_dict(),
        length_chart(compared, measure="chrf", buckets="count").to_dict(),
        difference_chart(evidence.contrasts, compared).to_dict(),
        recall_chart(compared, counted.recall).to_dict(),
        diagnostics_chart(compared, "entropy").to_dict(),
        learning_chart(compared, "train_loss").to_dict(),
        vars(TerminalCurve(compared)),
    ]


def test_arms_that_are_known_are_not_computed_again(runs, counted, monkeypatch):
    expected = drawn(counted, runs)
    known = arms(runs)
    monkeypatch.setattr(charts, "arms", lambda _: pytest.fail("the arms were computed again"))
    assert drawn(counted, known) == expected


def test_no_chart_draws_a_control_character_of_an_arms_name(runs):
    named = [replace(run, arm=f"{run.arm}\x07\x1b\ufffe\ud800") for run in runs]
    charts_of = drawn(CountedRuns(named), named)
    found = json.dumps([chart for chart in charts_of if "layer" in chart], ensure_ascii=False)
    terminal = [arm.name for arm in charts_of[-1]["_arms"]]
    assert "dot␇␛\ufffd\ufffd" in found
    assert "dot␇␛\ufffd\ufffd" in terminal
    assert not [hidden for hidden in ("\\u0007", "\\u001b", "\ufffe", "\ud800") if hidden in found]


def test_a_run_without_scores_is_in_no_chart_of_scores(runs, counted, make_run):
    failed = read_run(make_run("failed", "general", status="failed", scored=False, train_max_length=15))
    assert "trained up to 15" not in str(drawn(counted, [*runs, failed]))
    assert drawn(counted, [*runs, failed]) == drawn(counted, runs)


def test_training_limits_are_drawn_up_to_the_end_of_the_axis(make_run):
    limits = {"a": 30, "b": 30, "c": 40, "d": 50}
    made = [read_run(make_run(name, scored=False, train_max_length=limit)) for name, limit in limits.items()]
    assert charts.training_limits(made) == [30, 40, 50]
    points = charts.limit_points(made, 40.5, lambda length: length)
    assert points == [{"x": 30.5, "text": "trained up to 30 words"}, {"x": 40.5, "text": "trained up to 40 words"}]
    rule, text = charts.limit_layers(made, 40.5)
    assert (rule.mark.type, text.mark.align) == ("rule", "right")
    assert charts.limit_layers(made, 100)[1].mark.align == "left"
    assert charts.limit_layers(made, 20) == []
