"""The backends of this project's own tokenizers: their tokens never span a space (U+0020).

Therefore a text's tokens are those of its units, one after the other, and each distinct unit is encoded only once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

from lookback.common.files import read_regular

# ``str.split()`` also splits at the four ASCII separators, which Unicode's White_Space property leaves out.
_ASCII_SEPARATORS = r"[\x1c-\x1f]"
# all white space of ``str.isspace()`` except U+0020
_OTHER_SPACES = "[\t-\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"

_LARGEST_FILE = 100_000_000  # bytes; a vocabulary of 256,000 tokens takes about 30 million
_MOST_GROWTH = 1000
_LONGEST_TOKEN = 10_000  # characters; also of a word that no space parts, such as an address
_TEXTS = ("content", "prepend", "prefix", "suffix", "replacement")
"""Keys of a step whose value it may write for a character."""


def word_backend(model: models.Model, lowercase: bool) -> tokenizers.Tokenizer:
    """A tokenizer whose units are the words of ``str.split()``. Decoding joins them with one space."""
    backend = tokenizers.Tokenizer(model)
    if lowercase:
        backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(_ASCII_SEPARATORS), "removed"), pre_tokenizers.WhitespaceSplit()]
    )
    return backend


def piece_backend(model: models.Model, lowercase: bool) -> tokenizers.Tokenizer:
    """A tokenizer of pieces of words that keeps every character, so that decoding gives exactly the text.

    A word begins with the space before it. The first word gets a space too, which decoding removes, so that a word has
    the same pieces wherever it stands. Other white space is a unit of its own, and a piece ends after ``<``. So no
    piece spans two words, and none is spelt like a special token or like the name of a byte, ``<0x41>``.
    """
    backend = tokenizers.Tokenizer(model)
    space = normalizers.Prepend(" ")
    backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), space]) if lowercase else space
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(" ", "merged_with_next"),
            pre_tokenizers.Split(Regex(_OTHER_SPACES), "isolated"),
            pre_tokenizers.Split("<", "merged_with_previous"),
        ]
    )
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return backend


def saved_backend(path: Path) -> tokenizers.Tokenizer:
    """The tokenizer in a file that this project saved.

    The file may be a stranger's. So what would take memory out of proportion to the text is refused: the library pads
    each text to whatever length the file says, and its steps replace a character by a text of any length.

    Raises:
        ValueError: if it is another file.
        Exception: whatever the library raises on malformed content.
    """
    text = read_regular(path, _LARGEST_FILE).decode()
    state: dict[str, Any] = json.loads(text)
    for part in ("padding", "truncation", "post_processor"):
        if state[part] is not None:
            raise ValueError(f"{part}: expected null")
    if (growth := _growth([state["normalizer"], state["pre_tokenizer"], state["decoder"]])) > _MOST_GROWTH:
        raise ValueError(f"its steps may make a text {growth:,} times as long")
    vocabulary, added = state["model"]["vocab"], state["added_tokens"]
    ids = set(range(len(vocabulary)) if isinstance(vocabulary, list) else vocabulary.values())
    ids |= {token["id"] for token in added}
    if ids != set(range(len(ids))):
        raise ValueError("ids: expected 0, 1, 2 and so on")
    pieces = (piece for piece, _ in vocabulary) if isinstance(vocabulary, list) else vocabulary
    longest = max((*map(len, pieces), *(len(token["content"]) for token in added)), default=0)
    if longest > _LONGEST_TOKEN:
        raise ValueError(f"a token of {longest:,} characters; expected {_LONGEST_TOKEN:,} at most")
    return tokenizers.Tokenizer.from_str(text)


def _growth(steps: Any) -> int:
    """How many times as long the steps may make a text, at most."""
    growth = 1
    if isinstance(steps, list):
        for step in steps:
            growth *= _growth(step)
    elif isinstance(steps, dict):
        if steps.get("type") in ("ByteLevel", "Precompiled"):  # more characters for one, as the step has them
            growth *= 4
        for key, value in steps.items():
            growth *= 1 + len(value) if key in _TEXTS and isinstance(value, str) else _growth(value)
    return growth


def looks_across_spaces(backend: tokenizers.Tokenizer) -> bool:
    """Whether a text's tokens may differ from those of its units: false only for the two kinds of this module."""
    return bool(backend.get_added_tokens_decoder()) or _splitting(backend) not in _OWN_SPLITTINGS


def _splitting(backend: tokenizers.Tokenizer) -> tuple[bytes, bytes]:
    """The steps that decide where text is split, as the library serializes them."""
    normalizer, pre_tokenizer = backend.normalizer, backend.pre_tokenizer
    return (
        normalizer.__getstate__() if normalizer is not None else b"",
        pre_tokenizer.__getstate__() if pre_tokenizer is not None else b"",
    )


_OWN_SPLITTINGS = frozenset(
    _splitting(kind(models.BPE(), lowercase)) for kind in (word_backend, piece_backend) for lowercase in (False, True)
)
