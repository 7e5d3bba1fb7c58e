"""Derives sentences of an exact length: the grammar, conditioned on the number of source words.

A synchronous grammar with weighted rules is a distribution over pairs of sentences. What the weights say about length is tabulated
once: `inside(X, n)`, the probability that constituent X yields n English words, is the sum over its rules of the rule's weight times
the ways to share the remaining words out among its constituents. Sampling from the top down in proportion to these numbers draws from
the grammar's own distribution given the length, exactly, and never has to discard a derivation.
"""

from bisect import bisect
from collections import deque
from itertools import accumulate
from random import Random
from typing import NamedTuple

from lookback.data.grammar.inflection import Entry, entries
from lookback.data.grammar.notation import Rule, grammar
from lookback.data.grammar.orthography import spell_english, spell_french

ROOT = "Root"
_MEMORY = 6  # a noun, verb or adjective is drawn again if it is among the last so many: nobody says "the doctor of the doctor"
_OPEN = ("Noun", "Adjective", "After", "Size", "Opinion", "Transitive", "Resting", "Moving", "Giving", "Talking", "Thinking", "Time")


class Pair(NamedTuple):
    """A sentence, its translation, and the gold alignment: pairs of 0-based positions (source word, target word), sorted."""

    source: str
    target: str
    alignment: list[list[int]]


