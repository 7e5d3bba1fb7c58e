"""Reads the lines of `rules`: writes verb groups out, fills in the features, links the words."""

import re
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

from lookback.data.grammar import lexicon, rules
from lookback.data.grammar.inflection import paradigm

ROOT = "Root"
DEPENDENCIES = ("local", "long")
OUTSIDE, NOTHING = -1, -2  # what a word agrees with: something outside the constituent; nothing that is followed up
# What others agree with, and the words that agree. Within a noun phrase all is near by, so it is not followed up.
_CONTROLLERS = ("Subject", "NP", "Nominal", "Described", "Unpreceded", "Called", "Noun", "Pronoun")
_AGREEING = set("pcqrsghj")
_FEATURES = re.compile(r"\[(.*?)\]")
_VERB = re.compile(r"\bV\[(.*?)\]")
_CLITIC = re.compile(r"@\((.*?)\)")


class Slot(NamedTuple):
    """A place on the French side: a word, or else (None) the French of the constituent that is English item `item`.

    `links` are the English items whose words every word here is aligned to, besides what the constituent says itself.
    `controller` is the English item that an inflected verb agrees with, or OUTSIDE, or NOTHING.
    """

    word: str | None
    item: int
    links: tuple[int, ...]
    controller: int = NOTHING


@dataclass(frozen=True)
class Rule:
    """A rule with its features filled in: `source` holds English words and constituents (`NP[m,3s,person,1]`)."""

    head: str
    weight: float
    source: tuple[str, ...]
    target: tuple[Slot, ...]
    controllers: tuple[int, ...] = ()  # of each English item: the item that its words agree with, OUTSIDE or NOTHING
    head_item: int = NOTHING  # the English item whose noun speaks for the whole, if there is one

    @cached_property
    def children(self) -> tuple[str, ...]:
        return tuple(item for item in self.source if is_constituent(item))

    @cached_property
    def words(self) -> int:
        """Number of English words that the rule itself puts down."""
        return len(self.source) - len(self.children)

    @cached_property
    def renames(self) -> bool:
        """Whether the rule is one constituent that stands for another."""
        return len(self.source) == len(self.target) == len(self.children) == 1


def is_constituent(item: str) -> bool:
    return item[0].isupper()


def grammar(lexical: Container[str], dependencies: str = "local") -> dict[str, list[Rule]]:
    """The rules by head, given the constituents that the lexicon has words for; `dependencies` is local or long.

    A line whose variables give several rules of one head shares its weight out among them. Rules that cannot end in
    words and those that no sentence leads to are left out; the weights of a head then sum to 1.
    """
    numbered = [(number, rule) for number, cells in enumerate(_lines(dependencies)) for rule in _instances(*cells)]
    productive: set[str] = set()
    while True:
        kept = [
            (number, rule)
            for number, rule in numbered
            if all(child in lexical or child in productive for child in rule.children)
        ]
        heads = {rule.head for _, rule in kept}
        if heads == productive:
            break
        productive = heads
    copies = Counter((number, rule.head) for number, rule in kept)
    found: dict[str, list[Rule]] = {}
    for number, rule in kept:
        found.setdefault(rule.head, []).append(replace(rule, weight=rule.weight / copies[number, rule.head]))
    reachable: dict[str, list[Rule]] = {}
    waiting = [ROOT]
    while waiting:
        head = waiting.pop()
        if head in found and head not in reachable:
            total = sum(rule.weight for rule in found[head])
            reachable[head] = [replace(rule, weight=rule.weight / total) for rule in found[head]]
            waiting += [child for rule in found[head] for child in rule.children]
    return reachable


def _lines(dependencies: str = "local") -> Iterator[list[str]]:
    """Every line as head, weight, English, French, links; verb rules with each of FRAMES written into their `@`."""
    local = dependencies == "local"
    yield from _cells(rules.RULES)
    yield from _cells(rules.LOCAL_RULES if local else rules.LONG_RULES)
    frames = list(_cells(rules.FRAMES))
    totals = {now: sum(float(share) for tense, share, *_ in frames if tense == now) for now in rules.DOMAINS["t"]}
    for head, weight, verb, auxiliary, english, french, links in _cells(
        rules.VERB_RULES + (rules.LOCAL_VERB_RULES if local else rules.LONG_VERB_RULES)
    ):
        name, _, kinds = verb.rstrip("]").partition("[")
        aux, _, agreement = auxiliary.rstrip("]").partition("[")
        agreement = agreement or {"avoir": "m,3s", "être": "g,p"}[aux]
        clitic, french = _CLITIC.findall(french)[0], _CLITIC.sub("@", french)
        for tense, share, polarity, time, group, french_group, group_links in frames:
            meaning = {"V": name, "C": clitic, "aux": aux, "A": agreement}
            english_group = _write(_VERB.sub(rf"V[\1,{kinds}]", group), meaning)
            yield [
                _write(head, {"t": tense, "w": time}),
                str(float(weight) * float(share) / totals[tense]),
                english.replace("@", english_group).replace("*", polarity),
                french.replace("@", _write(french_group, meaning)),
                f"{links} {_write(group_links, meaning)}",
            ]


