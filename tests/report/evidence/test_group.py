"""A group of runs: what its parts need is read and computed once."""

from dataclasses import replace

from lookback.report.evidence.capacity import capacity
from lookback.report.evidence.differences import arms
from lookback.report.evidence.group import grouped, named
from lookback.runs import Segments, read_run

LENGTHS = list(range(1, 21)) * 3


def test_counts_are_read_once_for_all_that_a_group_says(make_run, monkeypatch, tmp_path):
    runs = []
    for size in (4, 6, 8):
        directory = make_run(f"{size}", "none", slope=0.12 / size, lengths=LENGTHS)
        path = directory / ".hydra" / "config.yaml"
        path.write_text(path.read_text().replace("encoder:\n", f"encoder:\n  hidden_size: {size}\n"))
        runs.append(read_run(directory))
    runs.append(read_run(make_run("bare", "dot", scored=False, status="failed")))
    read, load = [], Segments.load
    monkeypatch.setattr(Segments, "load", lambda path: read.append(path) or load(path))
    (group,) = grouped(runs, tmp_path)
    assert sorted(read) == sorted(run.directory / "test" / "segments.npz" for run in runs[:3])
    assert list(group.counts) == [run.directory for run in runs[:3]]
    assert group.counted.arms == arms(runs[:3])
    assert group.evidence is group.counted.evidence()
    assert group.capacity.held == capacity(runs).held


def test_arms_of_a_search_have_short_numbers_and_keep_their_own_names(make_run, tmp_path):
    rates = ("0.0034878527126234885", "0.0034878999", "0.5")
    runs = [replace(read_run(make_run(rate, "dot")), arm=f"dot, learning_rate={rate}") for rate in rates]
    assert [run.arm for run in named(runs[1:])] == ["dot, learning_rate=0.003488", "dot, learning_rate=0.5"]
    assert [run.arm for run in named(runs)] == [run.arm for run in runs]
    (group,) = grouped(runs[1:], tmp_path)
    assert {row["arm"] for row in group.rows} == {"dot, learning_rate=0.003488", "dot, learning_rate=0.5"}
    assert list(group.counted.arms) == ["dot, learning_rate=0.003488", "dot, learning_rate=0.5"]
