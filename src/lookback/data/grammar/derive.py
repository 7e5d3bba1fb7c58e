"""Derives sentences of an exact length: the grammar, conditioned on the number of source words.

A synchronous grammar with weighted rules is a distribution over pairs of sentences. Given how likely each constituent
is to yield so many words (`lengths`), drawing rules and shares of the words from the top down draws from the grammar's
own distribution given the length, exactly, and never discards a derivation.
"""

from bisect import bisect
from collections import deque
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

from lookback.data.grammar.inflection import Entry, entries
from lookback.data.grammar.lengths import Lengths
from lookback.data.grammar.notation import ROOT, Rule, grammar
from lookback.data.grammar.orthography import spell_english, spell_french

# A word of these classes is drawn again if it begins like one of the last few: nobody says "the doctor of the doctors".
_MEMORY, _BEGINNING = 6, 4
_OPEN = (
    "Noun", "Adjective", "After", "Size", "Opinion", "Time",
    "Transitive", "Resting", "Moving", "Giving", "Talking", "Thinking",
)  # fmt: skip

_Yield = tuple[list[str], list[list[int]]]  # French words, and the English positions that each is aligned to
_NOTHING: _Yield = ([], [])


class Pair(NamedTuple):
    """A sentence, its translation, and the gold alignment: sorted 0-based pairs of source and target word."""

    source: str
    target: str
    alignment: list[tuple[int, int]]


class Deriver:
    """The grammar over one lexicon, ready to derive pairs of any requested length.

    Args:
        lexicon: name of a size in `lookback.data.grammar.lexicon.SIZES`.
    """

    def __init__(self, lexicon: str) -> None:
        self.words: dict[str, list[Entry]] = entries(lexicon)
        self.rules: dict[str, list[Rule]] = grammar(self.words)
        self._lengths = Lengths(self.words, self.rules)
        self._open = {symbol for symbol in self.words if symbol.startswith(_OPEN)}
        self._choices: dict[tuple[str, int], tuple[list[float], list[Any]]] = {}
        self._splits: dict[tuple[tuple[str, ...], int], list[float]] = {}
        self._recent: deque[str] = deque(maxlen=_MEMORY)

    def probability(self, length: int) -> float:
        """The grammar's own probability of a sentence of `length` words; 0 where there is none."""
        return [self._weigh((ROOT,), words) for words in range(length + 1)][-1]  # bottom up: recursion stays shallow

    def derive(self, length: int, random: Random) -> Pair:
        """Draw a pair whose source has exactly `length` words, the end mark included.

        Raises:
            ValueError: if the grammar has no sentence of that length.
        """
        if (ROOT, length) not in self._choices and self.probability(length) == 0.0:
            raise ValueError(f"length={length}: the grammar has no sentence of so many words")
        self._recent.clear()
        source: list[str] = []
        target, links = spell_french(*self._expand(ROOT, length, source, random))
        alignment = sorted({(i, j) for j, places in enumerate(links) for i in places})
        return Pair(" ".join(spell_english(source)), " ".join(target), alignment)

    def _expand(self, symbol: str, length: int, source: list[str], random: Random) -> _Yield:
        """Append `length` English words of `symbol` to `source`; return its French."""
        if symbol in self.words:
            return self._put(symbol, length, source, random)
        rule: Rule = self._choose(symbol, length, random)
        if rule.renames:
            return self._expand(rule.source[0], length, source, random)
        shares = iter(self._share_out(rule, length, random))
        starts: list[int] = []  # where each item of the English side begins in `source`
        yields: list[_Yield] = []
        for item in rule.source:
            starts.append(len(source))
            if item[0].isupper():
                yields.append(self._expand(item, next(shares), source, random))
            else:
                source.append(item)
                yields.append(_NOTHING)
        starts.append(len(source))
        words: list[str] = []
        links: list[list[int]] = []
        for word, place, linked in rule.target:
            extra = [i for other in linked for i in range(starts[other], starts[other + 1])] if linked else []
            if word is not None:
                words.append(word)
                links.append(extra)
            else:
                child_words, child_links = yields[place]
                words += child_words
                links += [places + extra for places in child_links] if extra else child_links
        return words, links

    def _put(self, symbol: str, length: int, source: list[str], random: Random) -> _Yield:
        """Append a word of `symbol`, or a phrase of `length` words; return its French."""
        word: Entry = self._choose(symbol, length, random)
        if symbol in self._open:
            for _ in range(4):
                if word.source[0][:_BEGINNING] not in self._recent:
                    break
                word = self._choose(symbol, length, random)
            self._recent.append(word.source[0][:_BEGINNING])
        start = len(source)
        source.extend(word.source)
        return list(word.target), [[start + place for place in places] for places in word.links]

    def _choose(self, symbol: str, length: int, random: Random) -> Any:
        """A rule, or a word, of `symbol` that yields `length` English words."""
        key = symbol, length
        if key not in self._choices:
            weighted: list[tuple[float, Any]]
            if symbol in self.words:
                weighted = [(word.weight, word) for word in self.words[symbol] if len(word.source) == length]
            else:
                weighted = [
                    (rule.weight * self._weigh(rule.children, length - rule.words), rule) for rule in self.rules[symbol]
                ]
            weighted = [(weight, option) for weight, option in weighted if weight > 0.0]
            self._choices[key] = list(accumulate(weight for weight, _ in weighted)), [option for _, option in weighted]
        cumulative, options = self._choices[key]
        return options[_draw(cumulative, random)] if len(options) > 1 else options[0]

    def _share_out(self, rule: Rule, length: int, random: Random) -> list[int]:
        """How many of `length` English words each constituent of a rule gets."""
        symbols, left = rule.children, length - rule.words
        shares = []
        while len(symbols) > 1:
            key = symbols, left
            if key not in self._splits:
                self._splits[key] = list(accumulate(self._lengths.shares(self._lengths.shapes(symbols), left)))
            shares.append(1 + _draw(self._splits[key], random))
            left -= shares[-1]
            symbols = symbols[1:]
        return [*shares, left]

    def _weigh(self, symbols: tuple[str, ...], length: int) -> float:
        return self._lengths.probability(self._lengths.shapes(symbols), length)


def _draw(cumulative: list[float], random: Random) -> int:
    """An index in proportion to its weight, from the running sums of the weights."""
    return bisect(cumulative, random.random() * cumulative[-1], 0, len(cumulative) - 1)
