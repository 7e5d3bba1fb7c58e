"""How good a word alignment is: its error rate against gold links, and one alignment out of two directions."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lookback.common.words import Link
from lookback.evaluation.alignment.links import links

SHIFTS = (0, -1)
"""Which look belongs to a target word: 0: the one that it was written after; -1: the next, when the decoder read it."""

Symmetrisation = Literal["intersection", "union", "grow-diag-final-and"]
SYMMETRISATIONS = get_args(Symmetrisation)
"""How two directions become one."""

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


@dataclass(frozen=True)
class LinkCounts:
    """What alignments have in common with gold ones; counts of sentences add up to those of a corpus.

    With A the links that were found, S the sure and P ⊇ S the possible ones of people (Och & Ney 2003, "A Systematic
    Comparison of Various Statistical Alignment Models", § 4.2); each measure is None where it would divide by 0.

    Attributes:
        links: |A|
        sure: |S|
        links_in_sure: |A ∩ S|
        links_in_possible: |A ∩ P|
    """

    links: int = 0
    sure: int = 0
    links_in_sure: int = 0
    links_in_possible: int = 0

    def __add__(self, other: "LinkCounts") -> "LinkCounts":
        return LinkCounts(
            self.links + other.links,
            self.sure + other.sure,
            self.links_in_sure + other.links_in_sure,
            self.links_in_possible + other.links_in_possible,
        )

    @property
    def aer(self) -> float | None:
        """Alignment error rate, 0 (best) to 1: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)."""
        right = _share(self.links_in_sure + self.links_in_possible, self.links + self.sure)
        return None if right is None else 1 - right

    @property
    def precision(self) -> float | None:
        """|A ∩ P| / |A|"""
        return _share(self.links_in_possible, self.links)

    @property
    def recall(self) -> float | None:
        """|A ∩ S| / |S|"""
        return _share(self.links_in_sure, self.sure)


def count_links(found: Iterable[Link], sure: Iterable[Link], possible: Iterable[Link]) -> LinkCounts:
    """The counts of one sentence. A sure link is possible, whether or not ``possible`` repeats it."""
    found, sure = set(found), set(sure)
    return LinkCounts(len(found), len(sure), len(found & sure), len(found & (sure | set(possible))))


def shifted_links(weights: NDArray[np.floating], shift: int) -> list[Link]:
    """For each target word the source word that it looks at most, the source's end mark aside.

    A decoder that attends with its previous state may look at the word that it has just read instead of the one that it
    is about to write: then word j's link is found in the step after (Chen et al. 2020, "Accurate Word Alignment
    Induction from Neural Machine Translation", § 3, "Shift-Att"). The end mark's row serves the last word there.

    Args:
        weights: (target words + 1, source words + 1), end marks last.
        shift: 0: word j's own row, j; -1: the next one, j + 1.

    Errors: ValueError for another shift, or for weights that are no table with both end marks.
    """
    if shift not in SHIFTS:
        raise ValueError(f"shift={shift!r}: expected one of {', '.join(map(str, SHIFTS))}")
    if weights.ndim != 2 or 0 in weights.shape:
        raise ValueError(f"weights: {weights.shape}, expected (target words + 1, source words + 1)")
    rows = weights[:-1] if shift == 0 else weights[1:]
    return links(rows[:, :-1])


def symmetrise(forward: Iterable[Link], backward: Iterable[Link], method: str) -> list[Link]:
    """One alignment out of those of two directions (Koehn et al. 2003, "Statistical Phrase-Based Translation", § 4.5).

    ``grow-diag-final-and`` (Koehn et al. 2005, "Edinburgh System Description for the 2005 IWSLT Speech Translation
    Evaluation") begins with the links of both directions. To these it adds, again and again, the neighbours of a link,
    diagonals included, that one direction has and that give a link to a word without any; and at last those links of
    the forward, then of the backward direction that have two words without a link. Links are visited by their source
    word, then their target word, so that the order in which they are given changes nothing. The union does not depend
    on the direction, nor does the intersection; of the rest, which of two rivals wins can.

    Args:
        forward: links (source word, target word).
        backward: links of the other direction's model, turned round: (source word, target word) of the forward one.
        method: one of ``SYMMETRISATIONS``.

    Returns: the links, sorted.

    Errors: ValueError for another method.
    """
    if method not in SYMMETRISATIONS:
        raise ValueError(f"method={method!r}: expected one of {', '.join(SYMMETRISATIONS)}")
    forward, backward = set(forward), set(backward)
    if method == "intersection":
        return sorted(forward & backward)
    if method == "union":
        return sorted(forward | backward)
    return _grow_diag_final_and(forward, backward)


def _grow_diag_final_and(forward: set[Link], backward: set[Link]) -> list[Link]:
    union = forward | backward
    grown = forward & backward
    sources, targets = {i for i, _ in grown}, {j for _, j in grown}

    def add(link: Link) -> None:
        grown.add(link)
        sources.add(link[0])
        targets.add(link[1])

    # what is refused once is refused for ever, since words only gain links: each link is visited once
    later = list(grown)
    while later:
        now, later = later, []
        heapq.heapify(now)
        while now:
            i, j = heapq.heappop(now)
            for down, right in _NEIGHBOURS:
                near = (i + down, j + right)
                if near in union and near not in grown and (near[0] not in sources or near[1] not in targets):
                    add(near)
                    if near > (i, j):  # this pass still comes to it
                        heapq.heappush(now, near)
                    else:
                        later.append(near)
    for direction in (forward, backward):
        for i, j in sorted(direction):
            if i not in sources and j not in targets:
                add((i, j))
    return sorted(grown)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
