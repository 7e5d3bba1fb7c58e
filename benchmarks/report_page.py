"""What the page of a comparison weighs, what it takes to write, and how soon it is there for a reader.

    python benchmarks/report_page.py

Runs are made up: attentions with an alignment sample each, on a test set of 1 to 70 words, each run with its own
mistakes; the first 490 sentences of a run are counted, and stand for the others. `seconds` is the writing of
report.html with everything in it, resampling included, without reading the runs and with the charts' libraries kept
from an earlier time. `open_ms` is the time from opening the file in a headless Chromium until its first chart is drawn,
`loaded_ms` until the document is complete: the median of `--rounds`, each in a fresh browser.
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from machine import keep, show
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from lookback.report import write_report
from lookback.report.page.bundle import vega_bundle
from lookback.runs import read_runs
from support.made_runs import fabricate, leave_training

NAMES = ("none", "dot", "general", "bahdanau", "location")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["1x500", "12x500", "50x5000"], help="runs x sentences")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rows = [_row(*map(int, size.split("x")), arguments.rounds) for size in arguments.sizes]
    show(rows)
    keep("report_page", rows)


def _row(runs: int, sentences: int, rounds: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        for index in range(runs):
            _fabricate(Path(folder) / "runs" / str(index), index, sentences)
        read = read_runs([Path(folder) / "runs"])
        vega_bundle()
        page = Path(folder) / "report.html"
        cpu, start = time.process_time(), time.perf_counter()
        write_report(read, page)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        opened = [_opened(page) for _ in range(rounds)]
        return {
            "runs": runs,
            "sentences": sentences,
            "megabytes": round(page.stat().st_size / 1e6, 2),
            "seconds": round(seconds, 1),
            "cpu_seconds": round(cpu, 1),
            "open_ms": round(median(drawn for drawn, _ in opened)),
            "loaded_ms": round(median(loaded for _, loaded in opened)),
        }


def _fabricate(directory: Path, index: int, sentences: int) -> None:
    """A run of the tests' kind: mistakes that grow with length, fewer for the later attentions."""
    attention, seed = NAMES[index % len(NAMES)], 1 + index // len(NAMES)
    lengths = [1 + place % 70 for place in range(sentences)]
    fabricate(
        directory,
        attention,
        seed,
        slope=0.02 / (1 + 3 * (index % len(NAMES))),
        lengths=lengths,
        counted=490,
        updates=6000,
    )
    leave_training(directory, attention, seed)


def _opened(page: Path) -> tuple[float, float]:
    """Milliseconds until the first chart is drawn, and until the document is complete."""
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        opened = browser.new_context(offline=True).new_page()
        opened.goto(page.as_uri(), wait_until="commit")
        opened.locator("[data-figure=length][data-drawn]").wait_for()
        drawn = opened.evaluate("performance.now()")
        loaded = opened.evaluate("performance.getEntriesByType('navigation')[0].domComplete")
        browser.close()
    return drawn, loaded


if __name__ == "__main__":
    main()
