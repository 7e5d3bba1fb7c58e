"""The file: self-contained, small, the same every time, and with a policy that lets nothing in or out."""

import base64
import gzip
import hashlib
import html.parser
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.report import write_report
from lookback.report.page.bundle import vega_bundle
from lookback.report.page.page import script_markup
from lookback.report.page.payload import packed
from lookback.runs import read_runs

EVIL = "</script><img src=x onerror=alert(1)>"


class Read(html.parser.HTMLParser):
    """What a browser sees: elements with their attributes, and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.lasttag == "script" and data.strip():
            self.scripts[-1] += data


def unpacked(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


@pytest.fixture(scope="module")
def text(report):
    return report.read_text(encoding="utf-8")


def test_a_page_of_twelve_runs_is_under_two_megabytes(report):
    assert report.stat().st_size < 2_000_000


def test_nothing_in_the_page_names_another_file(text):
    for tag, attributes in Read(text).elements:
        assert "src" not in attributes, tag
        assert tag not in ("link", "iframe", "object", "base", "form")
        assert attributes.get("href", "#").startswith("#")
    styles = re.search(r"<style>(.*?)</style>", text, re.DOTALL).group(1)
    assert "url(" not in styles
    assert "@import" not in styles


def test_the_policy_lets_these_scripts_run_and_no_others(text):
    read = Read(text)
    (policy,) = (a["content"] for tag, a in read.elements if a.get("http-equiv") == "Content-Security-Policy")
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert set(directives) <= {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}
    assert directives["img-src"] == "data:"
    assert "unsafe" not in directives["script-src"]
    kinds = [attributes.get("type", "") for tag, attributes in read.elements if tag == "script"]
    run = [script for script, kind in zip(read.scripts, kinds, strict=True) if kind != "text/plain"]
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in run}
    assert set(directives["script-src"].split()) == hashes
    assert len(run) == 2


def test_the_same_runs_give_the_same_bytes(make_run, tmp_path):
    runs = read_runs([make_run("a", "none", slope=0.02), make_run("b")])
    assert write_report(runs, tmp_path / "1.html").read_bytes() == write_report(runs, tmp_path / "2.html").read_bytes()


def test_a_group_is_never_ranked_with_another(make_run, tmp_path):
    directories = [make_run("a", "none"), make_run("b", "dot"), make_run("c", "general", tokenize="13a")]
    directories.append(make_run("d", "bahdanau", status="failed", reason="it broke", scored=False))
    text = write_report(read_runs(directories), tmp_path / "report.html").read_text(encoding="utf-8")
    first, second, third = text.split("<article ")[1:]
    assert "tok:none" in first
    assert "tok:13a" in second
    assert "general" in second
    assert "general</th>" not in first
    assert "it broke" in third
    payloads = dict(re.findall(r'<script type="text/plain" id="([\w-]+)">([^<]*)</script>', text))
    assert {"charts-1", "charts-2"} <= set(payloads)
    assert "charts-3" not in payloads
    assert "general" not in json.dumps(unpacked(payloads["charts-1"]))
    assert not re.search(r"\bdot\b", json.dumps(unpacked(payloads["charts-2"])))


@pytest.mark.parametrize("scored", [True, False])
def test_a_run_alone_has_a_page_too(make_run, tmp_path, scored):
    run = make_run("a", status="finished" if scored else "failed", reason=None if scored else EVIL, scored=scored)
    text = write_report(read_runs([run]), tmp_path / "report.html").read_text(encoding="utf-8")
    assert ("bahdanau scores " in text) is scored
    assert ("No run has been scored." in text) is not scored
    assert "img" not in [tag for tag, _ in Read(text).elements]


def test_runs_of_an_earlier_version_without_counts_have_their_curves(make_run, tmp_path):
    directories = [make_run("a", "none", slope=0.02), make_run("b")]
    for directory in directories:
        (directory / "test" / "segments.npz").unlink()
    text = write_report(read_runs(directories), tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'data-figure="length"' in text
    assert 'data-figure="difference"' not in text
    assert "no segments.npz" in text


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_a_payload_is_text_that_no_parser_takes_for_markup(value):
    text = packed(value)
    assert unpacked(text) == value
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", text)
    assert packed(value) == text


def test_numbers_that_json_lacks_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        packed({"a": float("nan")})


@pytest.mark.parametrize("script", ['const a = "</script>";', 'const a = "<!-- <script>";', "let a = '</SCRIPT >'"])
def test_no_script_ends_its_element(script):
    (read,) = Read(f"<script>{script_markup(script)}</script>").scripts
    assert read == script_markup(script)
    assert not re.search("</script|<!--", script_markup(script), re.IGNORECASE)


def test_the_bundle_is_made_once_a_machine(monkeypatch, tmp_path):
    import vl_convert

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = []
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: made.append(1) or "window.vegaEmbed=1;")
    vega_bundle.cache_clear()
    assert vega_bundle() == "window.vegaEmbed=1;"
    vega_bundle.cache_clear()
    assert vega_bundle() == "window.vegaEmbed=1;"
    assert made == [1]
    vega_bundle.cache_clear()
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")  # no folder can be there
    assert vega_bundle() == "window.vegaEmbed=1;"
    assert made == [1, 1]
    vega_bundle.cache_clear()
