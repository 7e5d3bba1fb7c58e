"""Reads the lines of `rules`: fills in the features and links the words."""

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from lookback.data.grammar import rules
from lookback.data.grammar.inflection import paradigm

_FEATURES = re.compile(r"\[(.*?)\]")


@dataclass(frozen=True)
class Slot:
    """A place on the French side: a word, or the yield of the constituent at `item` on the English side.

    `links` are the places on the English side whose words each word here is aligned to (its own constituent aside).
    """

    word: str | None
    item: int | None
    links: tuple[int, ...]


@dataclass(frozen=True)
class Rule:
    """One rule with its features filled in. On the English side a str ending in a bracket or starting with a capital is a constituent."""

    head: str
    weight: float
    source: tuple[str, ...]
    target: tuple[Slot, ...]

    @cached_property
    def children(self) -> tuple[str, ...]:
        return tuple(item for item in self.source if is_constituent(item))

    @cached_property
    def words(self) -> int:
        """Number of English words that the rule itself puts down."""
        return len(self.source) - len(self.children)


def is_constituent(item: str) -> bool:
    return item[0].isupper()


def grammar(lexical: Container[str]) -> dict[str, list[Rule]]:
    """All rules by head, with every variable filled in, that end in constituents which `lexical` holds. Weights of a head sum to 1."""
    lines = [*_cells(rules.RULES), *_verb_lines()]
    instances = [(number, rule) for number, line in enumerate(lines) for rule in _instances(*line)]
    productive = set()
    size = -1
    while size != len(productive):  # a rule counts once all its constituents are known to end in words
        size = len(productive)
        productive |= {rule.head for _, rule in instances if all(c in productive or c in lexical for c in rule.children)}
    kept = [(number, rule) for number, rule in instances if all(c in productive or c in lexical for c in rule.children)]
    copies: dict[tuple[int, str], int] = {}
    for number, rule in kept:
        copies[number, rule.head] = copies.get((number, rule.head), 0) + 1
    totals: dict[str, float] = {}
    for number, rule in kept:
        totals[rule.head] = totals.get(rule.head, 0.0) + rule.weight / copies[number, rule.head]
    found: dict[str, list[Rule]] = {}
    for number, rule in kept:
        share = rule.weight / copies[number, rule.head] / totals[rule.head]
        found.setdefault(rule.head, []).append(replace(rule, weight=share))
    return found


def _cells(text: str) -> Iterator[list[str]]:
    for line in text.strip().splitlines():
        if line and not line.startswith("#"):
            yield [cell.strip() for cell in line.split("|")]


def _verb_lines() -> Iterator[list[str]]:
    """VERB_RULES with each of FRAMES written into its place: `@`."""
    frames = list(_cells(rules.FRAMES))
    totals: dict[str, float] = {}
    for tense, share, *_ in frames:
        totals[tense] = totals.get(tense, 0.0) + float(share)
    for head, weight, verb, auxiliary, clitic, english, french, links in _cells(rules.VERB_RULES):
        name, kinds = verb.rstrip("]").split("[")
        aux, agreement = auxiliary.rstrip("]").split("[")
        for tense, share, polarity, group, french_group, group_links in frames:
            group = re.sub(r"\bV\[(.*?)\]", lambda m: f"{name}[{m[1].replace('A', agreement)},{kinds}]", group)
            for written, meant in (("V", name), ("C", clitic), ("aux", aux)):
                french_group = re.sub(rf"\b{written}\b", meant, french_group)
                group_links = re.sub(rf"\b{written}\b", meant, group_links)
            yield [re.sub(r"\bt\b", tense, head), str(float(weight) * float(share) / totals[tense]),
                   english.replace("@", group).replace("*", polarity), french.replace("@", french_group), f"{links} {group_links}"]


def _instances(head: str, weight: str, english: str, french: str, links: str = "") -> Iterator[Rule]:
    """The rule for every value of its variables."""
    text = f"{head} {english} {french}"
    variables = sorted({f for features in _FEATURES.findall(text) for f in features.replace("-", "").split(",") if f in rules.DOMAINS})
    source, target = english.split(), french.split()
    names = [_name(item) for item in source]
    slots = _link(names, [_name(item) for item in target], links)
    for values in product(*(rules.DOMAINS[variable] for variable in variables)):
        value = dict(zip(variables, values, strict=True))
        if value.get("d") == "0" and "d-" in text:
            continue
        filled = tuple(_fill(item, value) for item in source)
        words = (_fill(item, value) for item in target)
        yield Rule(_fill(head, value), float(weight), filled,
                   tuple(replace(slot, word=word if slot.item is None else None) for slot, word in zip(slots, words, strict=True)))


def _name(item: str) -> str:
    return item.split("[")[0]


def _fill(item: str, value: dict[str, str]) -> str:
    """Give an item its features: a constituent loses the digit that told it from its like, a word is inflected."""
    name, bracket, features = item.rstrip("]").partition("[")
    chosen = [str(int(value["d"]) - 1) if f == "d-" else value.get(f, f) for f in features.split(",")] if bracket else []
    if is_constituent(name):
        return name.rstrip("0123456789") + (f"[{','.join(chosen)}]" if chosen else "")
    return paradigm(name, tuple(chosen)) if chosen else name


def _link(source: list[str], target: list[str], links: str) -> list[Slot]:
    pairs = [pair.split("-", 1) for pair in links.split()]
    linked = {(source.index(left), target.index(right)) for left, right in pairs}
    lone = [[i for i, item in enumerate(side) if not is_constituent(item)] for side in (source, target)]
    if not links.strip() and [len(side) for side in lone] == [1, 1]:
        linked.add((lone[0][0], lone[1][0]))
    slots = []
    for j, item in enumerate(target):
        places = tuple(sorted(i for i, k in linked if k == j))
        slots.append(Slot(None, source.index(item), places) if is_constituent(item) else Slot(item, None, places))
    return slots
