"""When two lists of hypotheses are the same."""

import pytest
import torch

from lookback.search import Hypothesis


def assert_same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    """Equal tokens in equal order; scores and alignments to 1e-10."""
    assert [h.tokens for h in found] == [h.tokens for h in expected]
    assert [h.truncated for h in found] == [h.truncated for h in expected]
    for a, b in zip(found, expected, strict=True):
        assert a.log_probability == pytest.approx(b.log_probability, abs=1e-10)
        assert a.score == pytest.approx(b.score, abs=1e-10)
        torch.testing.assert_close(a.alignment, b.alignment, rtol=0, atol=1e-10)
