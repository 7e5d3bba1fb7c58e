"""The current directory is the user's own unless it is a run's: a stranger's may hold configs and modules."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl

from lookback.commands.launch import LocalConfigs
from lookback.common.own_directory import leave_out_strangers, own_directory
from support.paths import PROJECT


@pytest.mark.parametrize(
    "file",
    ["checkpoints/best.ckpt", "checkpoints/last.ckpt", ".hydra/config.yaml", ".hydra/overrides.yaml", "multirun.yaml"],
)
def test_a_run_or_a_sweep_has_no_configs_of_the_user(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for here in (tmp_path, tmp_path / "inside" / "it"):
        (here / "conf").mkdir(parents=True)
        monkeypatch.chdir(here)
        assert own_directory() == here
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    for here in (tmp_path, tmp_path / "inside" / "it"):
        monkeypatch.chdir(here)
        assert own_directory() is None
        search_path = ConfigSearchPathImpl()
        LocalConfigs().manipulate_search_path(search_path)
        assert search_path.config_search_path == []
    (tmp_path / file).unlink()
    if file.startswith(".hydra"):
        (tmp_path / ".hydra").rmdir()
    LocalConfigs().manipulate_search_path(search_path)
    assert len(search_path.config_search_path) == 1


def test_in_a_run_no_process_looks_for_modules_in_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    paths = [str(tmp_path), "", ".", str(tmp_path / "own")]
    monkeypatch.setattr(sys, "path", list(paths))
    leave_out_strangers()
    assert (sys.path, os.environ.get("PYTHONSAFEPATH")) == (paths, None)
    (tmp_path / "multirun.yaml").touch()
    monkeypatch.setenv("PYTHONSAFEPATH", "")  # so that what is set is undone after the test
    leave_out_strangers()
    assert (sys.path, os.environ.get("PYTHONSAFEPATH")) == ([str(tmp_path / "own")], "1")


def test_the_module_of_the_program_starts_in_a_strangers_run(tmp_path: Path) -> None:
    """``python -m`` puts the current directory before all others."""
    (tmp_path / "multirun.yaml").touch()
    (tmp_path / "hydra.py").write_text("open('ran', 'w')\n")
    (tmp_path / "json.py").write_text("open('ran', 'w')\n")
    paths = os.pathsep.join([str(PROJECT / "src"), *filter(None, sys.path)])
    command = [sys.executable, "-m", "lookback", "--version"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "ran").exists()
