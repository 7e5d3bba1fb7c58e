"""One system in one process: it answers one question a line, with what the work took.

    python worker.py OPTIONS      (OPTIONS: those of `cases.Options`, in JSON; side_by_side.py starts it)

Runs in the system's own environment. The first line out says that the model is built. Each line in is JSON, ``batch``,
``source``, ``target`` (lengths), ``beam`` (of a search) and ``fresh`` (the first of a kind); each line out holds

    wall, cpu: seconds; cpu is user and system time of the process.
    peak_mib: the most memory since the last fresh question, over that of the built model after one tiny call.
    loss: of a training step, nats a token; outputs: of a search, token ids; operations: of the limit.
    parameters: how many numbers the model learns; 0 of the limit.
"""

import ctypes
import json
import os
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Protocol

import torch
from cases import BOS, EOS, FIRST_WORD, SIZES, Options
from torch import Tensor

SYSTEMS = {
    "lookback": ("lookback_model", "Lookback"),
    "joeynmt": ("joeynmt_model", "JoeyNMT"),
    "opennmt": ("opennmt_model", "OpenNMT"),
    "limit": ("products", "limit"),
}


class System(Protocol):
    """What an adapter gives, from its options; source (batch, source), target (batch, target + 1)."""

    def train(self, source: Tensor, target: Tensor) -> float:
        """One step; nats a target token."""

    def search(self, source: Tensor, beam_size: int, steps: int) -> list[list[int]]:
        """``steps`` words a sentence; a beam of 1 is greedy search."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a system prints is no answer
    options = Options(**json.loads(sys.argv[1]))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, options.cores)
    torch.set_num_threads(len(options.cores))
    module, name = SYSTEMS[options.system]
    torch.manual_seed(0)
    system = getattr(import_module(module), name)(options)
    _call(system, options, {"batch": 2, "source": 2, "target": 2, "beam": 1})
    parameters = sum(values.numel() for values in system.model.parameters()) if hasattr(system, "model") else 0
    memory = Memory(options.device)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        if question["fresh"]:
            memory.restart()
        answer = _call(system, options, question)
        print(json.dumps({**answer, "peak_mib": memory.peak(), "parameters": parameters}), file=answers, flush=True)


def _call(system: System, options: Options, question: dict) -> dict:
    source, target = _words(options, question)
    _wait_for(options.device)
    start, cpu = time.perf_counter(), time.process_time()
    if options.task == "train":
        result: dict[str, object] = {"loss": system.train(source, target)}
    else:
        result = {"outputs": system.search(source, question["beam"], question["target"])}
    _wait_for(options.device)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {**result, "wall": wall, "cpu": cpu, "operations": getattr(system, "operations", 0)}


def _words(options: Options, question: dict) -> tuple[Tensor, Tensor]:
    """Random sentences without padding: source (batch, source) and ``<s> … </s>`` with ``target`` words to predict."""
    vocabulary = SIZES[options.sizes].vocabulary
    generator = torch.Generator().manual_seed(1)
    batch = question["batch"]
    source = torch.randint(FIRST_WORD, vocabulary, (batch, question["source"]), generator=generator)
    target = torch.randint(FIRST_WORD, vocabulary, (batch, question["target"] + 1), generator=generator)
    target[:, 0], target[:, -1] = BOS, EOS
    return source.to(options.device), target.to(options.device)


def _wait_for(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


class Memory:
    """Resident memory of this process (on Linux), or what torch has allocated on the GPU, over what it was at first."""

    def __init__(self, device: str) -> None:
        self.on_gpu = device == "cuda"
        self.restart()
        self.baseline = torch.cuda.memory_allocated() if self.on_gpu else _status("VmRSS")

    def restart(self) -> None:
        if self.on_gpu:
            torch.cuda.reset_peak_memory_stats()
            return
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back, and is no part of the next peak
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets the peak resident set size

    def peak(self) -> float | None:
        """MiB; None where the system does not tell."""
        most = torch.cuda.max_memory_allocated() if self.on_gpu else _status("VmHWM")
        return None if most is None or self.baseline is None else (most - self.baseline) / 2**20


def _status(name: str) -> int | None:
    """Bytes, as Linux tells them."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


if __name__ == "__main__":
    main()
