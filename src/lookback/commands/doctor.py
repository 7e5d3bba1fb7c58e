"""Examines a trained run, and prints what was found."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from omegaconf import DictConfig
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lookback.common.checks import FilePath, Size, Trust
from lookback.common.errors import InputError
from lookback.common.files import write_json
from lookback.common.schema import check_config
from lookback.translation.doctor import Finding, Verdict, doctor

_COLOURS: dict[Verdict, str] = {"ok": "green", "warning": "yellow", "fault": "red", "skipped": "dim"}
_EXPLAINED: tuple[Verdict, ...] = ("skipped", "warning", "fault")


class DoctorSettings(TypedDict):
    """The keys of ``conf/doctor.yaml``."""

    run: FilePath
    trust: Trust
    source: FilePath | None
    target: FilePath | None
    sentences: Size
    unknown_words: FilePath | None
    out: FilePath | None


def examine_run(config: DictConfig) -> None:
    """Prints all findings about ``config.run``, and ends with exit code 1 if one of them is a fault.

    Args:
        config: as ``conf/doctor.yaml`` composes it.

    Raises:
        InputError: if a setting or a file is wrong.
    """
    check_config(config, DoctorSettings)
    out = None if config.out is None else Path(str(config.out))
    if out is not None and out.exists():
        raise InputError(f"out={out}: is there already; expected a new file")
    trust = config.trust if isinstance(config.trust, str) else list(config.trust)
    findings = doctor(config.run, config.source, config.target, config.sentences, trust, config.unknown_words)
    if out is not None:
        write_json(out, {"run": str(config.run), "findings": [finding.record() for finding in findings]})
    print_findings(findings)
    if any(finding.verdict == "fault" for finding in findings):
        sys.exit(1)


def print_findings(findings: Sequence[Finding]) -> None:
    """Prints a line for each finding, the explanation of each that is not ok, and how many there are of each verdict.

    Faults are explained last, where a reader looks first.
    """
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("check", "verdict", "measured", "limit"):
        table.add_column(name, justify="right" if name in ("measured", "limit") else "left", no_wrap=True)
    for finding in findings:
        numbers = ("–" if value is None else f"{value:.2g}" for value in (finding.measured, finding.limit))
        table.add_row(finding.check, _coloured(finding.verdict), *numbers)
    console = Console(highlight=False)
    console.print(table)
    for verdict in _EXPLAINED:
        for finding in findings:
            if finding.verdict == verdict:
                console.print(f"{_coloured(verdict)}: {escape(finding.check)}: {escape(finding.explanation)}")
    counts = Counter[str](finding.verdict for finding in findings)
    console.print(", ".join(f"{counts[verdict]} {verdict}" for verdict in _COLOURS if counts[verdict]))


def _coloured(verdict: Verdict) -> str:
    return f"[{_COLOURS[verdict]}]{verdict}[/{_COLOURS[verdict]}]"
