"""Tables and pictures of what run directories hold. Nothing here knows torch or Lightning."""

from lookback.report.charts.charts import save_chart
from lookback.report.charts.length_chart import length_chart
from lookback.report.comparison import compare, comparison_directory, write_report
from lookback.report.search_chart import search_chart

__all__ = [
    "compare",
    "comparison_directory",
    "length_chart",
    "save_chart",
    "search_chart",
    "write_report",
]
