"""The page in a real browser, without a network: what a reader chooses is what is shown."""

import json
import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from lookback.report import write_report
from lookback.runs import read_runs

EVIL = "</script><img src=x onerror=alert(1)>"
LENGTHS = [length for length in range(1, 21) for _ in range(6)]


def figure(page, key):
    """The drawn figure."""
    found = page.locator(f'[data-figure="{key}"]').first
    found.scroll_into_view_if_needed()
    found.locator("[data-plot] svg").wait_for()
    return found


def texts(found):
    """What a chart says, a line each: a label of two lines is two."""
    lines = "(all) => all.flatMap((text) => text.children.length ? [...text.children] : [text])"
    return found.locator("[data-plot] svg text").evaluate_all(f"(all) => ({lines})(all).map((e) => e.textContent)")


def choose(found, label):
    """Choose by a segment's words, and wait for the chart."""
    before = found.get_attribute("data-drawn")
    found.get_by_role("radio", name=label, exact=True).check()
    found.page.wait_for_function(
        "([element, before]) => element.dataset.drawn !== before", arg=[found.element_handle(), before]
    )


def test_the_page_asks_for_one_file_and_nothing_else(report, open_page):
    page = open_page(report)
    for key in ("length", "difference", "recall", "learning", "budgets", "diagnostics"):
        figure(page, key)
    assert page.requests == [report.as_uri()]


def test_another_measure_has_another_axis_and_other_numbers(report, open_page):
    page = open_page(report)
    length = figure(page, "length")
    assert "BLEU" in texts(length)
    heading, numbers = length.locator("[data-title]"), length.locator("[data-numbers] tbody tr")
    assert heading.inner_text().startswith("BLEU against")
    first = numbers.first.text_content()
    choose(length, "length ratio")
    assert any("Length ratio" in text for text in texts(length))
    assert "BLEU" not in texts(length)
    assert heading.inner_text().startswith("Length ratio against")
    assert numbers.first.text_content() != first
    marks = length.locator("[data-plot] svg .mark-symbol path").count()
    assert marks > 0


def test_equal_counts_are_other_buckets(report, open_page):
    length = figure(open_page(report), "length")
    before = texts(length)
    assert "1–10" in before
    assert "n = 60" in before
    choose(length, "equal count")
    after = texts(length)
    assert "1–10" not in after
    assert length.get_attribute("data-drawn") == "bleu/count"


def test_another_baseline_has_other_arms(report, open_page):
    difference = figure(open_page(report), "difference")
    assert "BLEU more than none" in texts(difference)
    difference.get_by_label("Compared with").select_option("dot")
    difference.page.wait_for_function("(element) => element.dataset.drawn === 'dot'", arg=difference.element_handle())
    assert "BLEU more than dot" in texts(difference)
    arms = [text.split(" ·")[0] for text in texts(difference) if " · " in text]
    assert sorted(arms) == ["bahdanau", "general", "none"]
    assert "none" in difference.locator("[data-numbers] thead").text_content()


def test_learning_curves_and_diagnostics_are_chosen(report, open_page):
    page = open_page(report)
    learning = figure(page, "learning")
    assert "Validation BLEU" in texts(learning)
    learning.get_by_label("Measure").select_option("train_loss")
    choose(learning, "seconds")
    assert {"Training loss", "Seconds of training"} <= set(texts(learning))
    looks = figure(page, "diagnostics")
    choose(looks, "coverage")
    assert "Coverage of the source" in texts(looks)


def test_where_words_are_lost_is_shown_for_the_longest_sentences_first(report, open_page):
    lost = figure(open_page(report), "recall")
    heading, numbers = lost.locator("[data-title]"), lost.locator("[data-numbers] tbody tr")
    assert heading.inner_text() == "Where words are lost: 31–40 source words"
    assert numbers.count() == 5
    assert numbers.first.text_content().startswith("first fifth")
    first = lost.locator("[data-plot]").get_attribute("aria-label")
    assert "from the first to the last fifth of sources of 31–40 words: none 0." in first
    assert {"first", "second", "third", "fourth", "last"} <= set(texts(lost))
    choose(lost, "all")
    assert heading.inner_text() == "Where words are lost: all lengths"
    assert lost.locator("[data-plot]").get_attribute("aria-label") != first


LINES = "(all) => all.map((line) => line.getAttribute('d'))"


