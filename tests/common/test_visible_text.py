"""Text as it is drawn."""

import unicodedata

import pytest

from lookback.common.visible_text import visible


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("a\x07b", "a␇b"),
        ("\x1b[31m", "␛[31m"),
        ("\x00\x1f\x7f", "␀␟␡"),
        ("\x80\x9b", "\ufffd\ufffd"),
        ("\ud800", "\ufffd"),
        ("\ufffe\uffff\ufdd0\U0001fffe\U0010ffff", "\ufffd" * 5),
        ("tab\tand\r\nline\x85", "tab\tand\r\nline\x85"),
        ("naïve 漢字 👩\u200d💻 \u202e\ue000", "naïve 漢字 👩\u200d💻 \u202e\ue000"),
    ],
)
def test_what_cannot_be_drawn_has_a_visible_sign(text: str, drawn: str) -> None:
    assert visible(text) == drawn


def test_nothing_that_xml_refuses_is_left_and_every_letter_is_left_as_it_is() -> None:
    for code in range(0x110000):
        shown = ord(visible(chr(code)))
        # https://www.w3.org/TR/xml/#charsets
        assert shown in (0x9, 0xA, 0xD) or 0x20 <= shown <= 0xD7FF or 0xE000 <= shown <= 0xFFFD or shown >= 0x10000
        if unicodedata.category(chr(code))[0] in "LMNPSZ":
            assert shown == code
