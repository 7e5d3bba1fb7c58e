"""Where the tests find the project, and the corpora that lie beside it."""

from pathlib import Path

PROJECT = Path(__file__).parents[2]
BENCHMARKS = PROJECT / "benchmarks"
SHARED = PROJECT.parent / "shared"
"""Real corpora: absent on most machines, where what needs them is skipped"""
