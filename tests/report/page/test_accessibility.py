"""axe-core finds nothing to complain about, in either theme, on a desk or on a phone."""

import pytest
from axe_playwright_python.sync_playwright import Axe


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
@pytest.mark.parametrize("name", ["report", "thirteen_report"])
def test_axe_has_no_violations(name, request, open_page, width, dark):
    page = open_page(request.getfixturevalue(name), width=width, dark=dark, bypass_csp=True)  # axe is its own script
    for found in page.locator("[data-figure]").all():
        found.scroll_into_view_if_needed()
        found.locator("[data-plot] svg").wait_for()
        found.locator("summary").click()
    for name in ("sentences", "alignments"):
        page.locator(f"[data-{name}]").scroll_into_view_if_needed()
    page.locator("[data-sentences] li").first.wait_for()
    violations = Axe().run(page).response["violations"]
    assert [
        (violation["id"], violation["impact"], [node["html"][:150] for node in violation["nodes"][:4]])
        for violation in violations
    ] == []


def test_the_page_is_worked_without_a_mouse(report, open_page):
    page = open_page(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the result"
    found = page.locator('[data-figure="length"]')
    found.scroll_into_view_if_needed()
    found.locator("[data-plot] svg").wait_for()
    found.locator("input[value=bleu]").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('[data-figure=length]').dataset.drawn === 'bleu_no_bp/width'")


def test_a_chart_says_what_it_shows(report, open_page):
    page = open_page(report)
    found = page.locator('[data-figure="length"]')
    found.locator("[data-plot] svg").wait_for()
    said = found.get_by_role("img").get_attribute("aria-label")
    assert "bahdanau" in said
    assert "BLEU" in said
