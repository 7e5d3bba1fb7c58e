"""What a run directory holds: one module a file, with its writer and its reader."""

from lookback.runs.predictions import Prediction, read_predictions, write_predictions
from lookback.runs.results import (
    AER,
    AGREEMENT,
    ATTENTION,
    BUCKET,
    CONVERGENCE,
    COST,
    POSITION,
    SCHEMA,
    SCHEMA_VERSION,
    TRAINING_DATA,
    check_results,
    read_results,
)
from lookback.runs.run import Run, read_run, read_runs, runs_inside
from lookback.runs.segments import MissingCounts, Segments

__all__ = [
    "AER",
    "AGREEMENT",
    "ATTENTION",
    "BUCKET",
    "CONVERGENCE",
    "COST",
    "POSITION",
    "SCHEMA",
    "SCHEMA_VERSION",
    "TRAINING_DATA",
    "MissingCounts",
    "Prediction",
    "Run",
    "Segments",
    "check_results",
    "read_predictions",
    "read_results",
    "read_run",
    "read_runs",
    "runs_inside",
    "write_predictions",
]
