"""A headless browser without a network, and a page of fabricated runs."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from lookback.report import read_runs, write_report

NAMES = ("chromium", "chromium-browser", "google-chrome")
ATTENTIONS = {"none": 0.02, "dot": 0.006, "general": 0.004, "bahdanau": 0.002}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium, headless. Without one the tests are skipped, but not on a build machine."""
    if (found := next(filter(None, map(shutil.which, NAMES)), None)) is None:
        message = f"no Chromium: none of {', '.join(NAMES)} is installed"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
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
def report_runs(make_run_at, tmp_path_factory) -> list[Path]:
    """Run directories of four attentions with three seeds each."""
    place = tmp_path_factory.mktemp("sweep")
    lengths = [*(length for length in range(1, 46) for _ in range(6)), *range(46, 71)]
    return [
        make_run_at(place / f"{name}-{seed}", name, seed, slope=slope, lengths=lengths)
        for name, slope in ATTENTIONS.items()
        for seed in (1, 2, 3)
    ]


@pytest.fixture(scope="session")
def report(report_runs, tmp_path_factory) -> Path:
    """Their page."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(read_runs(report_runs), path)
