"""A parser of the grammar: the French of an English sentence, in every way to derive it."""

from functools import cache

import pytest

from lookback.data.grammar.inflection import entries
from lookback.data.grammar.lengths import Lengths
from lookback.data.grammar.notation import ROOT, Rule, grammar, is_constituent
from lookback.data.grammar.orthography import spell_french

_rules = cache(grammar)

Alignment = frozenset[tuple[int, int]]


class Parser:
    """All translations of English sentences (short ones: every way to derive them is tried)."""

    def __init__(self, lexicon: str, dependencies: str = "local") -> None:
        self.words = entries(lexicon)
        self.rules = grammar(self.words, dependencies)
        self.lengths = Lengths(self.words, self.rules)

    def translate(self, english: str) -> set[tuple[str, Alignment]]:
        """French and alignment of every derivation; empty if the sentence is not of the grammar."""
        self._sentence = tuple("a" if word == "an" else word for word in english.split())
        self._spans = cache(self._parse)
        found = set()
        for target in self._spans(ROOT, 0, len(self._sentence)):
            words, links = spell_french([word for word, _ in target], [list(places) for _, places in target])
            alignment = frozenset((i, j) for j, places in enumerate(links) for i in places)
            found.add((" ".join(words), alignment))
        return found

    def _parse(self, symbol: str, start: int, end: int) -> frozenset[tuple]:
        """Every French side of ``symbol`` over the words ``start`` to ``end``: words with their source positions."""
        words = self._sentence[start:end]
        if symbol in self.words:
            return frozenset(
                tuple(zip(word.target, (tuple(start + i for i in places) for places in word.links), strict=True))
                for word in self.words[symbol]
                if word.source == words
            )
        if not self.lengths.probability(self.lengths.shapes((symbol,)), end - start):
            return frozenset()
        found = set()
        for rule in self.rules[symbol]:
            for spans in self._match(rule.source, start, end):
                found |= self._combine(rule, spans)
        return frozenset(found)

    def _match(self, items: tuple[str, ...], start: int, end: int) -> list[list[tuple[int, int]]]:
        """Every way to lay the items of a rule's English side over the words from ``start`` to ``end``."""
        if not items:
            return [[]] if start == end else []
        item, rest = items[0], items[1:]
        if not is_constituent(item):
            if start < end and self._sentence[start] == item:
                return [[(start, start + 1), *spans] for spans in self._match(rest, start + 1, end)]
            return []
        stops = range(start + 1, end - len(rest) + 1) if rest else [end]
        return [
            [(start, stop), *spans]
            for stop in stops
            if stop > start and self._spans(item, start, stop)
            for spans in self._match(rest, stop, end)
        ]

    def _combine(self, rule: Rule, spans: list[tuple[int, int]]) -> set[tuple]:
        found: set[tuple] = {()}
        for slot in rule.target:
            extra = tuple(i for item in slot.links for i in range(*spans[item]))
            if slot.word is not None:
                found = {(*left, (slot.word, extra)) for left in found}
            else:
                yields = self._spans(rule.source[slot.item], *spans[slot.item])
                found = {(*left, *((w, places + extra) for w, places in right)) for left in found for right in yields}
        return found


@pytest.fixture(scope="session")
def parser() -> Parser:
    return Parser("medium")


@pytest.fixture(scope="session")
def long_parser() -> Parser:
    return Parser("medium", "long")


@pytest.fixture(autouse=True)
def rules_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of a lexicon, which a deriver only reads, are made once: most of the work of a small corpus."""
    monkeypatch.setattr("lookback.data.grammar.derive.grammar", lambda words, *more: _rules(frozenset(words), *more))
