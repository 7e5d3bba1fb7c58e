"""The sentence browser: which sentences are in the page, and what a reader makes of them."""

import json
import re

import numpy as np
import pytest

from lookback.common.errors import InputError
from lookback.evaluation import bleu
from lookback.report import write_report
from lookback.report.page import sentences as module
from lookback.report.page.payload import packed
from lookback.report.page.sentences import _fitting, sentences
from lookback.runs import Prediction, Segments, read_predictions, read_runs
from support.made_runs import score_again

EVIL = "</script><img src=x onerror=alert(1)>"


def rewritten(run, pairs, truncated=()):
    """The run with other sentences: (source, reference, hypothesis) each."""
    predictions = [
        Prediction(row, *texts, -0.5, max(1, len(texts[0].split())), row in truncated)
        for row, texts in enumerate(pairs)
    ]
    score_again(run, predictions)
    return run


@pytest.fixture
def two(make_run):
    return [make_run("one", "dot", lengths=[3] * 25), make_run("two", "none", slope=0.02, lengths=[3] * 25)]


def scores(run):
    return bleu(Segments.load(run / "test" / "segments.npz").bleu_statistics, effective_order=True)


def shown(page):
    """The sentences that the page shows: their rows in the test set."""
    found = page.locator("[data-sentences] .about").all_inner_texts()
    return [int(re.match(r"Sentence ([\d,]+)", text)[1].replace(",", "")) for text in found]


def opened(open_page, path, **options):
    page = open_page(path, **options)
    page.locator("#sentences-section-1").scroll_into_view_if_needed()
    page.wait_for_selector("[data-sentences] li")
    return page


def test_every_sentence_has_what_each_run_wrote_and_its_score(make_run):
    lengths = [4, 30, 12, 70, 1]
    runs = [make_run(name, name, slope=slope, lengths=lengths) for name, slope in (("none", 0.02), ("dot", 0.001))]
    payload = json.loads(json.dumps(sentences(read_runs(runs))))
    assert payload["systems"] == ["dot · seed 1", "none · seed 1"]
    assert (payload["opponent"], payload["total"], payload["each"]) == (1, 5, None)
    assert payload["buckets"] == [["1-10", 10], ["11-20", 20], ["21-30", 30], [">60", None]]
    written = [read_predictions(run / "test" / "predictions.jsonl") for run in reversed(runs)]
    tenths = np.rint(10 * np.stack([scores(run) for run in reversed(runs)], axis=1))
    for row, entry in enumerate(payload["sentences"]):
        outputs = [predictions[row].hypothesis for predictions in written]
        first = written[0][row]
        assert entry == [row, lengths[row], first.source, first.reference, outputs, tenths[row].tolist(), []]


def test_a_search_that_met_its_limit_is_marked(two):
    rewritten(two[0], [("a", "b", "c")] * 3, truncated={1})
    rewritten(two[1], [("a", "b", "c")] * 3, truncated={1, 2})
    assert [entry[6] for entry in sentences(read_runs(two))["sentences"]] == [[], [0, 1], [1]]


def test_a_run_without_predictions_has_no_part_and_without_any_there_is_nothing(two):
    (two[0] / "test" / "predictions.jsonl").unlink()
    assert sentences(read_runs(two))["systems"] == ["none · seed 1"]
    (two[1] / "test" / "segments.npz").unlink()
    assert sentences(read_runs(two)) is None


def test_runs_of_different_test_sets_are_refused(two):
    rewritten(two[1], [("a", "b", "c")])
    with pytest.raises(InputError, match=r"two: 1 predictions and 1 rows .* expected 25, as .*one has"):
        sentences(read_runs(two))


