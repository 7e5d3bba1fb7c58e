"""How fast a file is translated: translate.py beside JoeyNMT's and OpenNMT-py's own commands, as their users type them.

    python benchmarks/translate_file.py test.en --run MODELS/lookback --joeynmt PYTHON MODELS/joeynmt \
        --opennmt PYTHON MODELS/opennmt/model_step_300.pt
    python benchmarks/translate_file.py test.en --run MODELS/lookback --before FOLDER    beside another version of ours

peers/translate_models.py trains the three models, of one size. The commands, each with its own defaults but for the
search (greedy, and a beam of 5), on one thread of one core:

    python translate.py run=RUN input=FILE search=greedy
    python -m joeynmt translate MODELS/greedy.yaml < FILE
    onmt_translate -model MODEL -src FILE -beam_size 1 -random_sampling_topk 1

Each measurement is a process of its own, and the systems take turns. The seconds are those of the whole process, of
the processor and of the clock: medians of the rounds. `start` is the same command on the file's first line, in the same
round; it is taken off where a rate is without the start. What it takes off is a little more than the start: that
line's translation, some hundredths of a second, for all systems alike.

The models are not the same, so their translations differ, in length too: `words` is a translation's mean, and beside
the sentences a second there are the written words a second. Rates and ratios are those of the processor's seconds:
others compute on this machine, and a thread that waits for a core is no slower for it. `against_peers` is how many
times as fast as the fastest peer.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from machine import RESULTS, keep, show
from side_by_side import cores

ROOT = Path(__file__).parents[1]
BEAMS = {"greedy": 1, "beam": 5}
PEERS = ("joeynmt", "opennmt")


@dataclass(frozen=True)
class Taken:
    """Of one process: its seconds, and the lines that it wrote."""

    cpu: float
    clock: float
    lines: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a text file")
    parser.add_argument("--run", type=Path, required=True, help="a run directory of ours")
    parser.add_argument("--joeynmt", nargs=2, metavar=("PYTHON", "MODELS"), help="its model directory")
    parser.add_argument("--opennmt", nargs=2, metavar=("PYTHON", "MODEL"), help="its checkpoint")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="the working copy of another version of ours")
    parser.add_argument("--searches", choices=BEAMS, nargs="+", default=list(BEAMS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV (default: %(default)s)")
    arguments = parser.parse_args()
    systems = ["lookback", *(name for name in (*PEERS, "before") if getattr(arguments, name))]
    found: dict[tuple[str, str], list[tuple[Taken, Taken]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        line = Path(folder) / "line"
        with arguments.source.open("rb") as source:
            line.write_bytes(source.readline())
        for system in systems:  # what a first start compiles and caches is no part of the others
            for search in arguments.searches:
                _taken(arguments, system, search, line, Path(folder))
        for turn in range(1, arguments.rounds + 1):
            for search in arguments.searches:
                for system in systems:
                    whole, start = (
                        _taken(arguments, system, search, of, Path(folder)) for of in (arguments.source, line)
                    )
                    found.setdefault((search, system), []).append((whole, start))
                    said = f"{whole.cpu:.1f} s, clock {whole.clock:.1f} s, start {start.cpu:.1f} s"
                    print(f"round {turn}: {search}, {system}: {said}", file=sys.stderr, flush=True)
    rows = [row for search in arguments.searches for row in _rows(search, {s: found[search, s] for s in systems})]
    show([_brief(row) for row in rows])
    keep("translate_file", rows, by=("search",), folder=arguments.results)


def _taken(arguments: argparse.Namespace, system: str, search: str, source: Path, folder: Path) -> Taken:
    """A system's command on a file."""
    command, root, written = _command(arguments, system, search, source, folder / "written")
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "WANDB_MODE": "offline",
        # lets the peers read their own checkpoints with a newer torch
        "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",
    }
    if root is not None:
        environment["PYTHONPATH"] = str(root / "src")
    (core,) = cores(1)
    output = folder / "output"
    with source.open("rb") as text, output.open("wb") as out, (folder / "said").open("w+b") as said:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=root or folder,
            env=environment,
            stdin=text,
            stdout=out,
            stderr=said,
            preexec_fn=lambda: _pin(core),
        )
        _, status, used = os.wait4(process.pid, 0)
        clock = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}: exit status {process.returncode}\n{said.read().decode()[-3000:]}")
    lines = (written or output).read_text(encoding="utf-8").splitlines()
    if len(lines) != sum(1 for _ in source.open("rb")):
        raise SystemExit(f"{' '.join(command)}: {len(lines)} translations of {source}")
    return Taken(used.ru_utime + used.ru_stime, clock, lines)


