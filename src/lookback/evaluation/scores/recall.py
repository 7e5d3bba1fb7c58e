"""Where in the source are the words whose translation is lost? Counted with gold links between source and target words.

A reference word that is linked to a source word stands for it. So the share of these words that a translation has,
apart for the first fifth of the source, the second one, and so on, shows which part of a sentence was forgotten. What
is counted, and what that cannot tell:

- Words are those of `str.split()`, as links count them, and are compared as they are: another form of the right word,
  or a synonym, is a loss. Shares of two systems on the same sentences share this fault.
- A reference word that occurs c times in the reference and h times in the translation counts as found to the share
  min(1, h / c): of several equal words nobody knows which one is missing.
- The word's place in the translation does not matter. So a word that is there by chance counts, such as `the` or a
  full stop. How much chance alone finds is measured on the translation of another sentence of the same length.
- A source of fewer than five words has no word in some of the fifths.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookback.common.words import Link

FIFTHS = 5
LINKED = slice(0, FIFTHS)
FOUND = slice(FIFTHS, 2 * FIFTHS)
CHANCE = slice(2 * FIFTHS, 3 * FIFTHS)
ALIGNED = 3 * FIFTHS
COLUMNS = 3 * FIFTHS + 1


def linked_words(links: Sequence[Link], source_words: int, target_words: int) -> NDArray[np.float64]:
    """How much of each target word belongs to each fifth of the source: `(target_words, 5)`.

    Source word i of S belongs to fifth ⌊5 i / S⌋. A target word that is linked to k source words counts 1 / k at each
    of them, so that its row sums to 1; one without a link has a row of zeros. A link that comes twice is one.

    Raises `ValueError` for a link to a word that is not there.
    """
    shares = np.zeros((target_words, FIFTHS))
    for i, j in set(links):
        if not (0 <= i < source_words and 0 <= j < target_words):
            raise ValueError(f"link {i}-{j}: expected words 0 to {source_words - 1} and 0 to {target_words - 1}")
        shares[j, FIFTHS * i // source_words] += 1
    return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)


def recalled(reference: Sequence[str], hypothesis: Sequence[str]) -> NDArray[np.float64]:
    """How much of each word of the reference the translation has, order left out: min(1, h / c), `(words,)`."""
    expected, written = Counter(reference), Counter(hypothesis)
    return np.array([min(1.0, written[word] / expected[word]) for word in reference])


def recall_statistics(
    hypotheses: Sequence[str],
    references: Sequence[str],
    source_length: ArrayLike,
    links: Sequence[Sequence[Link] | None],
) -> NDArray[np.float64]:
    """Count, for each sentence, what its recall by source position is made of: `(sentences, 16)`.

    For each fifth of the source: `LINKED` reference words that are linked to it, how many of them the translation has
    (`FOUND`), and how many the translation of another sentence has (`CHANCE`). Then `ALIGNED`, 1 where a sentence has
    links at all. A sentence without links (None, or none) is all zeros.

    The other sentence is the next one in an order by `source_length` (words of the source), then by a hash: it is as
    long or nearly, it has another reference, and it does not depend on the order of the sentences. Where all references
    are equal there is none, and chance finds nothing.

    Raises `ValueError` if what is given differs in length, or for a link to a word that is not there.
    """
    lengths = np.asarray(source_length)
    if len({len(hypotheses), len(references), len(lengths), len(links)}) > 1:
        raise ValueError(
            f"{len(hypotheses)} hypotheses, {len(references)} references, {len(lengths)} source lengths, "
            f"{len(links)} alignments: expected as many of each"
        )
    rows = np.zeros((len(hypotheses), COLUMNS))
    others = _others(lengths, references, hypotheses)
    for place, row in enumerate(rows):
        if not (gold := links[place]):
            continue
        expected = references[place].split()
        shares = linked_words(gold, int(lengths[place]), len(expected))
        row[LINKED] = shares.sum(axis=0)
        row[FOUND] = recalled(expected, hypotheses[place].split()) @ shares
        if (other := others[place]) is not None:
            row[CHANCE] = recalled(expected, hypotheses[other].split()) @ shares
        row[ALIGNED] = 1
    return rows


def _others(lengths: NDArray[np.int64], references: Sequence[str], hypotheses: Sequence[str]) -> list[int | None]:
    """For each sentence the place of the next one, by length and then by hash, that has another reference."""
    hashed = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in references]
    order = sorted(range(len(references)), key=lambda i: (lengths[i], hashed[i], hypotheses[i]))
    groups: list[list[int]] = []
    for place in order:
        if groups and references[groups[-1][0]] == references[place]:
            groups[-1].append(place)
        else:
            groups.append([place])
    others: list[int | None] = [None] * len(references)
    for number, group in enumerate(groups if len(groups) > 1 else []):
        next_one = groups[number + 1] if number + 1 < len(groups) else groups[number - 1]
        for place in group:
            others[place] = next_one[0]
    return others