def test_a_slider_goes_through_the_budgets(report, open_page):
    budgets = figure(open_page(report), "budgets")
    heading, slider, said = budgets.locator("[data-title]"), budgets.get_by_role("slider"), budgets.locator("output")
    lines, cells = budgets.locator("svg .mark-line path"), budgets.locator("[data-numbers] tbody tr").first
    assert budgets.get_by_label("Training").get_attribute("aria-valuetext") == "6,000 updates (all)"
    assert (said.inner_text(), budgets.get_attribute("data-drawn")) == ("6,000 updates (all)", "1")
    late, numbers, caption = lines.evaluate_all(LINES), cells.text_content(), budgets.locator("[data-caption]")
    assert "may score far higher" in caption.inner_text()
    axis = [text for text in texts(budgets) if text.isdigit()]
    slider.press("Home")
    budgets.page.wait_for_function("(element) => element.dataset.drawn === '0.125'", arg=budgets.element_handle())
    assert lines.evaluate_all(LINES) != late
    assert [text for text in texts(budgets) if text.isdigit()] == axis  # the same scale: the curve is seen to rise
    assert said.inner_text() == slider.get_attribute("aria-valuetext") == "750 updates (an eighth)"
    assert heading.inner_text().endswith("after 750 updates (an eighth)")
    assert cells.text_content() != numbers
    assert "750 updates" in budgets.get_by_role("img").get_attribute("aria-label")
    slider.press("ArrowRight")
    assert said.inner_text() == "1,500 updates (a quarter)"
    slider.press("End")
    budgets.page.wait_for_function("(element) => element.dataset.drawn === '1'", arg=budgets.element_handle())
    assert lines.evaluate_all(LINES) == late
    assert cells.text_content() == numbers


def column(page, name):
    """The cells of a column of the table of runs, top down."""
    headings = [text.strip() for text in page.locator(".runs thead th").all_inner_texts()]
    place = next(index for index, text in enumerate(headings) if text.strip("↕↑↓ ") == name)
    rows = page.locator(".runs tbody tr").all()
    return page.locator(".runs thead th").nth(place), [row.locator("th, td").nth(place).inner_text() for row in rows]


def test_the_table_is_sorted_by_a_click_on_a_heading(report, open_page):
    page = open_page(report)
    heading, cells = column(page, "half at")
    assert heading.get_attribute("aria-sort") is None
    heading.get_by_role("button").click()
    heading, cells = column(page, "half at")
    filled = [float(cell) for cell in cells if cell]
    assert heading.get_attribute("aria-sort") == "descending"
    assert filled == sorted(filled, reverse=True)
    assert cells[len(filled) :] == [""] * 9  # what has no number is last
    heading.get_by_role("button").press("Enter")
    heading, cells = column(page, "half at")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert [float(cell) for cell in cells if cell] == sorted(filled)
    assert cells[len(filled) :] == [""] * 9
    other, _ = column(page, "arm")
    other.get_by_role("button").click()
    other, names = column(page, "arm")
    assert names == sorted(names)
    assert other.get_attribute("aria-sort") == "ascending"
    assert page.locator("[aria-sort]").count() == 1


def test_the_theme_is_the_systems_until_the_reader_chooses(report, open_page):
    back = "getComputedStyle(document.body).backgroundColor"
    light, dark = open_page(report), open_page(report, dark=True)
    assert light.evaluate(back) == "rgb(255, 255, 255)"
    chosen = dark.evaluate(back)
    assert chosen != "rgb(255, 255, 255)"
    line = figure(light, "length").locator("svg .mark-line path").last
    stroke = "(element) => getComputedStyle(element).stroke"
    before = line.evaluate(stroke)
    light.get_by_role("button", name="Switch to dark colours").click()
    assert light.evaluate(back) == chosen
    assert line.evaluate(stroke) != before  # charts too, without being drawn again
    light.get_by_role("button", name="Switch to light colours").click()
    assert line.evaluate(stroke) == before


def test_on_paper_the_page_is_light_and_has_what_was_shown(report, open_page):
    page = open_page(report, dark=True)
    figure(page, "length")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("[data-figure=length] svg").is_visible()
    assert page.locator(".runs").is_visible()
    page.set_viewport_size({"width": 718, "height": 1000})  # A4
    result = page.locator(".overview")
    assert result.evaluate("(table) => table.scrollWidth <= table.parentElement.clientWidth")
    for hidden in (".bar", ".choices", "#sentences-section-1", "#alignments-section-1"):
        assert not page.locator(hidden).first.is_visible(), hidden


