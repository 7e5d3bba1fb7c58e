"""How long a command takes to start: to its first batch, to the translation of a line, to the end of --help.

    python benchmarks/start.py                    this version, five rounds
    python benchmarks/start.py --before FOLDER    beside another version of the project, a working copy of it

Each case is a process of its own, and the versions take turns. The seconds are those of the whole process, of the
processor and of the clock: medians of the rounds. A training ends when its first batch has given its gradients; with
an empty cache it unpacks and prepares the built-in corpus first. `import torch` alone is the machine's own limit for
all but --help; a command is a little faster there, as Python looks for no garbage meanwhile. All have one thread.
`load` is the machine's: others who compute on it make both clocks slower.
"""

import argparse
import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from machine import RESULTS, keep, show

ROOT = Path(__file__).parents[1]
TORCH = "import torch"
TRAIN = "first batch"
UNPREPARED = "first batch, empty cache"
TRANSLATE = "one line translated"
HELP = "train.py --help"
LINE = b"the man sees the dog .\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the working copy of another version")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of start.csv")
    parser.add_argument("overrides", nargs="*", default=["attention=bahdanau"], help="of train.py")
    arguments = parser.parse_args()
    versions = {"now": ROOT} if arguments.before is None else {"before": arguments.before.resolve(), "now": ROOT}
    cases = [(TORCH, "")] + [(case, name) for case in (UNPREPARED, TRAIN, TRANSLATE, HELP) for name in versions]
    measured: dict[tuple[str, str], list[tuple[float, float]]] = {case: [] for case in cases}
    load = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        trained = ["experiment=smoke", "logger=csv", f"hydra.run.dir={folder / 'run'}"]
        _seconds(ROOT, ["train.py", *arguments.overrides, *trained], folder / "cache")  # prepares the corpus
        for root in versions.values():
            compileall.compile_dir(root / "src", quiet=1)
            if root != ROOT:  # it may prepare another way
                _seconds(root, _command(TRAIN, folder, arguments.overrides), folder / "cache")
        for turn in range(1, arguments.rounds + 1):
            for case, version in cases:
                root = versions.get(version, ROOT)
                cache = Path(tempfile.mkdtemp(dir=folder)) if case == UNPREPARED else folder / "cache"
                load.append(os.getloadavg()[0])
                measured[case, version].append(_seconds(root, _command(case, folder, arguments.overrides), cache))
                cpu, wall = measured[case, version][-1]
                print(f"round {turn}: {case}, {version}: {cpu:.2f} s, clock {wall:.2f} s", file=sys.stderr, flush=True)
    rows = [
        _row(case, version, found) | {"load": round(statistics.median(load), 1)}
        for (case, version), found in measured.items()
    ]
    show(rows)
    keep("start", rows, folder=arguments.results)


def _command(case: str, folder: Path, overrides: Sequence[str]) -> list[str]:
    """What Python is given for a case."""
    if case == TORCH:
        return ["-c", "import torch"]
    if case == HELP:
        return ["train.py", "--help"]
    if case == TRANSLATE:
        return ["translate.py", f"run={folder / 'run'}"]
    end = "+callbacks.first._target_=first_batch.FirstBatch"
    return ["train.py", *overrides, end, f"hydra.run.dir={tempfile.mkdtemp(dir=folder)}"]


def _seconds(root: Path, arguments: Sequence[str], cache: Path) -> tuple[float, float]:
    """The seconds of a process: of the processor, and of the clock."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root / "src"), str(ROOT / "benchmarks")]),
        "HF_DATASETS_CACHE": str(cache),
        "OMP_NUM_THREADS": "1",
        "WANDB_MODE": "offline",
    }
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=root, env=environment, stdin=subprocess.PIPE, stdout=said, stderr=said
        )
        assert process.stdin is not None
        process.stdin.write(LINE)
        process.stdin.close()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(arguments)}: exit status {process.returncode}\n{said.read().decode()[-3000:]}")
    return used.ru_utime + used.ru_stime, wall


def _row(case: str, version: str, found: Sequence[tuple[float, float]]) -> dict[str, object]:
    cpus, walls = zip(*found, strict=True)
    return {
        "case": case,
        "version": version,
        "cpu_seconds": round(statistics.median(cpus), 2),
        "cpu_least": round(min(cpus), 2),
        "cpu_most": round(max(cpus), 2),
        "clock_seconds": round(statistics.median(walls), 2),
        "clock_least": round(min(walls), 2),
        "rounds": len(found),
    }


if __name__ == "__main__":
    main()
