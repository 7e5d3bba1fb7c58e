"""Examines a trained run: whether its numbers can be trusted, and whether its model and data are in good health."""

from lookback.translation.doctor.computation import CHECKS, Case, examine
from lookback.translation.doctor.finding import Finding, Verdict
from lookback.translation.doctor.run import doctor

__all__ = ["CHECKS", "Case", "Finding", "Verdict", "doctor", "examine"]
