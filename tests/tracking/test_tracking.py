"""Weights & Biases, offline: what a run writes there is read back from its own file."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookback.common.errors import InputError
from lookback.evaluation import MEASURES, midpoint
from lookback.runs import read_results
from lookback.runs.alignments import AlignedSentence, read_alignments
from lookback.tracking import weights_and_biases as tracking
from lookback.tracking.tensorboard import tensorboard_logger
from support.running import PROJECT, TINY_DATA, TINY_MODEL, TINY_TRAINING, run


def offline_runs(directory: Path) -> list[Path]:
    return sorted((directory / "wandb").glob("offline-run-*"))


def records(run_directory: Path) -> list[dict[str, Any]]:
    """What `wandb leet inspect` reads in a run's file."""
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(run_directory)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


def of(kind: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record[kind] for record in found if record["type"] == kind]


def configuration(found: list[dict[str, Any]]) -> dict[str, Any]:
    """What the run's config says at its end: keys of several parts are updates inside."""
    config: dict[str, Any] = {}
    for record in of("config", found):
        for key, value in record["update"].items():
            *outer, last = key.split(".")
            inside = config
            for part in outer:
                inside = inside.setdefault(part, {})
            inside[last] = value
    return config


def table(found: list[dict[str, Any]], directory: Path, key: str) -> list[dict[str, Any]]:
    """The rows of a table that was logged, from its file."""
    (path,) = [row["item"][f"{key}.path"] for row in of("history", found) if f"{key}.path" in row["item"]]
    (written,) = offline_runs(directory)
    content = json.loads((written / "files" / path).read_text(encoding="utf-8"))
    return [dict(zip(content["columns"], row, strict=True)) for row in content["data"]]


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory, grammar_cache: str) -> tuple[dict[str, Any], list[Any], Path]:
    """A run with W&B on a machine without a key: its results, its records, its directory."""
    directory = tmp_path_factory.mktemp("tracked")
    before = dict(os.environ)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("WANDB_API_KEY", "WANDB_MODE"):
            patch.delenv(name, raising=False)
        patch.setenv("NETRC", "/nowhere/netrc")
        # a prompt would wait for an answer, or fail here
        patch.setattr("builtins.input", lambda *_: pytest.fail("prompted"))
        results = run(directory, grammar_cache, "logger=wandb", "trainer.max_epochs=2", "seed=7")
    left = {name for name in os.environ if name.startswith("WANDB") and os.environ[name] != before.get(name)}
    assert left <= {"WANDB_SERVICE"}, "the environment of the next job is changed"
    (written,) = offline_runs(directory)
    return results, records(written), directory


def test_without_a_key_a_run_is_offline_in_its_own_directory(tracked: tuple[Any, list[Any], Path]) -> None:
    _, found, _ = tracked
    (begun,) = of("run", found)
    assert begun["project"] == "lookback"
    assert begun["display_name"] == "bahdanau-seed7"
    assert begun["run_group"] == "grammar-bahdanau"
    assert begun["tags"] == ["bahdanau", "grammar", "seed-7"]


def test_a_finished_run_has_exit_code_0(tracked: tuple[Any, list[Any], Path]) -> None:
    (end,) = of("exit", tracked[1])
    assert end.get("exit_code", 0) == 0


def test_the_resolved_config_is_its_hyperparameters(tracked: tuple[Any, list[Any], Path]) -> None:
    config = configuration(tracked[1])
    assert config["seed"] == 7
    assert config["names"] == {"arm": "bahdanau", "attention": "bahdanau", "data": "grammar"}
    assert config["attention"] == {"_target_": "lookback.nn.AdditiveAttention", "attention_size": 12}


