"""The page: groups of runs in, one HTML file out."""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lookback.common.files import atomic_write
from lookback.report.charts.charts import BASELINE, FAINT, INK, PALETTE, SOFT
from lookback.report.evidence.group import Group
from lookback.report.evidence.headline import UNTRAINED, Answer, answer
from lookback.report.page.alignments import alignments
from lookback.report.page.bundle import vega_bundle
from lookback.report.page.figures import Figure, figures
from lookback.report.page.overview import Arm, Swatch, overview, swatches
from lookback.report.page.payload import packed
from lookback.report.page.run_table import Column, run_columns
from lookback.report.page.sentences import sentences

_ASSETS = Path(__file__).parent / "assets"
_SHARED = ("payload.js", "dom.js", "page.js")
"""Scripts that define what the others use"""
_COMPONENTS = ("charts.js", "sorting.js", "sentences.js", "alignments.js")
"""Scripts that see none of each other's names"""
_STYLES = ("page.css", "sentences.css", "alignments.css")


@dataclass(frozen=True)
class _Part:
    """A group, as the template shows it."""

    group: Group
    name: str
    claim: str
    answer: Answer | None
    overview: list[Arm]
    figures: dict[str, Figure | None]
    """By their keys; None where there is nothing to draw"""
    columns: list[Column]
    row_swatches: list[Swatch]
    signature: str | None
    of_group: str
    """The end of its regions' names, so that they differ from those of other groups"""

    @property
    def has_trainings(self) -> bool:
        """Whether a run is a training, and not what another system wrote."""
        return any(run.is_training for run in self.group.runs)

    def has(self, name: str) -> bool:
        """Whether the table of runs has a column of this name."""
        return any(column.name == name for column in self.columns)

    @property
    def sections(self) -> list[tuple[str, str]]:
        """The first part of a section's id, and its name in the bar."""
        known = {
            "result": "Result",
            "length": "Length",
            "difference": "Gain",
            "recall": "Lost words",
            "capacity": "Capacity",
            "runs": "Runs",
            "learning": "Learning",
            "budgets": "Budgets",
        }
        known |= {"diagnostics": "Attention", "sentences-section": "Sentences", "alignments-section": "Alignments"}
        there = {"result", "runs", *(key for key, figure in self.figures.items() if figure)}
        if self.group.scored:
            there |= {"sentences-section", "alignments-section"}
        return [(key, name) for key, name in known.items() if key in there]


def write_page(path: Path | str, groups: Sequence[Group]) -> Path:
    """Write the page of `groups` to `path`, atomically. It fetches nothing, and runs no text of a corpus or a run."""
    parts = [_part(group, len(groups) == 1) for group in groups]
    payloads = {"colors": packed(_colors())}
    for part in parts:
        runs, number = part.group.scored, part.group.number
        charts = {key: figure.variants for key, figure in part.figures.items() if figure}
        found = {"charts": charts or None, "sentences": None, "alignments": None}
        if runs:
            found |= {"sentences": sentences(runs), "alignments": alignments(runs)}
        payloads |= {f"{name}-{number}": packed(value) for name, value in found.items() if value is not None}
    scripts = [script_markup(script) for script in (vega_bundle(), _script())]
    environment = Environment(
        loader=FileSystemLoader(_ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text = environment.get_template("page.html.jinja").render(
        title=_title(groups),
        parts=parts,
        provenance=_provenance(groups),
        payloads=payloads,
        styles=Markup("\n".join(_text(name) for name in _STYLES)),
        scripts=scripts,
        policy=_policy(scripts),
    )
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "surrogatepass"))
    return Path(path)


def _part(group: Group, alone: bool) -> _Part:
    results = group.scored[0].results if group.scored else None
    name = "Runs without scores"
    if results:
        name = f"Group {group.number}: data {results['data']} ({results['data_fingerprint'][:12]})"
    swatch_of = swatches(group.counted.arms)
    return _Part(
        group,
        name,
        _claim(group),
        answer(group.evidence) if group.evidence.contrasts else None,
        overview(group),
        figures(group),
        run_columns(group.rows),
        [swatch_of.get(row["arm"], Swatch("--faint", "circle")) for row in group.rows],
        results["signature"] if results else None,
        "" if alone else f", group {group.number}",
    )


def _claim(group: Group) -> str:
    """The scores, where nothing can be compared."""
    arms = group.evidence.arms.items()
    known = sorted(((about["score"], name) for name, about in arms if about["score"] is not None), reverse=True)
    if known and known[0][0] < UNTRAINED:
        return f"Not trained long enough to be judged: {known[0][1]} scores {known[0][0]:.1f} BLEU."
    if known:
        compared = "" if len(known) == 1 else ". They could not be compared"
        return ", ".join(f"{name} scores {score:.1f} BLEU" for score, name in known) + f"{compared}."
    return "There are scores, but no counts to compare them by." if group.scored else "No run has been scored."


def _title(groups: Sequence[Group]) -> str:
    runs = [run for group in groups for run in group.runs]
    data = dict.fromkeys(run.results["data"] for run in runs if run.results)
    counted = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    return f"{counted} on {', '.join(data)}" if data else counted


def _provenance(groups: Sequence[Group]) -> list[str]:
    """Test sets, code and libraries behind the numbers."""
    results = [run.results for group in groups for run in group.scored if run.results]
    lines = [f"test set {found}" for found in dict.fromkeys(r["data_fingerprint"][:12] for r in results)]
    lines += [f"commit {commit[:12]}" for commit in dict.fromkeys(r["git"] for r in results) if commit]
    versions = dict.fromkeys(f"{name} {version}" for r in results for name, version in r["versions"].items())
    return [*lines, *versions]


def _colors() -> dict[str, str]:
    """The page's name for each colour of the charts: the page gives it one value in light, one in dark."""
    arms = {color.lower(): f"var(--chart-{place})" for place, color in enumerate((BASELINE, *PALETTE))}
    quiet = {INK: "--ink", SOFT: "--soft", FAINT: "--faint", "white": "--paper"}
    return arms | {color.lower(): f"var({name})" for color, name in quiet.items()}


def script_markup(script: str) -> Markup:
    """A script in which no parser of HTML finds the end of its element."""
    return Markup(re.sub("<(?=/script|!--)", r"<\\", script, flags=re.IGNORECASE))


def _script() -> str:
    shared = [_text(name) for name in _SHARED]
    return "\n".join([*shared, *("{\n" + _text(name) + "}" for name in _COMPONENTS)])


def _policy(scripts: Sequence[str]) -> str:
    """What the browser lets the page do: run these scripts, style itself, show its own pictures; nothing else."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _text(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")
