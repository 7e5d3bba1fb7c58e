"""Several systems at the same work: each in a process of its own, called in turn, and the table that compares them."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from machine import RESULTS

PEERS = Path(__file__).parent / "peers"
sys.path.append(str(PEERS))

from cases import OFFERED, SIZES, Options  # noqa: E402 (the workers' own folder)

LIMIT = "limit"
Answer = dict[str, Any]
"""What worker.py says of one call."""


def parser(about: str | None) -> argparse.ArgumentParser:
    """The options that train.py and decode.py share."""
    options = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sizes", choices=SIZES, default="small")
    options.add_argument("--precision", choices=("float32", "medium", "bfloat16"), default="float32")
    options.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--joeynmt", metavar="PYTHON")
    options.add_argument("--opennmt", metavar="PYTHON")
    options.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV (default: %(default)s)")
    return options


def cores(threads: int) -> list[int]:
    """The last cores that this process may use: the first often serve interrupts."""
    free = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    if threads > len(free):
        sys.exit(f"--threads {threads}: expected at most {len(free)}, the cores that this process may use")
    return free[-threads:]


def interpreters(arguments: argparse.Namespace, attention: str) -> dict[str, str]:
    """The Python of each peer that is at hand and has this attention."""
    given = {peer: getattr(arguments, peer) for peer in OFFERED}
    return {peer: python for peer, python in given.items() if python and attention in OFFERED[peer]}


class Worker:
    """A process that holds one system."""

    def __init__(self, name: str, python: str, options: Options) -> None:
        self.name = name
        command = [python, str(PEERS / "worker.py"), json.dumps(asdict(options))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait(self) -> None:
        """Until the system is built."""
        self._answer()

    def ask(self, question: Mapping[str, object]) -> Answer:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()

    def _answer(self) -> Answer:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name}: its process ended with status {self.process.wait()}; what it says stands above")
        return json.loads(line)


def started(wanted: Iterable[tuple[str, str, Options]], stack: ExitStack) -> list[Worker]:
    """A worker for each name, interpreter and options; they end with the stack."""
    workers = [stack.enter_context(Worker(name, python, options)) for name, python, options in wanted]
    for worker in workers:
        worker.wait()
    return workers


def in_turn(workers: Sequence[Worker], question: Mapping[str, object], rounds: int) -> list[list[Answer]]:
    """A B C A B C …: each worker's answers, after one of each that does not count."""
    for worker in workers:
        worker.ask({**question, "fresh": True})
    answers: list[list[Answer]] = [[] for _ in workers]
    for _ in range(rounds):
        for worker, found in zip(workers, answers, strict=True):
            found.append(worker.ask({**question, "fresh": False}))
    return answers


def compared(
    case: Mapping[str, object], answers: Mapping[str, list[Answer]], clock: str, tokens: int
) -> list[dict[str, object]]:
    """A row a system.

    clock: ``cpu`` or ``wall``, the time that counts. tokens: of one call.

    ms and its quartiles; target tokens a second; against_peers: how many times as fast as the fastest peer;
    of_limit: the limit's time as a share of this; peak_mib over the built model, and memory_against_peers: as a share
    of the leanest peer's; parameters. Empty where there is no peer or no limit to compare with.
    """
    times = {name: [1000 * answer[clock] for answer in found] for name, found in answers.items()}
    medians = {name: statistics.median(of) for name, of in times.items()}
    peaks = {name: found[-1]["peak_mib"] for name, found in answers.items()}
    fastest = min((medians[peer] for peer in OFFERED if peer in medians), default=None)
    leanest = min((peaks[peer] for peer in OFFERED if peaks.get(peer) is not None), default=None)
    limit = medians.get(LIMIT)
    rows: list[dict[str, object]] = []
    for name, ms in medians.items():
        lower, upper = _quartiles(times[name])
        operations = answers[name][-1]["operations"]
        peak = peaks[name] if name != LIMIT else None
        rows.append(
            {
                **case,
                "system": name,
                "clock": clock,
                "rounds": len(times[name]),
                "ms": _rounded(ms),
                "ms_lower": _rounded(lower),
                "ms_upper": _rounded(upper),
                "tokens_per_second": round(1000 * tokens / ms),
                "against_peers": "" if fastest is None or name == LIMIT else round(fastest / ms, 2),
                "of_limit": "" if limit is None else round(limit / ms, 2),
                "gflop_per_second": round(operations / ms / 1e6) if operations else "",
                "peak_mib": "" if peak is None else round(peak),
                "memory_against_peers": "" if peak is None or not leanest else round(peak / leanest, 2),
                "parameters": answers[name][-1]["parameters"] or "",
            }
        )
    return rows


def brief(row: Mapping[str, object], case: Sequence[str]) -> dict[str, object]:
    """A row as the printed table has it."""
    return {
        **{name: row[name] for name in case},
        "system": row["system"],
        "ms": f"{row['ms']:g}",
        "quartiles": f"{row['ms_lower']:g}–{row['ms_upper']:g}",
        "tokens/s": row["tokens_per_second"],
        "× peers": row["against_peers"],
        "of limit": row["of_limit"],
        "MiB": row["peak_mib"],
        "of leanest": row["memory_against_peers"],
        "parameters": row["parameters"],
    }


def _quartiles(values: list[float]) -> tuple[float, float]:
    if len(values) < 2:
        return values[0], values[0]
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, upper


def _rounded(ms: float) -> float:
    """Four digits are more than any of these measurements has."""
    return float(f"{ms:.4g}")