def test_what_is_logged_there_is_what_metrics_csv_has(tracked: tuple[Any, list[Any], Path]) -> None:
    """From the first update on, which is before W&B has begun."""
    _, found, directory = tracked
    logged: dict[int, dict[str, float]] = {}
    for item in (record["item"] for record in of("history", found)):
        if "trainer/global_step" in item:
            logged.setdefault(item["trainer/global_step"], {}).update(item)
    with (directory / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == sorted(logged)
    assert any(row["attention/entropy"] for row in rows[:1])
    for row in rows:
        for name in row.keys() - {"step"}:
            assert (name in logged[int(row["step"])]) == bool(row[name])
            assert not row[name] or logged[int(row["step"])][name] == pytest.approx(float(row[name]), rel=1e-5)


def test_metrics_are_logged_by_update(tracked: tuple[Any, list[Any], Path]) -> None:
    history = [record["item"] for record in of("history", tracked[1])]
    validated = [row for row in history if "validation/bleu" in row]
    assert [row["trainer/global_step"] for row in validated] == [2, 5]
    assert all({"validation/perplexity", "validation/loss"} <= row.keys() for row in validated)
    assert sum("train/loss" in row for row in history) == 6


CURVES = [
    ("bleu_by_length", "by_length", tracking.SCORE_COLUMNS),
    ("attention_by_length", "attention_by_length", tracking.ATTENTION_COLUMNS),
]


@pytest.mark.parametrize(("section", "key", "columns"), CURVES)
def test_a_curve_has_its_own_axis_and_a_row_a_bucket(
    tracked: tuple[dict[str, Any], list[Any], Path], section: str, key: str, columns: tuple[str, ...]
) -> None:
    results, found, _ = tracked
    defined = {metric["name"]: metric for metric in of("metric", found) if "name" in metric}
    assert defined[f"{section}/length"]["options"]["hidden"]
    for column in columns:
        metric = defined[f"{section}/{column}"]
        assert metric["step_metric"] == f"{section}/length"
        assert not metric["options"].get("step_sync")
        assert metric["summary"] == {"none": True}
    rows = [row["item"] for row in of("history", found) if f"{section}/length" in row["item"]]
    buckets = [bucket for bucket in results[key] if bucket["n"]]
    assert len(rows) == len(buckets) == 2
    for row, bucket in zip(rows, buckets, strict=True):
        logged = {name: value for name, value in row.items() if name.startswith(section)}
        expected = {f"{section}/{column}": bucket[column] for column in columns if bucket[column] is not None}
        assert logged == pytest.approx({f"{section}/length": midpoint(bucket), **expected})


def test_only_lightning_defines_by_a_pattern(tracked: tuple[dict[str, Any], list[Any], Path]) -> None:
    assert [metric["glob_name"] for metric in of("metric", tracked[1]) if "glob_name" in metric] == ["*"]


@pytest.mark.parametrize("name", ["by_length", "by_equal_count", "attention_by_length"])
def test_a_table_has_the_exact_rows_of_every_bucket(tracked: tuple[dict[str, Any], list[Any], Path], name: str) -> None:
    results, found, directory = tracked
    rows = table(found, directory, f"tables/{name}")
    assert len(rows) == len(results[name]) > 0
    for row, bucket in zip(rows, results[name], strict=True):
        if "ci" in bucket:
            bucket = bucket | dict(zip(("ci_low", "ci_high"), bucket["ci"] or (None, None), strict=True))
            del bucket["ci"]
        assert row == bucket


def test_the_length_chart_is_drawn_of_the_runs_own_points(tracked: tuple[dict[str, Any], list[Any], Path]) -> None:
    results, found, directory = tracked
    (begun,) = of("run", found)
    rows = table(found, directory, "length_curve_table")
    points = [row for row in rows if row["part"] == "point"]
    buckets = [bucket for bucket in results["by_length"] if bucket["n"]]
    for point, bucket in zip(points, buckets, strict=True):
        assert (point["arm"], point["run"]) == ("bahdanau", begun["run_id"])
        assert (point["x"], point["n"]) == (midpoint(bucket), bucket["n"])
        assert [point["low"], point["high"]] == bucket["ci"]
        for measure in MEASURES:
            assert point[measure] == bucket[measure]
    assert [row["text"] for row in rows if row["part"] == "limit"] == ["trained up to 12 words"]

    panel = configuration(found)["_wandb"]["visualize"]["length_curve"]["panel_config"]
    assert panel["panelDefId"] == "wandb/line/v0"
    assert set(panel["fieldSettings"].values()) - {None} <= set(rows[0])
    assert results["signature"] in panel["stringSettings"]["subtitle"]
    (query,) = [each for each in panel["userQuery"]["queryFields"][0]["fields"] if each["name"] == "summaryTable"]
    assert query["args"] == [{"name": "tableKey", "value": "length_curve_table"}]


def test_the_other_numbers_are_its_summary(tracked: tuple[dict[str, Any], list[Any], Path]) -> None:
    results, found, _ = tracked
    written: dict[str, Any] = {}
    for record in of("summary", found):
        written |= record.get("update", {})
    ours = {name: value for name, value in written.items() if name.startswith(("test/", "cost/"))}
    expected = {f"cost/{key}": value for key, value in results["cost"].items()}
    for key in ("bleu", "signature", "chrf", "ter", "perplexity", "length_ratio", "truncated"):
        expected[f"test/{key}"] = results[key]
    for shift in ("shift_0", "shift_-1"):
        for key in ("aer", "precision", "recall"):
            expected[f"test/{key}_{shift}"] = results["aer"][shift][key]
    assert ours == {name: pytest.approx(value) for name, value in expected.items()}


def test_intervals_are_in_the_summary_where_they_are_known(tracked: tuple[dict[str, Any], list[Any], Path]) -> None:
    known = {"half_length": 31.5, "half_length_ci": [25.0, None], "retention": 0.5, "retention_ci": [0.25, 0.75]}
    summary = tracking.summary({**tracked[0], **known, "aer": None})
    assert {key: value for key, value in summary.items() if "half" in key or "retention" in key} == {
        "test/half_length": 31.5,
        "test/half_length_ci_low": 25.0,
        "test/retention": 0.5,
        "test/retention_ci_low": 0.25,
        "test/retention_ci_high": 0.75,
    }
    assert not [key for key in summary if "aer" in key]


def test_alignments_are_pictures_that_move_with_training(tracked: tuple[dict[str, Any], list[Any], Path]) -> None:
    from PIL import Image

    _, found, directory = tracked
    alignments = read_alignments(directory / "test" / "alignments.npz")
    rows = [row["item"] for row in of("history", found) if "alignment/update" in row["item"]]
    updates = [row["alignment/update"] for row in rows]
    assert updates == sorted(set(updates))
    assert (updates[0], updates[-1]) == (alignments.updates[0], alignments.updates[-1])
    assert len(updates) <= tracking.MAX_PICTURES
    (run_directory,) = offline_runs(directory)
    shown = tracking.shown_sentences(alignments.sentences)
    assert len(shown) == 3
    for row, epoch in ((rows[0], alignments.epochs[0]), (rows[-1], alignments.epochs[-1])):
        for length in shown:
            assert f"epoch {epoch:.3g}, update {row['alignment/update']}" in row[f"alignment/{length}.caption"]
            picture = Image.open(run_directory / "files" / row[f"alignment/{length}.path"])
            assert picture.size == (row[f"alignment/{length}.width"], row[f"alignment/{length}.height"])
    defined = {metric["name"]: metric.get("step_metric") for metric in of("metric", found) if "name" in metric}
    assert all(defined[f"alignment/{length}"] == "alignment/update" for length in shown)


def test_sentences_that_are_no_picture_are_left_out() -> None:
    def sentence(words: int) -> AlignedSentence:
        return AlignedSentence(words, ("w",) * words, ("w",), np.zeros((1, 2, words + 1), np.float16), (), ())

    def lengths(*words: int) -> dict[str, int]:
        return {name: found.id for name, found in tracking.shown_sentences([sentence(n) for n in words]).items()}

    assert lengths(60, 25, 3, 12, 5, 31) == {"short": 3, "medium": 12, "long": 25}
    assert lengths(7, 4) == {"short": 4, "long": 7}
    assert lengths(9) == {"short": 9}
    assert lengths(40) == {}


def test_an_attention_that_looks_nowhere_has_no_pictures_and_a_run_without_a_preset_its_points(
    tmp_path: Path, grammar_cache: str
) -> None:
    results = run(tmp_path, grammar_cache, "logger=wandb", "attention=none", "logger.chart=null", "seed=3")
    (written,) = offline_runs(tmp_path)
    found = records(written)
    assert results["attention_by_length"] is None
    defined = [metric.get("name", "") for metric in of("metric", found)]
    assert not [name for name in defined if name.startswith(("alignment", "attention"))]
    assert [row["arm"] for row in table(found, tmp_path, "length_curve_table")] == ["none", "none", None]
    assert "_wandb" not in configuration(found)  # where a chart would be


@pytest.mark.slow
def test_the_runs_of_a_sweep_are_wandb_runs_of_their_own(tmp_path: Path, grammar_cache: str) -> None:
    command = [sys.executable, str(PROJECT / "train.py"), "-m", "attention=none,dot", "hydra.sweep.dir=sweep"]
    tiny = [*TINY_DATA, *TINY_MODEL, *TINY_TRAINING, grammar_cache, "logger=wandb"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WANDB")}
    environment = clean | {"NETRC": "/nowhere/netrc", "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, *tiny], cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=500)
    runs = {}
    jobs = [path.parent for path in tmp_path.glob("sweep/*/status.json")]
    assert len(jobs) == 2
    for job in jobs:
        (written,) = offline_runs(job)
        found = records(written)
        (begun,), (end,) = of("run", found), of("exit", found)
        assert end.get("exit_code", 0) == 0
        results = read_results(job / "test" / "results.json")
        rows = [row["item"] for row in of("history", found) if "bleu_by_length/bleu" in row["item"]]
        assert [row["bleu_by_length/bleu"] for row in rows] == [b["bleu"] for b in results["by_length"] if b["n"]]
        runs[begun["run_id"]] = (begun["display_name"], begun["run_group"])
    assert sorted(runs.values()) == [("dot-seed1", "grammar-dot"), ("none-seed1", "grammar-none")]


def test_tensorboard_has_what_is_logged_in_training(tmp_path: Path, grammar_cache: str) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run(tmp_path, grammar_cache, "logger=tensorboard")
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    with (tmp_path / "metrics.csv").open(newline="") as file:
        rows = {int(row["step"]): row for row in csv.DictReader(file)}
    for name in ("train/loss", "validation/bleu"):
        logged = {event.step: event.value for event in events.Scalars(name)}
        assert logged == {step: pytest.approx(float(row[name]), rel=1e-5) for step, row in rows.items() if row[name]}
        assert logged


def test_without_tensorboard_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lightning.fabric.loggers import tensorboard

    for name in ("_TENSORBOARD_AVAILABLE", "_TENSORBOARDX_AVAILABLE"):
        monkeypatch.setattr(tensorboard, name, False)
    with pytest.raises(InputError, match=r'logger=tensorboard: .* `pip install -e "\.\[tensorboard\]"` first'):
        tensorboard_logger(str(tmp_path))


@pytest.mark.parametrize("update", [0, 2])
def test_a_failed_run_ends_as_failed_and_the_next_is_its_own(tmp_path: Path, grammar_cache: str, update: int) -> None:
    """One that fails in its first batch, before W&B has begun, too."""
    import wandb

    stop = f"+callbacks.fault={{_target_: support.running.Fault, update: {update}}}"
    with pytest.raises(RuntimeError, match="on purpose"):
        run(tmp_path / "failed", grammar_cache, "logger=wandb", stop)
    assert wandb.run is None
    run(tmp_path / "next", grammar_cache, "logger=wandb")
    assert wandb.run is None
    (failed,), (next_,) = offline_runs(tmp_path / "failed"), offline_runs(tmp_path / "next")
    assert [end["exit_code"] for end in of("exit", records(failed))] == [1]
    assert configuration(records(failed))["names"]["arm"] == "bahdanau"
    (begun, other) = (of("run", records(path))[0]["run_id"] for path in (failed, next_))
    assert begun != other


@pytest.mark.parametrize(("key", "mode"), [("x" * 40, "online"), (None, "offline")])
def test_a_configured_key_means_online(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None, mode: str
) -> None:
    if key:
        monkeypatch.setenv("WANDB_API_KEY", key)
    assert tracking.wandb_logger(str(tmp_path), "p")._wandb_init["mode"] == mode
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine api.wandb.ai login user password {'x' * 40}\n")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(netrc))
    assert tracking.wandb_logger(str(tmp_path), "p")._wandb_init["mode"] == "online"
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert tracking.wandb_logger(str(tmp_path), "p")._wandb_init["mode"] == "disabled"
    assert tracking.wandb_logger(str(tmp_path), "p", mode="offline")._wandb_init["mode"] == "offline"


def test_online_without_a_key_is_refused_before_anyone_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "no netrc"))
    with pytest.raises(InputError, match=r"logger\.mode=online: no W&B key is configured"):
        tracking.wandb_logger(str(tmp_path), "p", mode="online")


def test_an_unknown_mode_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"mode=on: expected one of auto, online, offline, disabled"):
        tracking.wandb_logger(str(tmp_path), "p", mode="on")