def test_too_many_sentences_leave_as_many_of_each_length_and_the_most_different(make_run, monkeypatch):
    lengths = [length for length in (5, 15, 25, 35) for _ in range(60)] + [50, 51]
    runs = read_runs(
        [make_run(name, name, slope=slope, lengths=lengths) for name, slope in (("none", 0.02), ("dot", 0))]
    )
    whole = sentences(runs)
    monkeypatch.setattr(module, "BUDGET", 10_000)
    payload = sentences(runs)
    kept, each = [entry[0] for entry in payload["sentences"]], payload["each"]
    assert each is not None
    assert 0.7 * 10_000 < len(packed(payload)) < 1.1 * 10_000
    assert payload["total"] == len(lengths)
    assert kept == sorted(set(kept))
    assert [sum(lengths[row] == length for row in kept) for length in (5, 15, 25, 35)] == [each] * 4
    assert {240, 241} <= set(kept)
    spread = np.array([abs(entry[5][0] - entry[5][1]) for entry in whole["sentences"]])
    for start in (0, 60, 120, 180):
        widest = start + np.argsort(-spread[start : start + 60], kind="stable")[: (each + 1) // 2]
        assert set(widest.tolist()) <= set(kept)


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "total", "budget"), [(12, 3000, 450_000), (50, 5000, 450_000 + 38 * 35_000)])
def test_a_page_of_many_runs_stays_in_its_budget(runs, total, budget):
    chance = np.random.default_rng(0)
    words = np.array(["".join(chr(97 + letter) for letter in chance.integers(0, 26, 6)) for _ in range(5000)])
    common = (5000 * chance.random((total, 32)) ** 4).astype(int)
    texts = []
    for _ in range(runs):
        others = (5000 * chance.random((total, 32)) ** 4).astype(int)
        written = np.where(chance.random((total, 32)) < 0.25, others, common)
        texts.append([" ".join(line) for line in words[written]])
    points = chance.integers(0, 1000, (total, runs))
    rows = [[row, 32, *of[:2], list(of), points[row].tolist(), []] for row, of in enumerate(zip(*texts, strict=True))]
    buckets = np.array_split(np.arange(total), 6)
    each, kept = _fitting(rows, buckets, np.ptp(points, axis=1), budget)
    assert each is not None
    assert all(np.isin(bucket, kept).sum() == each for bucket in buckets)
    assert 0.9 * budget < len(packed([rows[row] for row in kept])) <= budget


def test_the_most_different_come_first_and_the_next_page_goes_on(report, report_runs, open_page):
    best = next(run for run in report_runs if run.name == "bahdanau-1")
    none = next(run for run in report_runs if run.name == "none-1")
    gap = np.abs(np.rint(10 * scores(best)) - np.rint(10 * scores(none)))
    expected = np.argsort(-gap, kind="stable").tolist()
    page = opened(open_page, report)
    assert shown(page) == expected[:5]
    assert page.locator("[data-sentences] [data-count]").inner_text() == f"1–5 of {len(gap)} sentences"
    assert page.locator("[data-previous]").first.is_disabled()
    page.locator("[data-next]").first.press("Enter")
    assert shown(page) == expected[5:10]
    page.locator("[data-next]").last.click()
    page.locator("[data-previous]").last.click()
    assert shown(page) == expected[5:10]
    page.get_by_label("Sort by").select_option("order of the test set")
    assert shown(page) == list(range(5))


def test_a_length_other_systems_and_a_search_are_chosen(report, report_runs, open_page):
    page = opened(open_page, report)
    lengths = [
        prediction.source_length for prediction in read_predictions(report_runs[0] / "test" / "predictions.jsonl")
    ]
    page.locator("#sentences-section-1 [data-bucket]").select_option("21-30 words")
    assert page.locator("[data-sentences] [data-count]").inner_text() == "1–5 of 60 sentences"
    assert all(21 <= lengths[row] <= 30 for row in shown(page))

    page.locator("[data-sentences] [data-first]").select_option("dot · seed 2")
    page.locator("[data-sentences] [data-missing]").uncheck()
    row = shown(page)[0]
    dot = next(run for run in report_runs if run.name == "dot-2")
    written = read_predictions(dot / "test" / "predictions.jsonl")[row]
    item = page.locator("[data-sentences] li").first
    assert item.locator("dd").all_inner_texts()[:3] == [written.source, written.reference, written.hypothesis]
    assert f"BLEU {scores(dot)[row]:.1f}" in item.inner_text()

    page.locator("[data-sentences] [data-search]").fill(" ".join(written.source.split()[3:8]).upper())
    assert shown(page) == [row]
    page.locator("[data-sentences] [data-search]").fill("nobody wrote that")
    assert page.locator("[data-sentences] [data-count]").inner_text() == "No sentence has that."


