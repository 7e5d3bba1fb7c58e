"""Tables and pictures of what run directories hold. Nothing here knows torch or Lightning."""

from lookback.report.charts import save_chart
from lookback.report.comparison import compare, comparison_directory, write_report
from lookback.report.length_chart import length_chart
from lookback.report.runs import Run, read_run, read_runs, runs_inside

__all__ = [
    "Run",
    "compare",
    "comparison_directory",
    "length_chart",
    "read_run",
    "read_runs",
    "runs_inside",
    "save_chart",
    "write_report",
]
