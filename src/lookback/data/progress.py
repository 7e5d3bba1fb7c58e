"""Saying what takes a while: a spinner in a terminal, a plain line elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def step(title: str) -> Iterator[None]:
    """Announce a step on standard error for as long as the block runs; the bars of `datasets` keep silent inside it."""
    from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    from rich.console import Console

    console = Console(stderr=True)
    were_disabled = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        if console.is_terminal:
            with console.status(f"{title} …"):
                yield
        else:
            print(f"{title} …", file=sys.stderr, flush=True)
            yield
    finally:
        if not were_disabled:
            enable_progress_bars()
