"""What this project's own tokenizers have in common: they never look across a space (U+0020).

So a text's ids are those of its units, one after the other, and each distinct unit need be encoded only once.
"""

from __future__ import annotations

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

# `str.split()` also splits at the four ASCII separators, which Unicode's White_Space property leaves out.
_ASCII_SEPARATORS = r"[\x1c-\x1f]"
# all that `str.isspace()` calls white space, without U+0020
_OTHER_SPACES = "[\t-\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"


def word_backend(model: models.Model, lowercase: bool) -> tokenizers.Tokenizer:
    """A tokenizer whose units are the words of `str.split()`; decoding joins them with one space."""
    backend = tokenizers.Tokenizer(model)
    if lowercase:
        backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(_ASCII_SEPARATORS), "removed"), pre_tokenizers.WhitespaceSplit()]
    )
    return backend


def piece_backend(model: models.Model, lowercase: bool) -> tokenizers.Tokenizer:
    """A tokenizer of pieces of words that keeps every character, so that decoding gives exactly the text.

    A word is preceded by its space, and so is the first, by one that decoding takes away again: the same word is the
    same pieces wherever it stands. Other white space stands alone, and a piece ends after `<`: thus no piece spans two
    words, and none can be spelt like one of the symbols or like the name of a byte, `<0x41>`.
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
    """Whether a text's ids may be others than those of its units: true for all but the two kinds of this module."""
    return bool(backend.get_added_tokens_decoder()) or _cutting(backend) not in _OWN_CUTTINGS


def _cutting(backend: tokenizers.Tokenizer) -> tuple[bytes, bytes]:
    """What decides where text is cut, as the library writes it."""
    normalizer, pre_tokenizer = backend.normalizer, backend.pre_tokenizer
    return (
        normalizer.__getstate__() if normalizer is not None else b"",
        pre_tokenizer.__getstate__() if pre_tokenizer is not None else b"",
    )


_OWN_CUTTINGS = frozenset(
    _cutting(kind(models.BPE(), lowercase)) for kind in (word_backend, piece_backend) for lowercase in (False, True)
)