@pytest.mark.parametrize("width", [320, 375, 768, 1280, 3840])
def test_no_width_scrolls_sideways(report, open_page, width):
    page = open_page(report, width=width, height=800)
    for key in ("length", "difference", "recall", "learning", "budgets", "diagnostics"):
        found = figure(page, key)
        found.locator("summary").click()
        # nothing of a chart is cut off either
        right = found.locator("svg").evaluate("(svg) => svg.getBoundingClientRect().right")
        ends = "(all) => all.map((text) => [text.getBoundingClientRect().right, text.textContent])"
        for end, text in found.locator("svg text").evaluate_all(ends):
            assert end <= min(right, width) + 2, f"{key}: {text}"
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_window_that_shrinks_redraws_the_charts(report, open_page):
    page = open_page(report, width=1200)
    length = figure(page, "length")
    assert length.locator("svg").evaluate("(svg) => svg.viewBox.baseVal.width") > 1000
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function("() => document.querySelector('[data-figure=length] svg').viewBox.baseVal.width < 400")


def test_a_chart_is_saved_as_it_is_published(report, open_page, tmp_path):
    length = figure(open_page(report, dark=True), "length")
    saved = {}
    for kind in ("SVG", "PNG", "Vega-Lite"):
        with length.page.expect_download() as download:
            length.get_by_role("button", name=kind).click()
        saved[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[kind])
    assert saved["SVG"].name == "length-bleu-width.svg"
    drawn = "".join(ElementTree.parse(saved["SVG"]).getroot().itertext())
    assert "BLEU against source length" in drawn  # the title that the page shows as text
    assert "var(" not in saved["SVG"].read_text()  # nor the page's colours
    assert saved["PNG"].read_bytes().startswith(b"\x89PNG")
    assert json.loads(saved["Vega-Lite"].read_text())["layer"]


def test_text_from_outside_stays_text(make_run, open_page, tmp_path):
    """Whatever a corpus, a config or an exception says: it is shown, and does nothing."""
    directories = [make_run("a", "none", slope=0.03, lengths=LENGTHS), make_run("b", lengths=LENGTHS)]
    directories.append(make_run("c", "dot", status="failed", reason=EVIL, scored=False))
    for directory in directories[:2]:
        path = directory / "test" / "predictions.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        lines = [{**line, "source": EVIL, "reference": EVIL, "hypothesis": f"{EVIL} x"} for line in lines]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        path = directory / "test" / "results.json"
        results = json.loads(path.read_text())
        results |= {"data": EVIL, "git": EVIL, "versions": {EVIL: EVIL}, "data_fingerprint": EVIL}
        if results["arm"] == "bahdanau":
            results["arm"] = EVIL
        path.write_text(json.dumps(results))
    report = write_report(read_runs(directories), tmp_path / "report.html")
    page = open_page(report)  # which fails the test on a dialog, and on whatever the console has to say
    length = figure(page, "length")
    choose(length, "chrF2")
    figure(page, "difference")
    page.locator("[data-sentences]").scroll_into_view_if_needed()
    page.locator("[data-sentences] li").first.wait_for()
    assert page.locator("img").count() == 0
    assert page.evaluate("window.x") is None
    assert page.locator(".claim").inner_text().startswith(EVIL)
    assert EVIL in page.locator(".reason").inner_text()
    assert any(text.startswith(EVIL[:20]) for text in texts(length))
    assert page.locator("[data-sentences] dd").first.text_content().strip() == EVIL
    assert page.requests == [report.as_uri()]


def test_without_scripts_there_are_the_answer_and_the_tables(report, open_page):
    page = open_page(report, java_script_enabled=False)
    assert page.locator(".claim").is_visible()
    assert page.locator(".runs tbody tr").count() == 12
    assert page.locator("noscript").is_visible()
    assert not page.locator(".choices").first.is_visible()
    assert not page.locator("#theme").is_visible()
    numbers = page.locator("[data-figure=length] [data-numbers] tbody tr")
    assert re.match(r"all\s*\d", numbers.first.text_content().strip())


# ---- many arms

LABELS = "[data-plot] svg .label_text_marks text"


def opacities(found):
    """The opacity of each arm's name."""
    read = "(all) => all.map((text) => [text.textContent.split(' · ')[0], Number(text.getAttribute('opacity') ?? 1)])"
    return dict(found.locator(LABELS).evaluate_all(read))