class Deriver:
    """The grammar over one lexicon, ready to derive pairs of any requested length.

    Args:
        lexicon: name of a size in `lookback.data.grammar.lexicon.SIZES`.
    """

    def __init__(self, lexicon: str) -> None:
        self.words: dict[str, list[Entry]] = entries(lexicon)
        self.rules: dict[str, list[Rule]] = grammar(self.words)
        self._inside: dict[tuple[str, int], float] = {}
        self._sequence: dict[tuple[tuple[str, ...], int], float] = {}
        self._choices: dict[tuple[str, int], tuple[list[float], list]] = {}
        self._splits: dict[tuple[tuple[str, ...], int], list[float]] = {}
        self._recent: deque[tuple[str, ...]] = deque(maxlen=_MEMORY)
        self._bounds: dict[str, float] = {}

    def probability(self, length: int) -> float:
        """The grammar's own probability of a sentence of `length` words; 0 where there is none."""
        for shorter in range(1, length):  # from the bottom up: recursion stays shallow
            self.inside(ROOT, shorter)
        return self.inside(ROOT, length)

    def derive(self, length: int, random: Random) -> Pair:
        """Draw a pair whose source has exactly `length` words, the end mark included.

        Raises:
            ValueError: if the grammar has no sentence of that length.
        """
        if self.probability(length) == 0.0:
            raise ValueError(f"length={length}: the grammar has no sentence of so many words")
        self._recent.clear()
        source: list[str] = []
        words, links = self._expand(ROOT, length, source, random)
        target, links = spell_french(words, links)
        alignment = sorted([i, j] for j, places in enumerate(links) for i in set(places))
        return Pair(" ".join(spell_english(source)), " ".join(target), alignment)

    def inside(self, symbol: str, length: int) -> float:
        """Probability that `symbol` yields `length` English words."""
        key = symbol, length
        if key not in self._inside:
            if symbol in self.words:
                total = sum(word.weight for word in self.words[symbol])
                self._inside[key] = sum(word.weight for word in self.words[symbol] if len(word.source) == length) / total
            else:
                self._inside[key] = sum(rule.weight * self.sequence(rule.children, length - rule.words) for rule in self.rules[symbol])
        return self._inside[key]

    def sequence(self, symbols: tuple[str, ...], length: int) -> float:
        """Probability that the constituents `symbols` together yield `length` English words."""
        if not symbols or length < len(symbols):
            return float(not symbols and length == 0)
        if len(symbols) == 1:
            return self.inside(symbols[0], length)
        key = symbols, length
        if key not in self._sequence:
            self._sequence[key] = sum(self._shares(symbols, length))
        return self._sequence[key]

    def _shares(self, symbols: tuple[str, ...], length: int) -> list[float]:
        """For a first constituent of 1, 2, … words: the weight of it and of the rest."""
        first, rest = symbols[0], symbols[1:]
        longest = min(length - len(rest), self._longest(first))
        if len(rest) == 1:
            last, inside = rest[0], self.inside
            return [inside(first, n) * inside(last, length - n) for n in range(1, longest + 1)]
        return [self.inside(first, n) * self.sequence(rest, length - n) for n in range(1, longest + 1)]

    def _longest(self, symbol: str) -> float:
        """The most words that `symbol` can yield; infinity for what contains itself."""
        if symbol not in self._bounds:
            self._bounds[symbol] = float("inf")  # what a constituent inside itself finds
            if symbol in self.words:
                self._bounds[symbol] = max(len(word.source) for word in self.words[symbol])
            else:
                self._bounds[symbol] = max(rule.words + sum(map(self._longest, rule.children)) for rule in self.rules[symbol])
        return self._bounds[symbol]

    def _expand(self, symbol: str, length: int, source: list[str], random: Random) -> tuple[list[str], list[list[int]]]:
        """Append the English words of `symbol` to `source`; return its French words and the source positions each is aligned to."""
        start = len(source)
        if symbol in self.words:
            word = self._choose_word(symbol, length, random)
            source.extend(word.source)
            return list(word.target), [[start + i for i in places] for places in word.links]
        rule: Rule = self._choose(symbol, length, random)
        remaining, rest = length - rule.words, rule.children
        spans: list[range] = []
        yields: list = []
        for item in rule.source:
            begin = len(source)
            if item[0].isupper():
                share = self._share(rest, remaining, random)
                yields.append(self._expand(item, share, source, random))
                remaining, rest = remaining - share, rest[1:]
            else:
                source.append(item)
                yields.append(None)
            spans.append(range(begin, len(source)))
        words: list[str] = []
        links: list[list[int]] = []
        for slot in rule.target:
            extra = [i for item in slot.links for i in spans[item]]
            if slot.item is None:
                words.append(slot.word)
                links.append(extra)
            else:
                child_words, child_links = yields[slot.item]
                words += child_words
                links += [places + extra for places in child_links] if extra else child_links
        return words, links

    def _share(self, symbols: tuple[str, ...], length: int, random: Random) -> int:
        """How many of `length` words the first of `symbols` gets."""
        if len(symbols) == 1:
            return length
        key = symbols, length
        if key not in self._splits:
            self._splits[key] = list(accumulate(self._shares(symbols, length)))
        return 1 + _draw(self._splits[key], random)

    def _choose(self, symbol: str, length: int, random: Random):
        """A rule of `symbol`, or a word, that yields `length` words."""
        key = symbol, length
        if key not in self._choices:
            if symbol in self.words:
                options = [(word.weight, word) for word in self.words[symbol] if len(word.source) == length]
            else:
                options = [(rule.weight * self.sequence(rule.children, length - rule.words), rule) for rule in self.rules[symbol]]
            options = [(weight, option) for weight, option in options if weight > 0.0]
            self._choices[key] = list(accumulate(weight for weight, _ in options)), [option for _, option in options]
        cumulative, options = self._choices[key]
        return options[_draw(cumulative, random)]

    def _choose_word(self, symbol: str, length: int, random: Random) -> Entry:
        word = self._choose(symbol, length, random)
        if symbol.startswith(_OPEN):
            for _ in range(4):
                if word.source not in self._recent:
                    break
                word = self._choose(symbol, length, random)
            self._recent.append(word.source)
        return word


def _draw(cumulative: list[float], random: Random) -> int:
    """An index in proportion to its weight, from the running sums of the weights."""
    return min(bisect(cumulative, random.random() * cumulative[-1]), len(cumulative) - 1)
