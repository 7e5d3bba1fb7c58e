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

from lookback.data.grammar.inflection import Entry, entries, paradigms
from lookback.data.grammar.lengths import Lengths
from lookback.data.grammar.lexicon import VERBS
from lookback.data.grammar.notation import DEPENDENCIES, NOTHING, OUTSIDE, ROOT, Rule, grammar
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


class Dependent(NamedTuple):
    """A French word whose form a noun or pronoun elsewhere in the sentence decides.

    Adjectives and participles behind a verb, and finite verbs; what agrees inside a noun phrase is not followed up.
    """

    target: int
    """Its 0-based position in the translation."""
    distance: int
    """Source words between the English of the noun or pronoun and the English of this word."""
    others: list[str]
    """Other forms of the same word, sorted: wrong here."""


class AgreeingPair(NamedTuple):
    """A `Pair` with the words that agree over a distance, by their position."""

    source: str
    target: str
    alignment: list[tuple[int, int]]
    agreement: list[Dependent]


class Deriver:
    """The grammar over one lexicon, ready to derive pairs of any requested length.

    Args:
        lexicon: name of a size in `lookback.data.grammar.lexicon.SIZES`.
        dependencies: "local", or "long": words that belong together stand further apart, in both languages and between
            them, and pairs say which words agree (`AgreeingPair`).
    """

    def __init__(self, lexicon: str, dependencies: str = "local") -> None:
        if dependencies not in DEPENDENCIES:
            raise ValueError(f"dependencies={dependencies!r}: expected one of {', '.join(DEPENDENCIES)}")
        self.words: dict[str, list[Entry]] = entries(lexicon)
        self.rules: dict[str, list[Rule]] = grammar(self.words, dependencies)
        self._lengths = Lengths(self.words, self.rules)
        self._open = {symbol for symbol in self.words if symbol.startswith(_OPEN)}
        self._choices: dict[tuple[str, int], tuple[list[float], list[Any]]] = {}
        self._splits: dict[tuple[tuple[str, ...], int], list[float]] = {}
        self._recent: deque[str] = deque(maxlen=_MEMORY)
        self._follows = dependencies == "long"  # whether it notes what agrees with what
        self._agreeing: set[str] = set()  # symbols of words that agree
        self._forms: dict[str, set[str]] = {}  # all forms of the words that have this form
        if self._follows:
            names = ("Adjective", "Passive", *VERBS)
            self._agreeing = {symbol for symbol in self.words if symbol.partition("[")[0] in names}
            for forms in paradigms(lexicon):
                for form in forms:
                    self._forms.setdefault(form, set()).update(forms)
        self._nouns: list[int | None] = []  # of each word that agrees, by its number: where its noun stands
        self._loose: list[int] = []  # numbers of the words whose noun is not known yet
        self._noun: int | None = None  # where the noun of the constituent that was last expanded stands

    def probability(self, length: int) -> float:
        """The grammar's own probability of a sentence of `length` words; 0 where there is none."""
        return [self._weigh((ROOT,), words) for words in range(length + 1)][-1]  # bottom up: recursion stays shallow

    def derive(self, length: int, random: Random) -> Pair | AgreeingPair:
        """Draw a pair whose source has exactly `length` words, the end mark included.

        Raises:
            ValueError: if the grammar has no sentence of that length.
        """
        if (ROOT, length) not in self._choices and self.probability(length) == 0.0:
            raise ValueError(f"length={length}: the grammar has no sentence of so many words")
        self._recent.clear()
        self._nouns, self._loose = [], []
        source: list[str] = []
        target, links = spell_french(*self._expand(ROOT, length, source, random))
        alignment = sorted({(i, j) for j, places in enumerate(links) for i in places if i >= 0})
        texts = " ".join(spell_english(source)), " ".join(target)
        return (
            AgreeingPair(*texts, alignment, self._dependents(target, links))
            if self._follows
            else Pair(*texts, alignment)
        )

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
        nouns: list[int | None] = []  # of each item
        loose: list[list[int]] = []  # numbers of the words in each item that agree with something outside it
        before = len(self._loose)
        for item in rule.source:
            starts.append(len(source))
            self._noun = None
            if item[0].isupper():
                yields.append(self._expand(item, next(shares), source, random))
            else:
                source.append(item)
                yields.append(_NOTHING)
            nouns.append(self._noun)
            loose.append(self._loose[before:])
            del self._loose[before:]
        starts.append(len(source))
        self._noun = nouns[rule.head_item] if rule.head_item != NOTHING else None
        words: list[str] = []
        links: list[list[int]] = []
        for numbers, controller in zip(loose, rule.controllers, strict=False):
            self._settle(numbers, controller, nouns)
        for word, place, linked, controller in rule.target:
            extra = [i for other in linked for i in range(starts[other], starts[other + 1])] if linked else []
            if word is not None:
                if self._follows and controller != NOTHING:
                    extra.append(self._number(controller, nouns))
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
        self._noun = start
        links = [[start + place for place in places] for places in word.links]
        if symbol in self._agreeing:
            links[0].append(self._number(OUTSIDE, []))
        return list(word.target), links

    # Words that agree travel through spelling with their links: number n is the link -1 - n.

    def _number(self, controller: int, nouns: list[int | None]) -> int:
        """The link of a new word that agrees with item `controller` of a rule, whose `nouns` are known."""
        number = len(self._nouns)
        self._nouns.append(None)
        self._settle([number], controller, nouns)
        return -1 - number

    def _settle(self, numbers: list[int], controller: int, nouns: list[int | None]) -> None:
        if controller == OUTSIDE:
            self._loose += numbers
        elif controller != NOTHING:
            for number in numbers:
                self._nouns[number] = nouns[controller]

    def _dependents(self, target: list[str], links: list[list[int]]) -> list[Dependent]:
        found = []
        for place, (word, places) in enumerate(zip(target, links, strict=True)):
            nouns = [self._nouns[-1 - number] for number in places if number < 0]
            others = self._forms.get(word, set()) - {word}
            if nouns and nouns[0] is not None and others:
                own = [i for i in places if i >= 0]
                distance = min(abs(i - nouns[0]) for i in own) - 1
                found.append(Dependent(place, distance, sorted(others)))
        return found

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
