"""Text as it is drawn: in charts, on pages and in a terminal. Files keep the true text."""

import re

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]"
)
_PICTURES = {chr(code): chr(0x2400 + code) for code in range(0x20)} | {"\x7f": "\u2421"}


def visible(text: str) -> str:
    """``text`` with a visible sign in place of each character that cannot be drawn.

    A renderer of SVG ends the whole process at a character that XML does not allow. Control characters become their
    pictures, such as ␇ and ␛. Those without a picture, surrogates and code points that are no characters become �. Tab
    and line ends stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return _INVISIBLE.sub(lambda found: _PICTURES.get(found[0], "\ufffd"), text)


def visible_line(text: str) -> str:
    """The same in one line: a space stands for each line end."""
    return visible(" ".join(text.splitlines()))
