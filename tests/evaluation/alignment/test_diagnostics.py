"""How a look back is described in numbers."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.evaluation import Diagnostics, diagnose

SIZES = st.integers(0, 6)


def attention(target: int, source: int, seed: int) -> np.ndarray:
    """(target + 1, source + 1); some rows look at one place."""
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.ones(source + 1), size=target + 1)
    single = random.random(target + 1) < 0.3
    weights[single] = np.eye(source + 1)[random.integers(source + 1, size=single.sum())]
    return weights


def plain(weights: np.ndarray) -> Diagnostics:
    """The definitions, word by word."""
    targets, sources = weights.shape[0] - 1, weights.shape[1] - 1
    if targets == 0:
        return Diagnostics(None, None, None, None, None)
    entropies = [-sum(p * math.log(p) for p in row if p > 0) for row in weights[:-1]]
    coverage = [min(1.0, sum(weights[j, i] for j in range(targets))) for i in range(sources)]
    looks, distances = [], []
    for j in range(targets):
        words = [float(weights[j, i]) for i in range(sources)]
        if sum(words) == 0:
            continue
        looks.append(words.index(max(words)))
        if targets > 1 and sources > 1:
            away = [abs(i / (sources - 1) - j / (targets - 1)) for i in range(sources)]
            distances.append(sum(p * d for p, d in zip(words, away, strict=True)) / sum(words))
    steps = [after >= before for before, after in pairwise(looks)]
    return Diagnostics(
        sum(entropies) / targets,
        sum(max(row) for row in weights[:-1]) / targets,
        sum(coverage) / sources if sources else None,
        sum(steps) / len(steps) if steps else None,
        1 - sum(distances) / len(distances) if distances else None,
    )


@given(SIZES, SIZES, st.integers(0, 1000))
def test_each_number_is_its_definition(target: int, source: int, seed: int) -> None:
    weights = attention(target, source, seed)
    for found, expected in zip(diagnose(weights), plain(weights), strict=True):
        assert found == (None if expected is None else pytest.approx(expected, abs=1e-12))


@given(SIZES, SIZES, st.integers(0, 1000))
def test_ranges_and_no_nan(target: int, source: int, seed: int) -> None:
    found = diagnose(attention(target, source, seed).astype(np.float16))
    assert all(value is None or isinstance(value, float) for value in found)
    highest = [math.log(source + 1), 1, 1, 1, 1]
    assert all(value is None or 0 <= value <= most + 2e-3 for value, most in zip(found, highest, strict=True))
    assert not any(str(value) == "-0.0" for value in found)


def test_what_is_perfectly_sharp_and_diagonal() -> None:
    assert diagnose(np.eye(5)) == Diagnostics(0.0, 1.0, 1.0, 1.0, 1.0)
    # backwards: every source word is read, in the wrong order; half the way from the diagonal on average
    backward = np.eye(5)[[3, 2, 1, 0, 4]]
    assert diagnose(backward) == Diagnostics(0.0, 1.0, 1.0, 0.0, pytest.approx(1 - (1 + 1 / 3 + 1 / 3 + 1) / 4))


def test_what_looks_everywhere_alike() -> None:
    found = diagnose(np.full((3, 4), 0.25))
    assert found.entropy == pytest.approx(math.log(4))
    assert found.sharpness == 0.25
    assert found.coverage == pytest.approx(0.5)  # two target words, a quarter each
    assert found.monotonicity == 1.0  # the first of equal ones, again and again
    assert found.diagonality == pytest.approx(0.5)


def test_the_targets_end_mark_changes_nothing() -> None:
    weights = attention(4, 4, 2)
    changed = weights.copy()
    changed[-1] = np.eye(5)[0]
    assert diagnose(changed) == diagnose(weights)


def test_the_sources_end_mark_is_a_place_but_no_word() -> None:
    away = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert diagnose(away) == Diagnostics(0.0, 1.0, 0.0, None, None)
    # of three target words one looks away: the order and the diagonal are those of the others, at 0 and 2
    mixed = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    found = diagnose(mixed)
    assert (found.coverage, found.monotonicity, found.diagonality) == (0.75, 1.0, 1.0)


@pytest.mark.parametrize(
    ("target", "source", "absent"),
    [
        (0, 3, ["entropy", "sharpness", "coverage", "monotonicity", "diagonality"]),
        (1, 3, ["monotonicity", "diagonality"]),
        (3, 1, ["diagonality"]),
        (1, 1, ["monotonicity", "diagonality"]),
        (3, 0, ["coverage", "monotonicity", "diagonality"]),
        (2, 2, []),
    ],
)
def test_short_sentences_have_what_is_defined(target: int, source: int, absent: list[str]) -> None:
    found = diagnose(np.full((target + 1, source + 1), 1 / (source + 1)))
    assert [name for name, value in found._asdict().items() if value is None] == absent


def test_weights_that_are_no_numbers_have_no_diagnostics() -> None:
    """As of a training that diverged; what is no number is no warning either."""
    weights = np.eye(4)
    weights[1] = np.nan
    assert diagnose(weights) == Diagnostics(None, None, None, None, None)
    assert diagnose(np.full((3, 4), np.nan)) == Diagnostics(None, None, None, None, None)


def test_weights_without_end_marks_are_refused() -> None:
    with pytest.raises(ValueError, match=r"weights: \(3, 0\)"):
        diagnose(np.ones((3, 0)))
