"""Progress of long steps: a spinner in a terminal, printed lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

LINE_EVERY = 8.0
"""Seconds from one plain line to the next, so that a long step does not look like a program that hangs."""


@contextmanager
def step(title: str) -> Iterator[None]:
    """Show a step on standard error while the block runs. Inside it, ``datasets`` shows no progress bars of its own."""
    from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    from rich.console import Console

    console = Console(stderr=True)
    were_disabled = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        with console.status(f"{title} …") if console.is_terminal else _lines(title):
            yield
    finally:
        if not were_disabled:
            enable_progress_bars()


@contextmanager
def _lines(title: str) -> Iterator[None]:
    """Print a line now, and another every ``LINE_EVERY`` seconds while the block runs."""
    print(f"{title} …", file=sys.stderr, flush=True)
    start, ended = time.monotonic(), Event()

    def print_lines() -> None:
        while not ended.wait(LINE_EVERY):
            print(f"{title} … {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)

    lines = Thread(target=print_lines, daemon=True)
    try:
        lines.start()
        yield
    finally:
        ended.set()
        lines.join()
