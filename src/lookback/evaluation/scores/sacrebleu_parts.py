"""The private functions of sacrebleu that are used here: all of them in this one module.

pyproject.toml allows the versions that this was tested with: another one may change any of these without notice. The
tests compare every score with sacrebleu's own, so that such a change is seen.
"""

from collections.abc import Callable, Sequence

from sacrebleu.metrics import BLEU, CHRF, TER, lib_ter

BEAM_WIDTH: int = lib_ter._BEAM_WIDTH
"""Cells to each side of the diagonal of TER's table of edits that are filled"""
MAX_SHIFT_CANDIDATES: int = lib_ter._MAX_SHIFT_CANDIDATES
"""Shifted hypotheses of a sentence, after which TER looks for no further shift"""

EditDistance = Callable[[list[str]], tuple[int, str]]
"""The edits between a hypothesis and one reference: how many, and the letters of a cheapest path"""


def bleu_tokens(metric: BLEU, text: str) -> list[str]:
    """The tokens of a text as BLEU counts them."""
    return str(metric._preprocess_segment(text)).split()


def ter_words(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text as TER compares them by default: lowercased, and split at white space."""
    prepare = TER()._preprocess_segment
    return [prepare(text).split() for text in texts]


def chrf_counts(metric: CHRF, hypothesis: str, reference: str) -> list[int]:
    """For character n-grams of n = 1..6: those of the hypothesis, of the reference, and those that they share."""
    counts: list[int] = metric._compute_segment_statistics(hypothesis, metric._extract_reference_info([reference]))
    return counts


def best_shift(
    hypothesis: list[str], reference: list[str], distance: EditDistance, tried: int
) -> tuple[int, list[str], int]:
    """TER's next shift: by how much it lowers the distance, the shifted hypothesis, and how many were `tried` by then.

    `distance` takes the place of sacrebleu's table of edits, with its reference inside.
    """
    gain, shifted, tried = lib_ter._shift(hypothesis, reference, distance, tried)
    return gain, shifted, tried
