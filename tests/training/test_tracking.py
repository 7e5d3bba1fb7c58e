"""Weights & Biases, offline: what a run writes there is read back from its own file."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lookback.errors import InputError
from lookback.evaluation import midpoint
from lookback.training import tracking
from running import run


def offline_runs(directory: Path) -> list[Path]:
    return sorted((directory / "wandb").glob("offline-run-*"))


def records(run_directory: Path) -> list[dict[str, Any]]:
    """What `wandb leet inspect` reads in a run's file."""
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(run_directory)]
    output = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def of(kind: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record[kind] for record in found if record["type"] == kind]


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
    assert begun["run_group"] == "grammar"
    assert begun["tags"] == ["bahdanau", "grammar"]


def test_a_finished_run_has_exit_code_0(tracked: tuple[Any, list[Any], Path]) -> None:
    (end,) = of("exit", tracked[1])
    assert end.get("exit_code", 0) == 0


def test_the_resolved_config_is_its_hyperparameters(tracked: tuple[Any, list[Any], Path]) -> None:
    config: dict[str, Any] = {}
    for record in of("config", tracked[1]):
        config |= record["update"]
    assert config["seed"] == 7
    assert config["names"] == {"attention": "bahdanau", "data": "grammar"}
    assert config["attention"] == {"_target_": "lookback.nn.AdditiveAttention", "attention_size": 12}


def test_metrics_are_logged_by_update(tracked: tuple[Any, list[Any], Path]) -> None:
    history = [record["item"] for record in of("history", tracked[1])]
    validated = [row for row in history if "validation/bleu" in row]
    assert [row["trainer/global_step"] for row in validated] == [2, 5]
    assert all({"validation/perplexity", "validation/loss"} <= row.keys() for row in validated)
    assert sum("train/loss" in row for row in history) == 6


def test_bleu_by_length_has_its_own_axis(tracked: tuple[Any, list[Any], Path]) -> None:
    results, found, _ = tracked
    defined = {metric["name"]: metric for metric in of("metric", found) if "name" in metric}
    for column in ("bleu", "bleu_no_bp", "length_ratio", "n"):
        metric = defined[f"bleu_by_length/{column}"]
        assert metric["step_metric"] == "bleu_by_length/length"
        assert not metric["options"].get("step_sync")
    points = [row["item"] for row in of("history", found) if "bleu_by_length/length" in row["item"]]
    buckets = [bucket for bucket in results["by_length"] if bucket["n"]]
    assert len(points) == len(buckets) == 2
    for point, bucket in zip(points, buckets, strict=True):
        assert point["bleu_by_length/length"] == midpoint(bucket)
        for column in ("bleu", "bleu_no_bp", "length_ratio", "n"):
            assert point[f"bleu_by_length/{column}"] == pytest.approx(bucket[column])


def test_the_scores_are_its_summary(tracked: tuple[Any, list[Any], Path]) -> None:
    results, found, _ = tracked
    summary: dict[str, Any] = {}
    for record in of("summary", found):
        summary |= record.get("update", {})
    assert summary["test/bleu"] == pytest.approx(results["bleu"])
    assert summary["test/perplexity"] == pytest.approx(results["perplexity"])
    assert summary["cost/updates"] == results["cost"]["updates"]


def test_a_failed_run_ends_as_failed_and_the_next_is_its_own(tmp_path: Path, grammar_cache: str) -> None:
    import wandb

    stop = "+callbacks.fault={_target_: running.Fault, update: 2}"
    with pytest.raises(RuntimeError, match="on purpose"):
        run(tmp_path / "failed", grammar_cache, "logger=wandb", stop)
    assert wandb.run is None
    run(tmp_path / "next", grammar_cache, "logger=wandb")
    assert wandb.run is None
    (failed,), (next_,) = offline_runs(tmp_path / "failed"), offline_runs(tmp_path / "next")
    assert [end["exit_code"] for end in of("exit", records(failed))] == [1]
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
    with pytest.raises(ValueError, match=r"mode='on': expected one of auto, online, offline, disabled"):
        tracking.wandb_logger(str(tmp_path), "p", mode="on")
