"""The file: self-contained, small, and with a policy that lets nothing in or out."""


def test_the_page_opens_without_a_network_and_asks_for_nothing_else(report, open_page):
    page = open_page(report)
    page.wait_for_function("document.documentElement.dataset.theme === 'light'")
    assert page.requests == [report.as_uri()]
