"""Which words of a source a translation was written without a look at."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

COLUMNS = 2
A_LOOK = 0.1
"""A word was never looked at if it got less than this of one look in the whole translation."""


def reading_statistics(weights: NDArray[np.floating], word_of: Sequence[int], words: int) -> tuple[int, int]:
    """Count, of one sentence, the source words that were never looked at, and all its words.

    A word never looked at was hardly translated (Tu et al. 2016, "Modeling Coverage for Neural Machine Translation").
    But an even look leaves no word out, nor do long translations or the mean of several heads: it tells what one arm
    does over length, or with coverage and without, and ranks no arms. A translation that wrote nothing looked at
    nothing. A weight that is no number is no look.

    Args:
        weights: (target tokens, source tokens): with which the translation was written, its end mark's row left out.
        word_of: the word of each of the first source tokens; what stands behind them, as the end mark, is no word.
        words: of the source.
    """
    places = np.asarray(word_of, dtype=np.int64)
    received = np.bincount(places, np.nan_to_num(weights).sum(axis=0)[: len(places)], minlength=words)
    return int((received < A_LOOK).sum()), words