def _write(text: str, meaning: dict[str, str]) -> str:
    """Replace whole words of a line."""
    return re.sub(rf"\b({'|'.join(meaning)})\b", lambda word: meaning[word[0]], text)


def _cells(text: str) -> Iterator[list[str]]:
    for line in text.strip().splitlines():
        if line and not line.startswith("#"):
            yield [cell.strip() for cell in line.split("|")]


def _instances(head: str, weight: str, english: str, french: str, links: str = "") -> Iterator[Rule]:
    """The rule for every value of its variables."""
    text = f"{head} {english} {french}"
    features = {feature.rstrip("-") for group in _FEATURES.findall(text) for feature in group.split(",")}
    variables = sorted(features & rules.DOMAINS.keys())
    source, target = english.split(), french.split()
    slots = _slots([_name(item) for item in source], [_name(item) for item in target], links)
    controllers, head_item = _controllers(head, source)
    slots = [
        slot._replace(controller=_controller(item, head, source))
        if slot.word is not None and _name(item) in lexicon.PARADIGMS
        else slot
        for slot, item in zip(slots, target, strict=True)
    ]
    for values in product(*(rules.DOMAINS[variable] for variable in variables)):
        value = dict(zip(variables, values, strict=True))
        if "d-" in text and value["d"] == "0":
            continue
        filled = tuple(
            slot if slot.word is None else slot._replace(word=_fill(item, value))
            for slot, item in zip(slots, target, strict=True)
        )
        yield Rule(
            _fill(head, value),
            float(weight),
            tuple(_fill(item, value) for item in source),
            filled,
            controllers,
            head_item,
        )


def _controllers(head: str, source: list[str]) -> tuple[tuple[int, ...], int]:
    """What each English item agrees with, and the item whose noun is that of the whole."""
    nouns = [place for place, item in enumerate(source) if _bare(item) in _CONTROLLERS]
    found = tuple(NOTHING if place in nouns else _controller(item, head, source) for place, item in enumerate(source))
    return found, nouns[0] if len(nouns) == 1 and _bare(head) in _CONTROLLERS else NOTHING


def _controller(item: str, head: str, source: list[str]) -> int:
    """Agreement is a variable for person or gender that two items share, or an item and the head."""
    variables = _variables(item)
    for place, other in enumerate(source):
        if _bare(other) in _CONTROLLERS and variables & _variables(other):
            return place
    return OUTSIDE if variables & _variables(head) else NOTHING


def _variables(item: str) -> set[str]:
    return {feature for group in _FEATURES.findall(item) for feature in group.split(",")} & _AGREEING


def _bare(item: str) -> str:
    return _name(item).rstrip("0123456789")


def _name(item: str) -> str:
    return item.partition("[")[0]


def _fill(item: str, value: dict[str, str]) -> str:
    """Give an item its features and take the digit away that told it from its like; a word is inflected."""
    name, _, features = item.rstrip("]").partition("[")
    name = name.rstrip("0123456789")
    chosen = tuple(
        str(int(value["d"]) - 1) if feature == "d-" else value.get(feature, feature)
        for feature in features.split(",")
        if feature
    )
    if is_constituent(name):
        return f"{name}[{','.join(chosen)}]" if chosen else name
    return paradigm(name, chosen) if chosen else name


def _slots(source: list[str], target: list[str], links: str) -> list[Slot]:
    """The French side, its words linked as `links` says (`do-V not-ne not-pas`), or else the only word of each side."""
    linked = {
        (source.index(left), target.index(right)) for left, right in (link.split("-", 1) for link in links.split())
    }
    lone = [[place for place, item in enumerate(side) if not is_constituent(item)] for side in (source, target)]
    if not linked and len(lone[0]) == len(lone[1]) == 1:
        linked = {(lone[0][0], lone[1][0])}
    slots = []
    for place, item in enumerate(target):
        places = tuple(sorted(left for left, right in linked if right == place))
        slots.append(Slot(None, source.index(item), places) if is_constituent(item) else Slot(item, -1, places))
    return slots
