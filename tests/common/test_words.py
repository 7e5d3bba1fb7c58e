import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.words import word_starts, words
from lookback.data.units import count_words, units

# White space of every kind, scripts with and without spaces, combining marks alone, special tokens.
TEXT = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from(
            [" ", "  ", "\t", "\x1c", "\xa0", "\u2028", "\u3000", "中文", "カタカナ", "ไม่มี", "က္ကသိုလ်", "ភាសា"]
        ),
    )
).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" a  b\tc\xa0d\x1ce\u2028f ", ["a", "b", "c", "d", "e", "f"]),
        ("l' homme , 1 000 €", ["l'", "homme", ",", "1", "000", "€"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("한국어 텍스트", ["한국어", "텍스트"]),
        ("我是iPhone用户。", ["我", "是", "iPhone", "用", "户", "。"]),
        ("が" + unicodedata.normalize("NFD", "が"), ["が", unicodedata.normalize("NFD", "が")]),
        ("カード", ["カ", "ー", "ド"]),
        ("ที่นี่ ๒๕๖๗", ["ที่", "นี่", "๒๕๖๗"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(TEXT)
def test_words_are_those_of_split_or_parts_of_them(text: str) -> None:
    found = words(text)
    assert "".join(found) == "".join(text.split())
    assert len(found) >= len(text.split())
    assert [text[start : start + len(word)] for start, word in zip(word_starts(text), found, strict=True)] == found
    alphabetic = "".join(c for c in text if ord(c) < 0x0E00)
    assert words(alphabetic) == alphabetic.split(), "scripts with spaces"


@given(st.lists(TEXT), st.integers(0, 3), st.sampled_from([pa.string(), pa.large_string()]))
def test_counts_are_those_of_words(texts: list[str], start: int, type: pa.DataType) -> None:
    expected = [len(words(text)) for text in texts[start:]]
    column = pa.array(texts, type)[start:]
    for given_as in (column, pa.chunked_array([column[:1], column[1:]], type), texts[start:]):
        counts = count_words(given_as)
        assert counts.dtype == np.int64
        assert counts.tolist() == expected


@given(st.lists(TEXT))
def test_units_joined_by_spaces_are_the_texts(texts: list[str]) -> None:
    rest = iter(texts)
    for part in units(pa.array(texts, pa.string())):
        assert len(set(part.distinct)) == len(part.distinct)
        codes = iter(part.codes.tolist())
        for length in part.lengths.tolist():
            assert " ".join(part.distinct[next(codes)] for _ in range(length)) == next(rest)
    assert next(rest, None) is None
