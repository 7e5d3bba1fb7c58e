"""Text that several devices work on: a process for each takes the blocks by turns, and the results come in order."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

import torch

from lookback.common.errors import InputError

Block = TypeVar("Block")
Loaded = TypeVar("Loaded")
Result = TypeVar("Result")

_BLOCKS = 4
"""How many blocks of each device wait or are done before they are asked for. The rest of a text is not read yet."""


def check_devices(devices: int) -> None:
    """Checks the number of devices, one or more.

    Raises:
        InputError: if it is larger than the number of GPUs, if there are any.
    """
    found = torch.accelerator.device_count()
    if 0 < found < devices:
        raise InputError(f"devices={devices}: expected 1 to {found}, the GPUs of this machine")


def in_order(
    work: Callable[[Loaded, Block], Result],
    here: Loaded,
    load: Callable[[str], Loaded],
    blocks: Iterable[Block],
    devices: int,
) -> Iterator[tuple[Block, Result]]:
    """Each block with what ``work`` makes of it, in the order of the blocks.

    Args:
        work: is called with what was loaded, and a block. It and ``load`` are functions of a module, or partial.
        here: what was loaded in this process. One device needs no other.
        load: loads the same on a device. It is called once for each of several, with its name, in a process of its own.
        blocks: parts of a text.
        devices: how many: GPUs if there are any, else processes on the CPU that share its threads.

    Raises:
        InputError: if a process ends before its work; and what ``work`` raises.
    """
    if devices == 1:
        for block in blocks:
            yield block, work(here, block)
        return
    context = multiprocessing.get_context("spawn")  # a GPU cannot be used after a fork
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    with _safe_path():
        names = context.SimpleQueue()
    for i in range(devices):
        names.put(f"{accelerator.type}:{i}" if accelerator else "cpu")
    threads = max(1, torch.get_num_threads() // devices)
    pool = ProcessPoolExecutor(devices, context, _start, (load, names, threads))
    left = iter(blocks)
    waiting: deque[tuple[Block, Future[Result]]] = deque()
    try:
        while True:
            for block in islice(left, _BLOCKS * devices - len(waiting)):
                with _safe_path():  # this may start a process
                    waiting.append((block, pool.submit(_work, work, block)))
            if not waiting:
                return
            block, result = waiting.popleft()
            yield block, result.result()
    except BrokenProcessPool as error:
        raise InputError(f"devices={devices}: the process of one of them has ended before its work") from error
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Inside, a process that starts imports nothing from the current directory before it has the paths of this one."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


_loaded: Any = None
"""What this process works with."""


def _start(load: Callable[[str], Any], names: Any, threads: int) -> None:
    global _loaded
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C reaches the whole group; the process that asks ends the work
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    _loaded = load(names.get())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(work: Callable[[Any, Any], Any], block: Any) -> Any:
    return work(_loaded, block)
