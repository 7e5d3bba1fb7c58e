"""Saying what takes a while: a spinner in a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

LINE_EVERY = 8.0
"""Seconds from one plain line to the next: nobody shall take what goes on for hanging."""


@contextmanager
def step(title: str) -> Iterator[None]:
    """Announce a step on standard error for as long as the block runs; the bars of `datasets` keep silent inside it."""
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
    """A line now, and more for as long as it goes on."""
    print(f"{title} …", file=sys.stderr, flush=True)
    began, ended = time.monotonic(), Event()

    def go_on() -> None:
        while not ended.wait(LINE_EVERY):
            print(f"{title} … {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    lines = Thread(target=go_on, daemon=True)
    try:
        lines.start()
        yield
    finally:
        ended.set()
        lines.join()
