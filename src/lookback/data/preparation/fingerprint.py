"""A hash of the raw text of a split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookback.common.fingerprint import text_fingerprint
from lookback.data.corpora.columns import columns
from lookback.data.corpora.corpus import SIDES

if TYPE_CHECKING:
    from datasets import Dataset


def fingerprint(texts: Dataset) -> str:
    """A hash of the raw text of a split: equal for equal text, wherever it was read from."""
    sides = range(len(SIDES))
    return text_fingerprint((text for pair in columns(texts) for text in pair[side].to_pylist()) for side in sides)
