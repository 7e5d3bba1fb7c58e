"""Translation edit rate (Snover et al. 2006): sacrebleu's shifts and numbers, with its slow inner step done faster.

To place one shift, sacrebleu tries up to 1,000 shifted hypotheses and fills a table of edits for each: a second for one
bad translation of 60 words, minutes for a test set. It needs the edits of the hypothesis it starts from, but only the
*distance* of each candidate; the bit-parallel recurrence of Myers (1999) in Hyyrö's form (2003) gives that in one pass
over the words with a handful of integer operations each.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.evaluation.scores.sacrebleu_parts import BEAM_WIDTH, MAX_SHIFT_CANDIDATES, best_shift, ter_words

COLUMNS = 2
_FAR = 2**30


def ter_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
    """Count, for each sentence, `(sentences, 2)`: the edits that turn hypothesis into reference, the reference's words.

    Words are what sacrebleu's TER compares by default: lowercased, and split at white space.

    Raises `ValueError` if the two sequences differ in length.
    """
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references: expected as many of each")
    rows = np.empty((len(hypotheses), COLUMNS), dtype=np.int64)
    for row, hypothesis, reference in zip(rows, ter_words(hypotheses), ter_words(references), strict=True):
        row[:] = _edits(hypothesis, reference), len(reference)
    return rows


def ter(statistics: ArrayLike) -> NDArray[np.float64] | np.float64:
    """Corpus TER in percent, lower is better, of summed statistics `(..., 2)`; gives `(...)`.

    Equal to sacrebleu's: without a word in the references it is 100 if anything was written, else 0.
    """
    statistics = np.asarray(statistics, dtype=np.float64)
    edits, words = statistics[..., 0], statistics[..., 1]
    return np.where(words > 0, 100 * edits / np.where(words > 0, words, 1), 100.0 * (edits > 0))[()]


def _edits(hypothesis: list[str], reference: list[str]) -> int:
    """Shifts and word edits that turn one into the other: `sacrebleu.metrics.lib_ter.translation_edit_rate`."""
    if hypothesis == reference:
        return 0
    if not hypothesis or not reference:
        return len(hypothesis) + len(reference)
    distance = _EditDistance(reference)
    shifts = candidates = 0
    while True:
        distance.traced = hypothesis
        gain, shifted, candidates = best_shift(hypothesis, reference, distance, candidates)
        if candidates >= MAX_SHIFT_CANDIDATES or gain <= 0:
            return shifts + distance(hypothesis)[0]
        shifts += 1
        hypothesis = shifted


class _EditDistance:
    """Edit distance to one reference, as `best_shift` asks for it; the edits are traced for the list `traced` alone."""

    def __init__(self, reference: list[str]) -> None:
        self.traced: list[str] = []
        self.useful = 0  # a candidate that is farther than this cannot be chosen as the shift of `traced`
        self.size = len(reference)
        self.numbers = {word: number for number, word in enumerate(dict.fromkeys(reference))}
        self.reference = np.array([self.numbers[word] for word in reference])
        self.places = dict.fromkeys(reference, 0)  # word -> the bits of its places
        for place, word in enumerate(reference):
            self.places[word] |= 1 << place

    def __call__(self, hypothesis: list[str]) -> tuple[int, str]:
        if hypothesis is self.traced:
            table, differs = self._table(hypothesis)
            self.useful = int(table[-1, -1]) - 1
            return int(table[-1, -1]), _trace(table.tolist(), differs.tolist())
        distance = self._distance(hypothesis)
        # sacrebleu looks only `BEAM_WIDTH` cells to each side of the diagonal, which can only lengthen a distance. It
        # does not where a path out of this band and back (2 * BEAM_WIDTH inserted and deleted words, less the
        # difference in length) would cost more, and it does not matter where the candidate is beaten already.
        if distance <= self.useful:
            if distance + abs(len(hypothesis) - self.size) >= 2 * (BEAM_WIDTH - 1):
                distance = int(self._table(hypothesis)[0][-1, -1])
            self.useful = min(self.useful, distance)
        return distance, ""

    def _distance(self, hypothesis: list[str]) -> int:
        """The whole table's last cell; bit j of each integer speaks of reference word j in the current column."""
        full, last = (1 << self.size) - 1, 1 << (self.size - 1)
        rises, falls, distance = full, 0, self.size
        for word in hypothesis:
            equal = self.places.get(word, 0)
            diagonal = (((equal & rises) + rises) ^ rises) | equal | falls
            across_rises = falls | (full & ~(diagonal | rises))
            across_falls = rises & diagonal
            if across_rises & last:
                distance += 1
            elif across_falls & last:
                distance -= 1
            across_rises = (across_rises << 1 | 1) & full
            rises = (across_falls << 1 & full) | (full & ~(diagonal | across_rises))
            falls = across_rises & diagonal
        return distance

    def _table(self, hypothesis: list[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Distances of all prefixes `(hypothesis + 1, reference + 1)` in sacrebleu's band, and which words differ."""
        numbers = np.array([self.numbers.get(word, -1) for word in hypothesis])
        differs = numbers[:, None] != self.reference
        table = np.full((len(hypothesis) + 1, self.size + 1), _FAR)
        columns = np.arange(self.size + 1)
        table[0] = columns
        slope = self.size / len(hypothesis)
        width = math.ceil(slope / 2 + BEAM_WIDTH) if slope / 2 > BEAM_WIDTH else BEAM_WIDTH
        for row in range(1, len(table)):
            centre = math.floor(row * slope)
            first = max(1, centre - width)
            stop = self.size + 1 if row == len(hypothesis) else min(self.size + 1, centre + width)
            above = table[row - 1]
            if centre <= width:
                table[row, 0] = above[0] + 1
            band = slice(first, stop)
            substituted = above[first - 1 : stop - 1] + differs[row - 1, first - 1 : stop - 1]
            table[row, band] = np.minimum(substituted, above[band] + 1)
            # A run of insertions: the least of (cell k + j - k) over k <= j.
            run = slice(first - 1, stop)
            table[row, run] = np.minimum.accumulate(table[row, run] - columns[run]) + columns[run]
        return table, differs


def _trace(table: list[list[int]], differs: list[list[bool]]) -> str:
    """The edits along a cheapest path, a letter each; sacrebleu prefers keep and substitute, then delete."""
    row, column = len(table) - 1, len(table[0]) - 1
    edits = []
    while row or column:
        cost = table[row][column]
        if row and column and cost == table[row - 1][column - 1] + differs[row - 1][column - 1]:
            row, column = row - 1, column - 1
            edits.append("s" if differs[row][column] else " ")
        elif row and cost == table[row - 1][column] + 1:
            row -= 1
            edits.append("d")
        else:
            column -= 1
            edits.append("i")
    return "".join(reversed(edits))
