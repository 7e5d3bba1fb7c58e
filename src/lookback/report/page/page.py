"""The page: groups of runs in, one HTML file out."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lookback.evaluation import atomic_write
from lookback.report.group import Group
from lookback.report.page.alignments import alignments
from lookback.report.page.bundle import vega_bundle
from lookback.report.page.payload import packed
from lookback.report.page.sentences import sentences

_HERE = Path(__file__).parent
_SHARED = ("payload.js", "page.js")
"""Scripts whose names the others use"""
_COMPONENTS = ("sentences.js", "alignments.js")
"""Scripts that each have a scope of their own"""
_STYLES = ("page.css", "sentences.css", "alignments.css")


def write_page(path: Path | str, groups: Sequence[Group]) -> Path:
    """Write the page of `groups` to `path`, atomically. It asks for nothing outside, and runs no text of theirs."""
    payloads: dict[str, str] = {}
    for group in groups:
        for name, value in (("sentences", sentences(group.scored)), ("alignments", alignments(group.scored))):
            if value is not None:
                payloads[f"{name}-{group.number}"] = packed(value)
    scripts = [inert(script) for script in (vega_bundle(), _script())]
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = environment.get_template("page.html.jinja").render(
        groups=groups,
        payloads=payloads,
        styles=Markup("\n".join(_text(name) for name in _STYLES)),
        scripts=scripts,
        policy=_policy(scripts),
    )
    with atomic_write(path) as file:
        file.write(text.encode("utf-8", "surrogatepass"))
    return Path(path)


def inert(script: str) -> Markup:
    """A script that no parser of HTML takes for the end of its element."""
    return Markup(script.replace("</script", "<\\/script").replace("<!--", "<\\!--"))


def _script() -> str:
    shared = [_text(name) for name in _SHARED]
    return "\n".join([*shared, *("{\n" + _text(name) + "}" for name in _COMPONENTS)])


def _policy(scripts: Sequence[str]) -> str:
    """What the browser lets the page do: run these scripts, style itself, show pictures that it holds; nothing else."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
