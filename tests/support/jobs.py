"""A job that stands for a training in tests of sweeps: it takes a moment, and leaves what a sweep looks for."""

import os
import sys
import time
from pathlib import Path

import pytest
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from lookback.common.files import write_json
from lookback.runs.metrics import write_metrics


def train_for_show(config: DictConfig) -> None:
    """Perplexity is 100 · learning_rate, seed=13 fails, seed=14 is stopped by Ctrl+C; a line a start in `starts`."""
    directory = Path(HydraConfig.get().runtime.output_dir)
    with (directory / "starts").open("a") as file:
        file.write(f"{os.getpid()} {os.environ.get('OMP_NUM_THREADS')}\n")
    if config.seed == 14:
        write_json(directory / "status.json", {"status": "interrupted", "reason": None})
        raise KeyboardInterrupt
    failed = config.seed == 13
    time.sleep(0.2)
    write_metrics(directory / "metrics.csv", {1: {"epoch": 0, "validation/perplexity": 100 * config.learning_rate}})
    status = {"status": "failed", "reason": "unlucky"} if failed else {"status": "finished", "reason": None}
    write_json(directory / "status.json", status)


def show(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """`python train.py ARGUMENTS` in this process, with jobs for show and no report; its exit status."""
    from lookback.commands import launch

    entry = ("support.jobs", "train_for_show", "")
    monkeypatch.setattr(launch, "COMMANDS", {**launch.COMMANDS, "train": entry})
    monkeypatch.setattr("lookback.report.compare", lambda runs, directory: None)
    quiet = ["hydra/hydra_logging=none", "hydra/job_logging=none"]
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments, *quiet])
    try:
        launch.launch("train")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return 0


def starts(sweep: Path) -> dict[str, int]:
    """How often each job of a sweep was started, by its directory's name."""
    return {path.parent.name: len(path.read_text().splitlines()) for path in sorted(sweep.glob("*/starts"))}
