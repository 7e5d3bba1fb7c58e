"""Broken attentions are told from sound ones."""

import numpy as np
import pytest
from numpy.typing import NDArray

from lookback.translation.doctor.attention_health import NAMES, attention_health

Table = NDArray[np.float64]


def sharp(rows: int, columns: int, share: float) -> Table:
    """Along the diagonal: `share` of each look at one place, the rest at all alike."""
    weights = np.full((rows, columns), (1 - share) / columns)
    weights[np.arange(rows), np.arange(rows) * columns // rows] += share
    return weights


def at(column: int, rows: int, columns: int, share: float) -> Table:
    """`share` of each look at one column."""
    weights = np.full((rows, columns), (1 - share) / columns)
    weights[:, column] += share
    return weights


def verdicts(tables: list[Table]) -> dict[str, str]:
    findings = attention_health(tables)
    assert [finding.check for finding in findings] == list(NAMES)
    return {finding.check: finding.verdict for finding in findings if finding.verdict != "ok"}


SIZES = [(6, 7), (12, 9), (40, 38)]


@pytest.mark.parametrize("share", [0.5, 0.7, 1.0])
def test_looks_along_the_sentence_are_sound(share: float) -> None:
    assert verdicts([sharp(*size, share) for size in SIZES]) == {}


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_an_attention_on_one_word_is_found(share: float) -> None:
    found = verdicts([at(2, *size, share) for size in SIZES])
    assert found["attention on one word"] == "warning"
    assert ("words never looked at" in found) == (share == 1.0)
    assert "attention on the end mark" not in found


def test_an_attention_on_the_end_mark_is_found() -> None:
    assert set(verdicts([at(-1, *size, 0.9) for size in SIZES])) >= {"attention on the end mark"}


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_an_even_attention_is_found(share: float) -> None:
    assert verdicts([sharp(*size, share) for size in SIZES]) == {"attention entropy": "warning"}


def test_an_attention_that_reads_half_of_the_source_is_found() -> None:
    tables = [np.concatenate([sharp(20, 10, 1.0), np.zeros((20, 10))], axis=1)]
    assert verdicts(tables) == {"words never looked at": "warning"}


def test_short_sentences_and_the_row_of_the_end_mark_say_nothing() -> None:
    short = at(0, 3, 4, 1.0)
    assert [finding.verdict for finding in attention_health([short])] == ["skipped"] * 4
    with_end = np.concatenate([sharp(20, 20, 1.0), at(3, 1, 20, 1.0)])
    before, after = (attention_health(tables) for tables in ([with_end], [with_end, short]))
    assert before == after
    assert before[0].measured == pytest.approx(1 / 20)


def test_weights_that_are_no_numbers_are_no_health() -> None:
    assert set(verdicts([np.full((8, 8), np.nan)])) == set(NAMES)
