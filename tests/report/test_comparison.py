"""A comparison's files and words: ranked together only where that is fair, and whatever the runs' fate."""

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from lookback.common.errors import InputError
from lookback.evaluation import MEASURES
from lookback.report import compare, comparison_directory, write_report
from lookback.report.evidence.contrasts import evidence
from lookback.report.evidence.headline import headline
from lookback.report.evidence.rows import rows
from lookback.report.tables.difference_table import difference_rows
from lookback.runs import read_runs
from support.paths import PROJECT

ROOT = PROJECT


def told(directories, out, baseline=None):
    console = Console(width=100, file=io.StringIO(), force_terminal=False)
    paths = compare(read_runs(directories), out, console, baseline)
    return console.file.getvalue(), [path.name for path in paths]


def test_csv_rows_are_the_tables_rows(make_run, tmp_path):
    directories = [make_run("a", "none", slope=0.01), make_run("b", "bahdanau", cell="lstm")]
    said, names = told(directories, tmp_path / "out")
    tables = ["comparison.csv", "comparison.txt", "arms.csv", "differences.csv", "recall.csv", "lengths.csv"]
    charts = [f"{c}.{s}" for c in ("length_curve", "length_difference") for s in ("vl.json", "svg", "pdf", "png")]
    assert names == [*tables, *charts, "report.html"]
    with (tmp_path / "out" / "comparison.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    expected = rows(read_runs(directories), 1, tmp_path / "out")
    assert written == [{key: "" if value is None else str(value) for key, value in row.items()} for row in expected]
    assert [row["encoder.cell"] for row in written] == ["lstm", "gru"]
    assert "differ in more than the attention: encoder.cell is gru, lstm" in said
    assert "fewer than three seeds" in said
    assert f"wrote {tmp_path / 'out' / 'length_curve.svg'}" in said


def test_a_recipes_settings_are_in_the_file_and_a_note_but_no_column_of_the_terminal(make_run, tmp_path):
    directories = [make_run("a", "none", slope=0.01), make_run("b", "cho2014", cell="lstm")]
    path = directories[1] / ".hydra" / "config.yaml"
    path.write_text(path.read_text().replace("${hydra:runtime.choices.attention}", "cho2014"))
    said, _ = told(directories, tmp_path / "out")
    with (tmp_path / "out" / "comparison.csv").open(newline="") as file:
        assert {row["attention"]: row["encoder.cell"] for row in csv.DictReader(file)} == {
            "none": "gru",
            "cho2014": "lstm",
        }
    assert "differ in more than the attention: encoder.cell is gru, lstm" in said
    assert "cho2014 scores" in said
    assert not any(line.startswith("attention") and "cell" in line for line in said.splitlines())
    with (tmp_path / "out" / "differences.csv").open(newline="") as file:
        assert {(row["arm"], row["baseline"]) for row in csv.DictReader(file)} == {("cho2014", "none")}


def test_runs_of_several_sizes_of_the_encoder_have_a_heat_map(make_run, tmp_path):
    lengths = list(range(4, 31)) * 2
    directories = [make_run(f"{size}", "none", slope=0.2 / size, lengths=lengths) for size in (4, 6, 8)]
    for directory in directories:
        path = directory / ".hydra" / "config.yaml"
        path.write_text(path.read_text().replace("encoder:\n", f"encoder:\n  hidden_size: {directory.name}\n"))
    _, names = told(directories, tmp_path / "out")
    assert {"capacity.svg", "capacity.png", "capacity.pdf", "capacity.vl.json"} <= set(names)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "How many words fit" in page
    assert "numbers in the vector" in page
    for directory in directories[1:]:  # two sizes are no law, and the older chart goes
        (directory / "test" / "results.json").unlink()
    _, names = told(directories, tmp_path / "out")
    assert not [name for name in names if name.startswith("capacity")]
    assert not list((tmp_path / "out").glob("capacity*"))


@pytest.mark.parametrize("other", [{"tokenize": "13a"}, {"fingerprint": "another"}])
def test_other_signatures_and_test_sets_are_never_ranked_together(make_run, tmp_path, other):
    directories = [make_run("a", "none"), make_run("b", "bahdanau"), make_run("c", "dot", slope=0.0, **other)]
    directories.append(make_run("d", "general", status="failed", reason="it broke", scored=False))
    said, names = told(directories, tmp_path / "out")
    assert "not ranked together" in said
    charts = ["length_curve-1.svg", "length_difference-1.svg", "length_curve-2.svg"]
    assert [name for name in names if name.endswith("svg")] == charts
    with (tmp_path / "out" / "differences.csv").open(newline="") as file:
        assert {(row["group"], row["arm"], row["baseline"]) for row in csv.DictReader(file)} == {
            ("1", "bahdanau", "none")
        }
    assert "dot" not in (tmp_path / "out" / "length_curve-1.svg").read_text()
    with (tmp_path / "out" / "comparison.csv").open(newline="") as file:
        assert [(row["group"], row["attention"]) for row in csv.DictReader(file)][-2:] == [
            ("2", "dot"),
            ("3", "general"),
        ]
    assert "it broke" in said


def test_every_measure_of_every_bucket_is_in_a_file(make_run, tmp_path):
    directories = [make_run("a", "none", slope=0.01), make_run("b", "dot", 1), make_run("c", "dot", 2)]
    told([*directories, make_run("d", "general", status="failed", scored=False)], tmp_path / "out")
    with (tmp_path / "out" / "lengths.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    found = [
        {"run": f"../{run.directory.name}", "seed": run.seed, **bucket}
        for run in sorted(read_runs(directories), key=lambda run: (-run.bleu, run.seed))
        for bucket in run.results["by_length"]
        if bucket["n"]
    ]
    columns = ["run", "seed", "lo", "hi", "n", *MEASURES]
    expected = [{key: "" if row[key] is None else str(row[key]) for key in columns} for row in found]
    assert [{key: row[key] for key in columns} for row in written] == expected
    assert len({row["lo"] for row in written}) > 1
    assert {row["arm"] for row in written} == {"none", "dot"}


def test_files_that_only_begin_like_ours_stay(make_run, tmp_path):
    told([make_run("a", "none"), make_run("b", "dot")], tmp_path / "out")
    own = ("capacity-notes.png", "length_curves_for_thesis.png", "tuning.csv", "length_curve-2.svg")
    for name in own:
        (tmp_path / "out" / name).write_text("mine")
    told([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert [(tmp_path / "out" / name).exists() for name in own] == [True, True, True, False]  # the last is ours


def test_a_failed_run_is_listed_beside_the_others(make_run, tmp_path):
    reason = "RuntimeError: [red]CUDA[/] out of memory"
    said, names = told([make_run("a"), make_run("b", "dot", 2, status="failed", reason=reason, scored=False)], tmp_path)
    assert f"dot seed=2 (b) failed: {reason}" in said
    assert names[:3] == ["comparison.csv", "comparison.txt", "arms.csv"]
    assert len(names) == 10


def test_all_failed_runs_make_a_table_and_no_chart(make_run, tmp_path):
    directories = [make_run(name, "dot", status="failed", reason=f"no {name}", scored=False) for name in "ab"]
    said, names = told(directories, tmp_path / "out")
    assert names == ["comparison.csv", "comparison.txt", "report.html"]
    assert "no a" in said
    assert "no b" in said


def test_the_papers_query_states_are_named(make_run, tmp_path):
    said, _ = told([make_run("a", "none"), make_run("b", "dot")], tmp_path / "out")
    assert "none: previous, dot: current" in " ".join(said.split())
    assert "differ in more" not in said


def test_differences_to_the_baseline_are_told_written_and_summed_up(make_run, tmp_path):
    lengths = [length for length in range(1, 21) for _ in range(6)]
    slopes = {"none": 0.03, "dot": 0.002, "general": 0.015}
    directories = [make_run(name, name, slope=slope, lengths=lengths) for name, slope in slopes.items()]
    found = evidence(read_runs(directories))
    said, _ = told(directories, tmp_path / "out")
    assert "BLEU more than none" in said
    assert headline(found) in " ".join(said.split())
    assert "dot scores" in said
    assert "One seed: the intervals are over sentences alone, and the spread between trainings is unknown." in " ".join(
        said.split()
    )
    with (tmp_path / "out" / "differences.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    expected = difference_rows(found.contrasts, 1)
    assert written == [{key: "" if value is None else str(value) for key, value in row.items()} for row in expected]
    assert "BLEU more than general" in told(directories, tmp_path / "other", baseline="general")[0]
    with pytest.raises(InputError, match="baseline=location: no arm has this name; expected one of dot, general, none"):
        told(directories, tmp_path / "third", baseline="location")
    assert not (tmp_path / "third").exists()


def test_a_page_may_be_all_that_is_written(make_run, tmp_path):
    run = make_run("a")
    said, names = told([run], tmp_path / "out" / "mine.html")
    assert names == ["mine.html"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.html"]
    assert f"wrote {tmp_path / 'out' / 'mine.html'}" in said
    assert write_report(read_runs([run]), tmp_path / "b.html") == tmp_path / "b.html"
    assert (tmp_path / "b.html").read_bytes().startswith(b"<!doctype html>")


def test_a_terminal_of_80_columns_folds_no_path(make_run, tmp_path):
    places = [f"2026-01-31/12-00-0{seed}.{seed}34567" for seed in (1, 2)]
    directories = [make_run(place, "none", seed) for seed, place in enumerate(places, 1)]
    console = Console(width=80, file=io.StringIO())
    compare(read_runs(directories), tmp_path / "out", console)
    said = console.file.getvalue()
    for place in places:
        assert f" {Path(place).name}\n" in said.replace(" \n", "\n")
    printed = said.partition("wrote")[0]
    assert max(map(len, printed.splitlines())) <= 80
    kept = (tmp_path / "out" / "comparison.txt").read_text(encoding="utf-8")
    assert kept.split() == printed.split()


def test_a_summary_may_be_rewritten_and_anothers_is_not_destroyed(make_run, tmp_path):
    first, second, third = make_run("a"), make_run("b", fingerprint="another"), make_run("c")
    other = make_run("d", "none", slope=0.02)
    told([first, second, other], tmp_path / "out")
    assert (tmp_path / "out" / "length_curve-2.png").exists()
    assert (tmp_path / "out" / "length_difference-1.png").exists()
    other.joinpath("test", "results.json").unlink()
    second.joinpath("test", "results.json").unlink()
    told([first, second, third, other], tmp_path / "out")  # the sweep grew, and is one group now
    assert not list((tmp_path / "out").glob("length_*-*"))
    assert not (tmp_path / "out" / "differences.csv").exists()  # nothing is left to compare
    before = (tmp_path / "out" / "comparison.csv").read_bytes()
    with pytest.raises(InputError, match="holds a comparison of other runs"):
        told([first], tmp_path / "out")
    assert (tmp_path / "out" / "comparison.csv").read_bytes() == before


def test_default_places(make_run, tmp_path):
    run = make_run("sweep/0", scored=False)
    assert comparison_directory([tmp_path / "sweep"]) == tmp_path / "sweep"
    assert comparison_directory([run]).parent == Path("comparisons")
    assert comparison_directory([run]) != comparison_directory([run])


def test_no_runs_are_refused(tmp_path):
    with pytest.raises(InputError, match="at least one run"):
        compare([], tmp_path)


def run_command(*arguments, cwd):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}
    command = [sys.executable, str(ROOT / "compare.py"), *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_command_reads_paths_from_where_it_was_typed_and_leaves_nothing_else(make_run, tmp_path):
    make_run("sweep/0", "none", slope=0.01)
    make_run("sweep/1", "bahdanau")
    done = run_command("runs=sweep", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "bahdanau" in done.stdout
    assert (tmp_path / "sweep" / "length_curve.png").exists()
    assert "BLEU more than none" in done.stdout
    done = run_command("runs=[sweep/0, sweep/1]", "out=here", "baseline=bahdanau", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "BLEU more than bahdanau" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "sweep"]


def test_the_command_says_what_is_wrong_in_one_line(tmp_path):
    done = run_command("runs=[nowhere]", cwd=tmp_path)
    assert done.returncode == 2
    expected = "expected a run directory, an evaluation, or a directory with such inside"
    assert done.stderr == f"error: nowhere: no such directory; {expected}\n"
