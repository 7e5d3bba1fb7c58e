"""Translation edit rate (Snover et al. 2006): sacrebleu's algorithm and numbers, with its slow inner step done faster.

To place one shift, sacrebleu tries up to 1,000 shifted hypotheses and fills a table for each: seconds for one bad
translation of 60 words, minutes for a test set. It needs the table of the hypothesis it starts from, but only the
*distance* of each candidate; the bit-parallel recurrence of Myers (1999) in Hyyrö's form (2003) gives that in one pass
over the words with a handful of integer operations each.
"""

from collections import defaultdict
from collections.abc import Sequence

from sacrebleu.metrics import TER
from sacrebleu.metrics.lib_ter import _BEAM_WIDTH, _MAX_SHIFT_CANDIDATES, BeamEditDistance, _shift


def ter(hypotheses: Sequence[str], references: Sequence[str]) -> float | None:
    """Corpus TER in percent, lower is better: sacrebleu's `TER().corpus_score`. None for no sentences at all."""
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references: expected as many of each")
    if not hypotheses:
        return None
    prepare = TER()._preprocess_segment
    edits = words = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        expected = prepare(reference).split()
        edits += _edits(prepare(hypothesis).split(), expected)
        words += len(expected)
    return 100 * edits / words if words else 100.0 * (edits > 0)


def _edits(hypothesis: list[str], reference: list[str]) -> int:
    """Shifts and word edits that turn one into the other: `sacrebleu.metrics.lib_ter.translation_edit_rate`."""
    if hypothesis == reference:
        return 0
    if not reference:
        return len(hypothesis)
    distance = _EditDistance(reference)
    shifts = candidates = 0
    while True:
        distance.traced = hypothesis
        gain, shifted, candidates = _shift(hypothesis, reference, distance, candidates)
        if candidates >= _MAX_SHIFT_CANDIDATES or gain <= 0:
            return shifts + distance(hypothesis)[0]
        shifts += 1
        hypothesis = shifted


class _EditDistance(BeamEditDistance):
    """Edit distance to one reference; the edits themselves are traced for the list `traced` alone."""

    def __init__(self, reference: list[str]) -> None:
        super().__init__(reference)
        self.traced: list[str] = []
        self.to_beat = 0  # the distance of `traced`: a shift must lessen it
        self.places: defaultdict[str, int] = defaultdict(int)  # word -> the bits of its places in the reference
        for place, word in enumerate(reference):
            self.places[word] |= 1 << place

    def __call__(self, hypothesis: list[str]) -> tuple[int, str]:
        if hypothesis is self.traced:
            self.to_beat, trace = super().__call__(hypothesis)
            return self.to_beat, trace
        distance = self._bit_parallel(hypothesis)
        # sacrebleu looks only `_BEAM_WIDTH` cells to each side of the diagonal, which can only lengthen a distance. It
        # does not where a path out of this band and back (2 * _BEAM_WIDTH inserted and deleted words, less the
        # difference in length) would cost more, and it does not matter where the shift gains nothing already.
        inside = distance + abs(len(hypothesis) - self._n_words_ref) < 2 * (_BEAM_WIDTH - 1)
        if inside or distance >= self.to_beat:
            return distance, ""
        return super().__call__(hypothesis)

    def _bit_parallel(self, hypothesis: list[str]) -> int:
        """Levenshtein distance; bit j of each integer is row j of the current column of the table."""
        size = self._n_words_ref
        full, last = (1 << size) - 1, 1 << (size - 1)
        rises, falls, distance = full, 0, size
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
