"""Sweeps that are killed, typed again, and compared with a sweep that was never stopped.

    python benchmarks/killed_sweeps.py                            every launcher, and a search by Optuna
    python benchmarks/killed_sweeps.py --ways joblib --jobs 5 experiment=smoke

All processes of a sweep are killed with SIGKILL as soon as one job has ended and another has a checkpoint. The same
line then ends the sweep. `kept`: jobs that had ended, whose files are the same afterwards, to the byte and the time.
`same_numbers`: BLEU, chrF and perplexity of all jobs are those of the sweep that was never stopped, to the last digit.
What was printed, by both parts of each sweep, is written to docs/killed_sweeps.txt.
"""

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from machine import RESULTS, keep, show

ROOT = Path(__file__).parents[1]
WAYS = {
    "basic": [],
    "joblib": ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"],
    "submitit_local": ["hydra/launcher=submitit_local"],
    "ray": ["hydra/launcher=ray", "+hydra.launcher.ray.init.num_cpus=2"],
    "optuna": ["hparams_search=optuna"],
}
SMALL = ["experiment=smoke", "data.train_pairs=600", "data.test_pairs=40", "logger=csv"]
LONGEST = 900
"""Seconds that a part of a sweep may take."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of killed_sweeps.csv")
    parser.add_argument("--log", type=Path, default=ROOT / "docs" / "killed_sweeps.txt")
    parser.add_argument("settings", nargs="*", default=SMALL, help="of each job")
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    log: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for way in arguments.ways:
            rows.append(_killed_and_typed_again(Path(scratch, way), way, arguments.jobs, arguments.settings, log))
            print(rows[-1], file=sys.stderr, flush=True)
    show(rows)
    keep("killed_sweeps", rows, by=["way"], folder=arguments.results)
    arguments.log.write_text("\n".join(log), encoding="utf-8")
    sys.exit(not all(row["same_numbers"] and row["kept"] == row["ended"] for row in rows))


def _killed_and_typed_again(
    folder: Path, way: str, jobs: int, settings: Sequence[str], log: list[str]
) -> dict[str, object]:
    """Two sweeps of the same jobs, of which the first is killed once. What is printed is added to the log."""
    folder.mkdir()
    trials = [f"hydra.sweeper.n_trials={jobs}"]
    grid = trials if way == "optuna" else [f"seed={','.join(str(seed) for seed in range(1, jobs + 1))}"]
    line = ["train.py", "-m", *settings, *grid, *WAYS[way]]

    killed = folder / "killed"
    command = [*line, "hydra.sweep.dir=killed"]
    before = _part(command, folder, log, killed)
    ended = {job for job, status in before.items() if status == "finished"}
    files = {path: path.stat().st_mtime_ns for job in ended for path in (killed / job).rglob("*") if path.is_file()}
    contents = {path: path.read_bytes() for path in files}
    _part(command, folder, log)
    _part([*line, "hydra.sweep.dir=whole"], folder, None)
    changed = {
        path.relative_to(killed).parts[0]
        for path, written in files.items()
        if not path.is_file() or path.stat().st_mtime_ns != written or path.read_bytes() != contents[path]
    }
    statuses = _statuses(killed)
    numbers = _numbers(killed)
    return {
        "way": way,
        "jobs": jobs,
        "ended": len(ended),
        "interrupted": sum(status == "running" for status in before.values()),
        "missing": jobs - len(before),
        "kept": len(ended - changed),
        "finished": sum(status == "finished" for status in statuses.values()),
        "same_numbers": len(numbers) == jobs and numbers == _numbers(folder / "whole"),
    }


def _part(command: Sequence[str], folder: Path, log: list[str] | None, until: Path | None = None) -> dict[str, str]:
    """Runs a sweep to its end, or until the jobs below ``until`` have come far enough. Exits if that does not happen.

    Returns:
        the status of each job at the moment of the kill; nothing without a kill.
    """
    printed = folder / "printed.txt"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
    with printed.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / command[0]), *command[1:]],
            cwd=folder,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        statuses: dict[str, str] = {}
        start = time.monotonic()
        while process.poll() is None:
            if time.monotonic() - start > LONGEST:
                _kill(process)
                sys.exit(f"{' '.join(command)}: took longer than {LONGEST} s\n{printed.read_text()[-3000:]}")
            if until is not None and _far_enough(until):
                statuses = _statuses(until)
                _kill(process)
            time.sleep(0.05)
    said = printed.read_text(errors="replace")
    if until is not None and not statuses:
        sys.exit(f"{' '.join(command)}: ended before it was killed\n{said[-3000:]}")
    if until is None and process.returncode:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}\n{said[-3000:]}")
    if log is not None:
        log += [f"$ python {' '.join(command)}", _plain(said, folder), *(["Killed", ""] if statuses else [""])]
    return statuses


def _far_enough(sweep: Path) -> bool:
    """Whether a job has ended and another has something to go on from."""
    statuses = _statuses(sweep)
    going_on = [job for job, status in statuses.items() if status == "running"]
    return "finished" in statuses.values() and any((sweep / job / "checkpoints/last.ckpt").exists() for job in going_on)


def _statuses(sweep: Path) -> dict[str, str]:
    """The status of each job of a sweep, by its directory."""
    return {path.parent.name: json.loads(path.read_text())["status"] for path in sweep.glob("*/status.json")}


def _numbers(sweep: Path) -> dict[str, tuple[object, ...]]:
    from lookback.runs.results import read_results

    records = {path.parents[1].name: read_results(path) for path in sweep.glob("*/test/results.json")}
    return {name: (record["bleu"], record["chrf"], record["perplexity"]) for name, record in records.items()}


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kills a process with all that it has started, as a machine does that goes down."""
    own = psutil.Process(process.pid)
    others = own.children(recursive=True)
    for each in (own, *others):
        with suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(others, timeout=10)
    process.wait()


def _plain(text: str, folder: Path) -> str:
    """What was printed, without colours, what progress bars have overwritten, and this machine's folders and name."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    for said, plain in {str(folder): ".", str(ROOT): "lookback", str(Path.home()): "~"}.items():
        text = text.replace(said, plain)
    text = re.sub(rf"\b{re.escape(socket.gethostname())}\b", "HOST", text)
    return "\n".join(line.rpartition("\r")[2].rstrip() for line in text.splitlines())


if __name__ == "__main__":
    main()
