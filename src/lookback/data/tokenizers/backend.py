"""The backends of this project's own tokenizers: their tokens never span a space (U+0020).

Therefore a text's tokens are those of its units, one after the other, and each distinct unit is encoded only once.
"""

from __future__ import annotations

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

# ``str.split()`` also splits at the four ASCII separators, which Unicode's White_Space property leaves out.
_ASCII_SEPARATORS = r"[\x1c-\x1f]"
# all white space of ``str.isspace()`` except U+0020
_OTHER_SPACES = "[\t-\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"


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
