"""Run directories are read whole, or refused with the file's name."""

import json
from dataclasses import fields

import numpy as np
import pytest

from lookback.common.errors import InputError
from lookback.evaluation import segments_of
from lookback.runs import Segments, read_run, read_runs
from lookback.runs.run import training_limit


def test_a_finished_run(make_run):
    run = read_run(make_run("a", "dot", 3))
    assert (run.attention, run.seed, run.status, run.reason) == ("dot", 3, "finished", None)
    assert run.results["attention"] == "dot"
    assert run.config["encoder"]["cell"] == "gru"
    assert training_limit(run) == 30
    assert training_limit(read_run(make_run("b", "dot", 3, train_max_length=None, scored=False))) == 70


def test_a_failed_run_without_results_knows_its_attention_seed_and_reason(make_run):
    run = read_run(make_run("a", "general", 7, status="failed", reason="ValueError: no", scored=False))
    assert (run.attention, run.seed, run.status, run.reason) == ("general", 7, "failed", "ValueError: no")
    assert run.results is None


def test_a_run_without_status_is_unknown(make_run):
    directory = make_run("a", scored=False)
    (directory / "status.json").unlink()
    (directory / ".hydra" / "hydra.yaml").unlink()
    run = read_run(directory)
    assert (run.arm, run.attention, run.status) == ("?", None, "unknown")


def test_a_sweep_means_every_run_inside_once_in_natural_order(make_run, tmp_path):
    for name in ("sweep/10", "sweep/2", "sweep/1"):
        make_run(name, scored=False)
    runs = read_runs([tmp_path / "sweep", tmp_path / "sweep" / "1"])
    assert [run.directory.name for run in runs] == ["1", "2", "10"]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("status.json", "{", r"status.json: .*expected a JSON object"),
        ("status.json", '{"status": "done"}', "one of running, finished, failed, interrupted"),
        (".hydra/config.yaml", "a: [", r"config.yaml: .*expected YAML"),
        (".hydra/config.yaml", "3", "config.yaml: found int"),
        ("test/results.json", '{"schema": 1, "blue": 2}', "unknown key 'blue'"),
    ],
)
def test_unreadable_files_are_named_in_one_line(make_run, file, content, message):
    directory = make_run("a")
    (directory / file).write_text(content)
    with pytest.raises(InputError, match=message) as refused:
        read_run(directory)
    assert "\n" not in str(refused.value)


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="absent: no such directory"):
        read_runs([tmp_path / "absent"])
    with pytest.raises(InputError, match="neither a run directory"):
        read_runs([tmp_path])
    with pytest.raises(InputError, match="expected a run directory"):
        read_run(tmp_path)


def test_results_of_a_newer_schema_are_refused(make_run):
    path = make_run("a") / "test" / "results.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 9}))
    with pytest.raises(InputError, match="schema 9"):
        read_runs([path.parent.parent])


def test_segments_of_an_earlier_version_are_counted_again_from_the_predictions(make_run):
    run = read_run(make_run("a", lengths=range(1, 12), tokenize="13a"))
    expected, path = segments_of(run), run.directory / "test" / "segments.npz"
    with np.load(path) as arrays:
        old = {name: arrays[name] for name in arrays if name not in ("chrf_statistics", "ter_statistics")}
    assert "position_statistics" in old  # which predictions alone do not tell
    np.savez(path, **old)
    found = segments_of(run)
    for field in fields(Segments):
        assert np.array_equal(getattr(found, field.name), getattr(expected, field.name))
    np.savez(path, **{name: array[:-1] for name, array in old.items()})
    with pytest.raises(InputError, match=r"segments.npz: .* has shape .*, of the predictions beside it"):
        segments_of(run)
    np.savez(path, **old)
    (run.directory / "test" / "predictions.jsonl").unlink()
    with pytest.raises(InputError, match=r"segments.npz: no chrf_statistics, ter_statistics; expected"):
        segments_of(run)
    path.unlink()
    assert segments_of(run) is None