def _pin(core: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [core])


def _command(
    arguments: argparse.Namespace, system: str, search: str, source: Path, written: Path
) -> tuple[list[str], Path | None, Path | None]:
    """A system's command; the project's folder if it is ours; and the file that it writes, or None: standard output."""
    beam = BEAMS[search]
    source = source.resolve()
    if system == "joeynmt":
        python, models = arguments.joeynmt
        config = Path(models).resolve() / {"greedy": "greedy.yaml", "beam": "beam5.yaml"}[search]
        return [_absolute(python), "-m", "joeynmt", "translate", str(config)], None, None
    if system == "opennmt":
        python, model = arguments.opennmt
        program = str(Path(_absolute(python)).parent / "onmt_translate")
        how = ["-beam_size", str(beam), *(["-random_sampling_topk", "1"] if beam == 1 else [])]
        files = ["-src", str(source), "-output", str(written)]
        return [program, "-model", str(Path(model).resolve()), *files, *how], None, written
    root = arguments.before.resolve() if system == "before" else ROOT
    settings = [f"run={arguments.run.resolve()}", f"input={source}", f"search={search}"]
    return [sys.executable, "translate.py", *settings], root, None


def _absolute(path: str) -> str:
    """Not resolved: an environment's interpreter is a link."""
    return os.path.abspath(path)


def _rows(search: str, found: Mapping[str, Sequence[tuple[Taken, Taken]]]) -> list[dict[str, object]]:
    """A row a system."""
    rows = {name: _row(search, name, taken) for name, taken in found.items()}
    for rate in ("sentences", "words"):
        for part in ("", "_without_start"):
            of = {name: float(str(row[f"{rate}_per_second{part}"])) for name, row in rows.items()}
            fastest = max((of[peer] for peer in PEERS if peer in of), default=None)
            for name, row in rows.items():
                row[f"{rate}_against_peers{part}"] = "" if fastest is None else round(of[name] / fastest, 2)
    if "before" in found:
        same = [a == b for a, b in zip(found["lookback"][-1][0].lines, found["before"][-1][0].lines, strict=True)]
    for name, row in rows.items():
        row["same_as_before"] = round(sum(same) / len(same), 4) if "before" in found and name == "lookback" else ""
    return list(rows.values())


def _row(search: str, name: str, found: Sequence[tuple[Taken, Taken]]) -> dict[str, object]:
    cpus = [whole.cpu for whole, _ in found]
    cpu, start = statistics.median(cpus), statistics.median(start.cpu for _, start in found)
    without = statistics.median(whole.cpu - start.cpu for whole, start in found)
    lines = found[-1][0].lines
    words = sum(len(line.split()) for line in lines)
    return {
        "search": search,
        "system": name,
        "sentences": len(lines),
        "words": round(words / len(lines), 1),
        "rounds": len(found),
        "cpu_seconds": round(cpu, 2),
        "cpu_least": round(min(cpus), 2),
        "cpu_most": round(max(cpus), 2),
        "clock_seconds": round(statistics.median(whole.clock for whole, _ in found), 2),
        "start_cpu_seconds": round(start, 2),
        "start_clock_seconds": round(statistics.median(start.clock for _, start in found), 2),
        "sentences_per_second": round(len(lines) / cpu, 1),
        "sentences_per_second_without_start": round(len(lines) / without, 1),
        "words_per_second": round(words / cpu),
        "words_per_second_without_start": round(words / without),
    }


def _brief(row: Mapping[str, object]) -> dict[str, object]:
    """A row as the printed table has it."""
    return {
        "search": row["search"],
        "system": row["system"],
        "words": row["words"],
        "CPU s": row["cpu_seconds"],
        "clock": row["clock_seconds"],
        "start": row["start_cpu_seconds"],
        "sentences/s": row["sentences_per_second"],
        "× peers": row["sentences_against_peers"],
        "no start": row["sentences_against_peers_without_start"],
        "words/s": row["words_per_second"],
        "× peers ": row["words_against_peers"],
        "no start ": row["words_against_peers_without_start"],
    }


if __name__ == "__main__":
    main()