def test_differences_are_marked_and_text_of_a_corpus_stays_text(two, tmp_path, open_page):
    pairs = [
        ("a cat sat", "un chat noir est assis", "un chien noir assis", "un chat noir est assis"),
        (EVIL, f"{EVIL} <b>x</b>", f"{EVIL} <b>y</b>", ""),
        ("我喜欢猫", "我喜欢黑猫", "我喜欢猫吗", "我喜欢黑猫"),
        ("مرحبا بكم", "مرحبا", "مرحبا", "<!-- <script>"),
        ("count !", count_to := "un deux trois quatre cinq six sept huit neuf dix onze douze treize", count_to, "un"),
    ]
    rewritten(two[0], [(source, reference, one) for source, reference, one, _ in pairs], truncated={2})
    rewritten(two[1], [(source, reference, other) for source, reference, _, other in pairs])
    for run in two:
        (run / "test" / "alignments.npz").unlink(missing_ok=True)
    page = opened(open_page, write_report(read_runs(two), tmp_path / "report.html"))
    page.get_by_label("Sort by").select_option("order of the test set")

    def marks(row):
        output = page.locator("[data-sentences] li").nth(row).locator("dd").nth(2)
        return [output.inner_text(), *(output.locator(tag).all_inner_texts() for tag in ("ins", "del"))]

    assert page.locator("[data-sentences] [data-first]").evaluate("e => e.selectedOptions[0].text") == "dot · seed 1"
    assert marks(0) == ["un chat chien noir est assis", ["chien"], ["chat", "est"]]
    assert marks(1) == [f"{EVIL} <b>x</b> <b>y</b>", ["<b>y</b>"], ["<b>x</b>"]]
    assert marks(2)[1:] == [["吗"], ["黑"]]
    assert marks(3) == ["مرحبا", [], []]
    assert (
        page.locator("[data-sentences] li").nth(3).locator("dd").first.evaluate("e => getComputedStyle(e).direction")
        == "rtl"
    )
    assert page.locator("[data-sentences] li").nth(1).locator("dd").nth(3).inner_text() == "nothing"
    cut = page.locator("[data-sentences] li").nth(2).locator("dt").nth(2).inner_text()
    assert "cut at the length limit" in cut
    assert page.locator("img").count() == 0
    ins = page.locator("[data-sentences] ins").first
    assert "underline" in ins.evaluate("e => getComputedStyle(e).textDecorationLine")  # not by colour alone
    page.get_by_label("Show missing words").uncheck()
    assert marks(0) == ["un chien noir assis", ["chien"], []]


def test_one_run_alone_is_shown_without_a_second(two, tmp_path, open_page, monkeypatch):
    monkeypatch.setattr(module, "BUDGET", 500)
    page = opened(open_page, write_report(read_runs(two[:1]), tmp_path / "report.html"))
    assert page.locator("[data-sentences] [data-second]").is_hidden()
    assert page.locator("[data-sentences] li").first.locator("dd").count() == 3
    kept = page.locator("[data-sentences] [data-count]").inner_text().split()[2]
    assert int(kept) < 25
    assert page.locator("[data-sentences] [data-note]").inner_text().startswith(f"{kept} of 25 sentences")
    worst = page.locator("[data-sentences] .score").all_inner_texts()
    found = [float(text.removeprefix("BLEU ")) for text in worst]
    assert found == sorted(found)