def wait_for_forward(found, name):
    """Wait until this arm alone is in the foreground; None: until all are alike."""
    found.page.wait_for_function(
        """([figure, labels, name]) => [...figure.querySelectorAll(labels)].every((text) => {
            const forward = !name || text.textContent.startsWith(name + " ·");
            return (text.getAttribute("opacity") ?? "1") === (forward ? "1" : "0.5");
        })""",
        arg=[found.element_handle(), LABELS, name],
    )


@pytest.mark.parametrize("width", [700, 1280, 1920])
def test_thirteen_arms_are_named_at_the_ends_of_their_lines(thirteen_report, open_page, width):
    page = open_page(thirteen_report, width=width)
    for key, arms in (("length", 13), ("difference", 12), ("learning", 13), ("diagnostics", 12)):
        found = figure(page, key)
        names = found.locator(LABELS)
        assert names.count() == arms
        boxes = names.evaluate_all("(all) => all.map((text) => text.getBoundingClientRect().toJSON())")
        boxes.sort(key=lambda box: box["top"])
        for above, below in pairwise(boxes):
            assert below["top"] >= above["bottom"] - 3, key  # a box is higher than its letters
        plot = found.locator("[data-plot] svg").bounding_box()
        assert all(box["right"] <= plot["x"] + plot["width"] + 2 for box in boxes), key
        assert found.locator("svg .role-legend").count() == 0


def test_on_a_phone_thirteen_arms_have_a_legend(thirteen_report, open_page):
    page = open_page(thirteen_report, width=375)
    length = figure(page, "length")
    assert length.locator(LABELS).count() == 0
    assert length.locator("svg .role-legend-label text").count() == 13
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    length.get_by_label("Bring forward").select_option("location")
    faded = length.locator("svg .mark-line path[opacity='0.1']")
    faded.first.wait_for()
    assert faded.count() == 12


def test_an_arm_is_brought_forward_and_stays_so_in_another_measure(thirteen_report, open_page):
    length = figure(open_page(thirteen_report), "length")
    forward = length.get_by_label("Bring forward")
    assert forward.locator("option").first.inner_text() == "every arm"
    assert forward.locator("option").count() == 14
    assert set(opacities(length).values()) == {1}
    assert length.locator("svg .mark-area path:not([opacity='0'])").count() == 0
    forward.select_option("attention-3")
    wait_for_forward(length, "attention-3")
    assert length.locator("svg .mark-area path:not([opacity='0'])").count() == 1  # its interval
    assert length.locator("svg .mark-line path[opacity='0.1']").count() == 12
    choose(length, "chrF2")
    wait_for_forward(length, "attention-3")
    forward.select_option("")
    wait_for_forward(length, None)


def test_what_is_pointed_at_comes_forward_and_what_is_clicked_stays(thirteen_report, open_page):
    length = figure(open_page(thirteen_report), "length")
    name = length.locator(LABELS, has_text="location")
    name.hover()
    wait_for_forward(length, "location")
    length.locator("[data-title]").hover()
    wait_for_forward(length, None)
    name.click()
    length.locator("[data-title]").hover()
    wait_for_forward(length, "location")
    assert length.get_by_label("Bring forward").input_value() == "location"
    name.click()
    length.locator("[data-title]").hover()
    wait_for_forward(length, None)


def test_two_arms_need_nobody_to_bring_one_forward(make_run, open_page, tmp_path):
    runs = [make_run("a", "none", slope=0.03, lengths=LENGTHS), make_run("b", lengths=LENGTHS)]
    length = figure(open_page(write_report(read_runs(runs), tmp_path / "report.html")), "length")
    assert length.get_by_label("Bring forward").is_hidden()
    assert length.locator(LABELS).count() == 2


def test_a_chart_is_saved_with_the_arm_that_is_brought_forward(thirteen_report, open_page, tmp_path):
    length = figure(open_page(thirteen_report), "length")
    length.get_by_label("Bring forward").select_option("location")
    wait_for_forward(length, "location")
    saved = {}
    for kind in ("SVG", "Vega-Lite"):
        with length.page.expect_download() as download:
            length.get_by_role("button", name=kind).click()
        download.value.save_as(tmp_path / kind)
        saved[kind] = (tmp_path / kind).read_text(encoding="utf-8")
    (param,) = json.loads(saved["Vega-Lite"])["params"]
    assert param["value"].startswith("location · ")
    names = [
        text for text in ElementTree.fromstring(saved["SVG"]).iter("{http://www.w3.org/2000/svg}text") if text.text
    ]
    shown = {text.text.split(" · ")[0]: text.get("opacity", "1") for text in names if " · " in text.text}
    assert shown["location"] == "1"
    assert shown["none"] == "0.5"
