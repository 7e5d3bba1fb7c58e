"""Turns a hypothesis into text, with unknown words replaced, and into links between words."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lookback.common.errors import InputError
from lookback.common.special_tokens import SPECIAL_TOKENS, UNK
from lookback.common.suggestions import nearest
from lookback.common.words import UNKNOWN_WORDS, Link
from lookback.data import Tokenizer
from lookback.data.corpora.lines import check_file, read_lines
from lookback.evaluation import links, merge_to_words, reading_statistics
from lookback.search import Hypothesis


class Writer:
    """Writes hypotheses as text, and their attention as links between words of the raw source and of that text.

    Args:
        source_tokenizer: of the source language.
        target_tokenizer: of the target language.
        dictionary: replaces unknown words (Luong et al. 2015b, "Addressing the Rare Word Problem"). An unknown word is
            written as the entry of the source word with the largest attention weight, or as that source word itself if
            it has no entry. Source words are those of the raw text, because the model may not know them either. None:
            unknown words stay ``<unk>``. It must be None if the model does not look back.
    """

    def __init__(
        self, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, dictionary: Mapping[str, str] | None
    ) -> None:
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.dictionary = dictionary

    def text(self, source: str, hypothesis: Hypothesis) -> str:
        """The text of ``hypothesis``, a translation of ``source``."""
        text = self.target_tokenizer.decode(hypothesis.tokens)
        if self.dictionary is None or UNK not in hypothesis.tokens:
            return text
        # from the last to the first, so that the places before it do not move. The place is looked up, because the text
        # may also have a word that is spelt ``<unk>``
        unknown = [i for i, token in enumerate(hypothesis.tokens) if token == UNK]
        for i, word in reversed(list(zip(unknown, self._replacements(source, hypothesis), strict=True))):
            before = len(self.target_tokenizer.decode(hypothesis.tokens[:i]))
            text = text[:before] + text[before:].replace(SPECIAL_TOKENS[UNK], word, 1)
        return text

    def links(self, source: str, hypothesis: Hypothesis) -> list[Link]:
        """(source word, target word) for each word of the text: the source word with the largest attention weight."""
        if not hypothesis.tokens:
            return []
        words, word_of_token = self.target_tokenizer.words_of(hypothesis.tokens)
        weights = self._weights(source, hypothesis, word_of_token, len(words))
        # if an entry of the dictionary has several words, each gets the weights of the unknown word
        copies = np.ones(len(words), dtype=np.int64)
        if self.dictionary is not None and UNK in hypothesis.tokens:
            unknown = [word_of_token[i] for i, token in enumerate(hypothesis.tokens) if token == UNK]
            for place, written in zip(unknown, self._replacements(source, hypothesis), strict=True):
                copies[place] += len(written.split()) - 1
        return links(np.repeat(weights, copies, axis=0))

    def reading(self, source: str, hypothesis: Hypothesis) -> tuple[int, int]:
        """``reading_statistics`` of a translation, its end mark aside: source words never looked at, and all."""
        weights = hypothesis.alignment[: len(hypothesis.tokens)].double().numpy()
        words = len(self.source_tokenizer.alignment_words(source))
        return reading_statistics(weights, self.source_tokenizer.pieces(source)[1], words)

    def _replacements(self, source: str, hypothesis: Hypothesis) -> list[str]:
        """What is written for each unknown word of ``hypothesis``, in their order. There must be a dictionary."""
        assert self.dictionary is not None
        words = self.source_tokenizer.alignment_words(source)
        tokens = range(len(hypothesis.tokens))
        looked_at = {j: words[i] for i, j in links(self._weights(source, hypothesis, tokens, len(tokens)))}
        looked_at = {j: self.dictionary.get(word, word) for j, word in looked_at.items()}
        return [looked_at.get(j, SPECIAL_TOKENS[UNK]) for j in tokens if hypothesis.tokens[j] == UNK]

    def _weights(
        self, source: str, hypothesis: Hypothesis, word_of_token: Sequence[int], words: int
    ) -> NDArray[np.float64]:
        """The attention weights of ``hypothesis`` in words, without end marks.

        Args:
            source: the raw text.
            hypothesis: its translation.
            word_of_token: the number of the target word that each token belongs to.
            words: how many target words there are.

        Returns:
            (words, source words).
        """
        _, source_word_of_token = self.source_tokenizer.pieces(source)
        source_words = len(self.source_tokenizer.alignment_words(source))
        weights = hypothesis.alignment[: len(hypothesis.tokens)].double().numpy()
        return merge_to_words(weights, word_of_token, [*source_word_of_token, -1], words, source_words)


def read_dictionary(unknown_words: str) -> dict[str, str] | None:
    """The dictionary of a ``Writer`` for a setting of ``unknown_words``.

    Args:
        unknown_words: ``keep``: no dictionary. ``copy``: a dictionary without entries. Anything else is the path of a
            UTF-8 file, plain or .gz, with a line ``source<TAB>target`` for each source word.

    Raises:
        InputError: if there is no such file, or if a line of it is not an entry.
    """
    if unknown_words == "keep":
        return None
    if unknown_words == "copy":
        return {}
    path = Path(unknown_words).expanduser()
    if not path.exists():
        raise InputError(
            f"unknown_words={unknown_words}: no such file; expected {', '.join(UNKNOWN_WORDS)} or a dictionary, a line "
            f"source<TAB>target for each word{nearest(unknown_words, UNKNOWN_WORDS)}"
        )
    check_file(path)
    entries: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        source, *targets = (side.strip() for side in line.split("\t"))
        if len(targets) != 1 or not targets[0] or len(source.split()) != 1:
            raise InputError(f"{path}:{number}: {line!r}, expected source<TAB>target: a word and its translation")
        if source in entries:
            raise InputError(f"{path}:{number}: a second entry for {source!r}, expected one for each source word")
        entries[source] = targets[0]
    return entries
