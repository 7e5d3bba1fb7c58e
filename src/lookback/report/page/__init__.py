"""The report as one page: an HTML file that needs neither a network nor a server."""

from lookback.report.page.page import write_page

__all__ = ["write_page"]
