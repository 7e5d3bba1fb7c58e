"""Error rates of alignments, and one alignment out of two."""

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.words import Link
from lookback.evaluation import SYMMETRISATIONS, LinkCounts, count_links, shifted_links, symmetrise
from support.paths import SHARED

SHARED = SHARED / "data"
LINKS = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20)
DIRECTIONS = st.tuples(LINKS, LINKS, LINKS).map(lambda sets: (sets[0] | sets[1], sets[0] | sets[2]))
"""Those of two directions, which agree about some: chance alone would leave hardly anything to grow from."""


@given(LINKS, LINKS, LINKS)
def test_the_measures_are_their_definitions(found: set[Link], sure: set[Link], more: set[Link]) -> None:
    counts = count_links(sorted(found) * 2, sure, more)
    possible = sure | more
    assert (counts.precision is None, counts.recall is None) == (not found, not sure)
    assert (counts.aer is None) == (not found and not sure)
    if found:
        assert counts.precision == len([link for link in found if link in possible]) / len(found)
    if sure:
        assert counts.recall == len([link for link in sure if link in found]) / len(sure)
    if counts.aer is not None:
        right = sum((link in sure) + (link in possible) for link in found)
        assert counts.aer == pytest.approx(1 - right / (len(found) + len(sure)), abs=1e-12)
        assert 0 <= counts.aer <= 1
    if counts.precision is not None and counts.recall is not None and not more - sure:
        # with sure links alone it is 1 − F1
        f1 = 2 * len(found & sure) / (len(found) + len(sure))
        assert counts.aer == pytest.approx(1 - f1)


def test_a_known_case() -> None:
    """A = {0-0, 1-1, 2-1}, S = {0-0, 1-2}, P = S ∪ {2-1}: (1 + 2) / (3 + 2) are right."""
    counts = count_links([(0, 0), (1, 1), (2, 1)], [(0, 0), (1, 2)], [(2, 1)])
    assert counts == LinkCounts(3, 2, 1, 2)
    assert (counts.aer, counts.precision, counts.recall) == (pytest.approx(0.4), pytest.approx(2 / 3), 0.5)


def test_counts_add_up_over_sentences_and_rates_do_not() -> None:
    right, wrong = count_links([(0, 0)], [(0, 0)], []), count_links([(0, 1), (1, 0), (2, 0)], [(0, 0)], [])
    both = right + wrong
    assert both == LinkCounts(4, 2, 1, 1)
    assert (right.aer, wrong.aer, both.aer) == (0.0, 1.0, pytest.approx(1 - 2 / 6))
    assert sum([right, wrong], LinkCounts()) == both
    assert (LinkCounts().aer, LinkCounts().precision, LinkCounts().recall) == (None, None, None)


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 1000))
def test_a_shift_reads_the_row_after(target: int, source: int, seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(source + 1), size=target + 1)
    for shift in (0, -1):
        found = shifted_links(weights, shift)
        assert [j for _, j in found] == (list(range(target)) if source else [])
        for i, j in found:
            assert all(weights[j - shift, i] >= weights[j - shift, other] for other in range(source))


def test_the_end_marks_row_serves_the_last_word_and_its_column_nobody() -> None:
    weights = np.array([[0.1, 0.2, 0.7], [0.6, 0.4, 0.0], [0.0, 0.3, 0.7]])
    assert shifted_links(weights, 0) == [(1, 0), (0, 1)]
    assert shifted_links(weights, -1) == [(0, 0), (1, 1)]


def test_a_word_that_looks_at_the_end_mark_alone_has_no_link() -> None:
    assert shifted_links(np.array([[0.0, 1.0], [0.4, 0.6]]), 0) == []


@pytest.mark.parametrize("shift", [1, -2])
def test_another_shift_is_refused(shift: int) -> None:
    with pytest.raises(ValueError, match=f"shift={shift}: expected one of 0, -1"):
        shifted_links(np.ones((2, 2)), shift)


def test_weights_without_end_marks_are_refused() -> None:
    with pytest.raises(ValueError, match=r"weights: \(0, 3\)"):
        shifted_links(np.ones((0, 3)), 0)


def plain_grow_diag_final_and(forward: set[Link], backward: set[Link]) -> set[Link]:
    """As the pseudo-code has it: every cell of the table, again and again until a round adds nothing."""
    size = 1 + max((word for link in forward | backward for word in link), default=-1)
    table = np.zeros((size, size), dtype=bool)
    for i, j in forward & backward:
        table[i, j] = True
    added = True
    while added:
        added = False
        for i in range(size):
            for j in range(size):
                if not table[i, j]:
                    continue
                for a, b in [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]:
                    near = (i + a, j + b)
                    if near not in forward and near not in backward:
                        continue
                    if not table[near[0]].any() or not table[:, near[1]].any():
                        table[near] = added = True
    for direction in (forward, backward):
        for i in range(size):
            for j in range(size):
                if (i, j) in direction and not table[i].any() and not table[:, j].any():
                    table[i, j] = True
    return {(int(i), int(j)) for i, j in np.argwhere(table)}


