"""The peak is of what was held since the reset, where the system can tell."""

import sys

import pytest
import torch

from lookback.training.callbacks import peak_memory

MEGABYTE = 10**6


def test_peak_counts_what_was_held_for_a_moment() -> None:
    peak_memory.reset()
    before = peak_memory.peak()
    held = torch.ones(100 * MEGABYTE, dtype=torch.uint8)
    del held
    assert 90 * MEGABYTE < peak_memory.peak() - before < 300 * MEGABYTE


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can start to count anew")
def test_reset_forgets_an_earlier_peak() -> None:
    held = torch.ones(200 * MEGABYTE, dtype=torch.uint8)
    high = peak_memory.peak()
    del held
    peak_memory.reset()
    assert peak_memory.peak() < high - 100 * MEGABYTE
