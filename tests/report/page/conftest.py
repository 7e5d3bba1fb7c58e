"""A headless browser without a network, and a page of fabricated runs."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from lookback.report import write_report
from lookback.runs import read_runs
from support.made_runs import leave_training

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
# as root in a container, and with nothing of the browser's own on the network
QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
ATTENTIONS = {"none": 0.02, "dot": 0.006, "general": 0.004, "bahdanau": 0.002}


# of the package, not of the session: while it is open an event loop runs in this process, and other tests start theirs
@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The system's Chromium, headless. Without one the tests are skipped, but not on a build machine."""
    if (found := next(filter(None, map(shutil.which, NAMES)), None)) is None:
        message = "no chromium or google-chrome on this machine: install one, such as by apt-get install chromium"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """`open_page(path, width=1280, height=900, dark=False)` opens a file with the network off, as a `Page`.

    `page.requests` are the addresses that it asked for. Whatever it has to complain about in the console, a policy that
    it violates included, fails the test.
    """
    contexts: list[Any] = []
    complaints: list[str] = []

    def opened(path: Path, width: int = 1280, height: int = 900, dark: bool = False, **options: Any) -> Page:
        scheme = "dark" if dark else "light"
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, offline=True, **options
        )
        contexts.append(context)
        context.set_default_timeout(120_000)  # ms: a shared machine may be slow
        page = context.new_page()
        page.requests = []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def make_trained_run_at(make_run_at) -> Callable[..., Path]:
    """`make_run_at`, with a training behind the run."""

    def made(directory: Path, attention: str, seed: int, **options: Any) -> Path:
        rise = {"validation_bleu": 80.0 - seed, "validation_perplexity": 1.5, "rise": seed / 4 - 0.5}
        convergence = {**rise, "since_update": 4800, "updates": 6000}
        make_run_at(directory, attention, seed, updates=6000, convergence=convergence, **options)
        leave_training(directory, attention, seed)
        return directory

    return made


@pytest.fixture(scope="session")
def report_runs(make_trained_run_at, tmp_path_factory) -> list[Path]:
    """Run directories of four attentions with three seeds each."""
    place = tmp_path_factory.mktemp("sweep")
    lengths = [*(length for length in range(1, 46) for _ in range(6)), *range(46, 71)]
    return [
        make_trained_run_at(place / f"{name}-{seed}", name, seed, slope=slope, lengths=lengths)
        for name, slope in ATTENTIONS.items()
        for seed in (1, 2, 3)
    ]


@pytest.fixture(scope="session")
def report(report_runs, tmp_path_factory) -> Path:
    """Their page."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(read_runs(report_runs), path)


@pytest.fixture(scope="session")
def thirteen_report(make_trained_run_at, tmp_path_factory) -> Path:
    """The page of thirteen arms, most of which end close to each other."""
    place = tmp_path_factory.mktemp("thirteen")
    slopes = {"none": 0.03, "location": 0.02} | {f"attention-{number}": 0.004 + number / 5000 for number in range(11)}
    lengths = [*(length for length in range(1, 31) for _ in range(6)), *range(31, 41)]
    runs = [
        make_trained_run_at(place / name, name, 1, slope=slope, lengths=lengths, aligned=False)
        for name, slope in slopes.items()
    ]
    return write_report(read_runs(runs), place / "report.html")