@given(DIRECTIONS, st.randoms())
def test_growing_is_that_of_the_pseudo_code(directions: tuple[set[Link], set[Link]], random: Random) -> None:
    forward, backward = directions
    shuffled = sorted(forward)
    random.shuffle(shuffled)
    found = symmetrise(shuffled, backward, "grow-diag-final-and")
    assert found == sorted(plain_grow_diag_final_and(forward, backward))


@given(DIRECTIONS)
def test_growing_lies_between_intersection_and_union(directions: tuple[set[Link], set[Link]]) -> None:
    forward, backward = directions
    least, most, grown = (
        set(symmetrise(forward, backward, method)) for method in ("intersection", "union", "grow-diag-final-and")
    )
    assert (least, most) == (forward & backward, forward | backward)
    assert least <= grown <= most
    # final-and leaves no link whose words are both free
    assert all({i for i, _ in grown} & {a} or {j for _, j in grown} & {b} for a, b in most)


@given(LINKS)
@pytest.mark.parametrize("method", SYMMETRISATIONS)
def test_a_direction_with_itself_is_itself(method: str, links: set[Link]) -> None:
    assert symmetrise(links, links, method) == sorted(links)


@given(LINKS, LINKS)
@pytest.mark.parametrize("method", ["intersection", "union"])
def test_turning_both_sentences_round_turns_the_result(method: str, forward: set[Link], backward: set[Link]) -> None:
    turned = symmetrise([(j, i) for i, j in forward], [(j, i) for i, j in backward], method)
    assert sorted((j, i) for i, j in turned) == symmetrise(forward, backward, method)
    assert symmetrise(backward, forward, method) == symmetrise(forward, backward, method)


@pytest.mark.parametrize(
    ("forward", "backward", "expected"),
    [
        # a diagonal neighbour gives the words 1 and 1 their link
        ([(0, 0), (1, 1)], [(0, 0)], [(0, 0), (1, 1)]),
        # a neighbour both of whose words have links is left out
        ([(0, 0), (1, 1), (0, 1)], [(0, 0), (1, 1)], [(0, 0), (1, 1)]),
        # growing goes on from what has grown
        ([(0, 0), (0, 1), (0, 2)], [(0, 0)], [(0, 0), (0, 1), (0, 2)]),
        # no neighbour, both words free: the last step adds it; one word free: final-and does not
        ([(0, 0), (5, 5), (0, 3)], [(0, 0)], [(0, 0), (5, 5)]),
        # of rivals in the last step the forward one wins
        ([(2, 2)], [(2, 5)], [(2, 2)]),
        ([], [], []),
    ],
)
def test_known_cases_of_growing(forward: list[Link], backward: list[Link], expected: list[Link]) -> None:
    assert symmetrise(forward, backward, "grow-diag-final-and") == expected


def test_growing_depends_on_the_direction_where_links_are_rivals() -> None:
    """Why transposition is promised for the other methods only."""
    assert symmetrise([(2, 2)], [(2, 5)], "grow-diag-final-and") == [(2, 2)]
    assert symmetrise([(5, 2)], [(2, 2)], "grow-diag-final-and") == [(5, 2)]


def test_another_method_is_refused() -> None:
    with pytest.raises(ValueError, match="method='grow': expected one of intersection, union, grow-diag-final-and"):
        symmetrise([], [], "grow")


def gold(folder: str, name: str) -> Iterator[tuple[int, int, list[Link], list[Link]]]:
    """(source words, target words, sure, possible) of each pair."""
    base = SHARED / folder / name
    if not base.with_suffix(".en-fr.talp").is_file():
        pytest.skip(f"no gold alignments: {base}.en-fr.talp is not there")
    texts = [base.with_suffix(end).read_text(encoding="utf-8").splitlines() for end in (".en", ".fr", ".en-fr.talp")]
    for source, target, line in zip(*texts, strict=True):
        kinds: dict[str, list[Link]] = {"-": [], "p": []}
        for text in line.split():
            mark = "p" if "p" in text else "-"
            i, j = text.split(mark)
            kinds[mark].append((int(i), int(j)))
        yield len(source.split()), len(target.split()), kinds["-"], kinds["p"]


def test_the_formulae_on_the_hansards_gold() -> None:
    """What is known of a corpus that everyone uses: gold is perfect, the diagonal is half wrong, chance nearly all."""
    random = np.random.default_rng(1)
    perfect = diagonal = chance = LinkCounts()
    for source, target, sure, possible in gold("hansards", "align_dev"):
        perfect += count_links(sure, sure, possible)
        even = [(round(j * (source - 1) / max(target - 1, 1)), j) for j in range(target)]
        diagonal += count_links(even, sure, possible)
        chance += count_links(shifted_links(random.random((target + 1, source + 1)), 0), sure, possible)
    print(f"align_dev: diagonal {diagonal.aer:.3f}, chance {chance.aer:.3f}, {perfect.sure} sure links")
    assert (perfect.aer, perfect.precision, perfect.recall) == (0.0, 1.0, 1.0)
    assert diagonal.aer == pytest.approx(0.54, abs=0.06)
    assert chance.aer == pytest.approx(0.88, abs=0.04)
