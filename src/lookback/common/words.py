"""The words of a text where text is measured rather than translated: lengths, limits, buckets."""

import re

Link = tuple[int, int]
"""Two words that are translations of each other: (source word, target word), counted from 0."""
UNKNOWN_WORDS = ("keep", "copy")
"""The settings for unknown words that are not the path of a dictionary."""

# Scripts that are written without spaces, their digits left out: Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar.
_UNSPACED = (
    "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
    "\u3041-\u3096\u309b-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f"
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46"
    "\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd\u0ec0-\u0ec6\u0edc-\u0edf"
    "\u1780-\u17b3\u17d7\u17dc"
    "\u1000-\u102a\u103f\u104c-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e\u109e\u109f"
    "\ua9e0-\ua9e4\ua9e6-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7a\uaa7e\uaa7f"
)
# Vowel signs, tones and the like belong to the character before them.
_COMBINING_MARKS = (
    "\u0300-\u036f\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    "\u17b4-\u17d3\u17dd"
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d"
    "\ua9e5\uaa7b-\uaa7d"
)
_WORD = re.compile(f"[{_UNSPACED}][{_COMBINING_MARKS}]*|[^\\s{_UNSPACED}]+")


def words(text: str) -> list[str]:
    """The words of a text: those of ``str.split()``, but each character of a script without spaces is a word.

    These scripts are Han, Hiragana, Katakana, Thai, Lao, Khmer and Myanmar. Combining marks belong to the character
    before them.
    """
    return text.split() if text.isascii() else _WORD.findall(text)


def has_spaced_words(*texts: str) -> bool:
    """Whether ``words`` gives as many words as ``str.split()``, which gold links count. Not so in all scripts."""
    return all(len(words(text)) == len(text.split()) for text in texts)


def word_starts(text: str) -> list[int]:
    """The index of the first character of each word."""
    return [match.start() for match in _WORD.finditer(text)]
