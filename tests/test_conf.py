"""Every file of every config group composes, builds and trains: a choice is tested the day its file is added."""

from pathlib import Path

import pytest
from hydra.utils import instantiate
from omegaconf import DictConfig

from running import CONF, choices, compose, run

GROUPS = sorted(path.name for path in CONF.iterdir() if path.is_dir() and path.name != "hydra")
CHOICES = [(group, choice) for group in GROUPS for choice in choices(group)]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")


def needs(group: str, choice: str, text_files: list[str]) -> list[str]:
    """What a choice cannot do without."""
    return text_files if (group, choice) == ("data", "text") else []


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_has_choices(group: str) -> None:
    assert choices(group)


@pytest.mark.parametrize(("group", "choice"), CHOICES)
def test_a_choice_names_only_what_exists(
    group: str, choice: str, tmp_path: Path, text_files: list[str], grammar_cache: str
) -> None:
    without_data = [f"{group}={choice}"] if group == "data" else [grammar_cache, f"{group}={choice}"]
    config = compose(tmp_path, *without_data, *needs(group, choice, text_files), tiny_data=group != "data")
    assert not any(value == "???" for value in config.values())
    node = config.get(group)
    if isinstance(node, DictConfig) and "_target_" in node and group not in ("attention", "encoder", "decoder"):
        instantiate(node)


@pytest.mark.parametrize(("group", "choice"), CHOICES)
def test_a_choice_trains(group: str, choice: str, tmp_path: Path, text_files: list[str], grammar_cache: str) -> None:
    from lookback.evaluation import check_results, read_results

    data = needs(group, choice, text_files) or [grammar_cache]
    record = run(tmp_path, *data, f"{group}={choice}", tiny_data=choice != "text")
    check_results(record)
    assert read_results(tmp_path / "test" / "results.json") == record
    assert (tmp_path / "checkpoints" / "best.ckpt").is_file()
