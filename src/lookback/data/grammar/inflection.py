"""From the tables of `lexicon` to what a rule may put down: every form of every word, with its translation."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

from lookback.data.grammar import lexicon

_PLURAL = ("1p", "3p")  # of French persons; `vous` is one polite person


class Entry(NamedTuple):
    """A word with its translation: `links[j]` are the source words that target word j is aligned to."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, ...], ...]
    weight: float = 1.0


_Placed = tuple[str, tuple[str, ...], Entry]  # a constituent's name and features, and one of its words


def entry(source: str, target: str, weight: float = 1.0) -> Entry:
    """Align two short phrases: word by word if they are equally long, else all to the one word of a side.

    Raises:
        ValueError: if both sides have several words, not equally many: such a pair belongs into the rules, with links.
    """
    source_words, target_words = tuple(source.split()), tuple(target.split())
    everything = tuple(range(len(source_words)))
    if len(source_words) == len(target_words):
        return Entry(source_words, target_words, tuple((i,) for i in everything), weight)
    if 1 not in (len(source_words), len(target_words)):
        raise ValueError(
            f"{source!r} | {target!r}: {len(source_words)} to {len(target_words)} words, no plain alignment"
        )
    return Entry(source_words, target_words, (everything,) * len(target_words), weight)


def entries(size: str) -> dict[str, list[Entry]]:
    """All words of a lexicon (`small`, `medium`, `full`), by their constituent, such as `Noun[m,3s,person]`."""
    found: dict[str, list[Entry]] = {}
    for name, features, word in _placed(lexicon.SIZES[size]):
        found.setdefault(f"{name}[{','.join(features)}]" if features else name, []).append(word)
    return found


def paradigms(size: str) -> list[tuple[str, ...]]:
    """The forms of every French word that agrees over a distance: adjectives behind a verb, participles, verbs.

    An adjective and a participle have masculine and feminine, singular and plural, a verb the present of each person.
    """
    share, found = lexicon.SIZES[size], []
    for _, french, _, _ in _rows(lexicon.ADJECTIVES, share):
        numbers = product(lexicon.GENDERS, (False, True))
        found.append(tuple(agree(french, gender, plural).partition("/")[0] for gender, plural in numbers))
    for table in lexicon.VERBS.values():
        for _, french, *_ in _rows(table, share):
            _, *present, participle = _french_forms(french)
            found.append(tuple(present))
            persons = product(lexicon.GENDERS, ("3s", "3p"))
            found.append(tuple(agree_participle(participle, gender, person) for gender, person in persons))
    return found + [tuple(forms.split()) for word, forms in lexicon.PARADIGMS.items() if word not in lexicon.ENGLISH]


def paradigm(word: str, features: tuple[str, ...]) -> str:
    """The form of a function word that a rule inflects, as `do[3s]` → `does`, `le[f,3s]` → `la`."""
    if word == "le":
        return "les" if features[1] == "3p" else {"m": "le", "f": "la"}[features[0]]
    if word == "tout":
        return {"m": "tous", "f": "toutes"}[features[0]]
    return lexicon.PARADIGMS[word].split()[lexicon.PERSONS.index(features[0])]


def english_plural(word: str) -> str:
    """Regular plural of a noun, and third person of a verb."""
    if word.endswith("y") and word[-2] not in "aeou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh", "go", "do")) else "s")


def english_past(word: str) -> str:
    """Regular past of a verb."""
    if word.endswith("y") and word[-2] not in "aeou":
        return word[:-1] + "ied"
    return word + ("d" if word.endswith("e") else "ed")


def french_plural(word: str) -> str:
    """Regular plural of a noun or an adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + ("x" if word.endswith("eau") else "s")


def agree(adjective: str, gender: str, plural: bool) -> str:
    """The form of an adjective written `masculine feminine`; one before a vowel may be added (`beau/bel`)."""
    form = adjective.split()[lexicon.GENDERS.index(gender)]
    return french_plural(form.partition("/")[0]) if plural else form


def agree_participle(participle: str, gender: str, person: str) -> str:
    """A past participle with its endings: `vu vue vus vues`."""
    plural = person in _PLURAL and not (gender == "m" and participle.endswith("s"))
    return participle + ("e" if gender == "f" else "") + ("s" if plural else "")


def conjugate(infinitive: str) -> list[str]:
    """Present of a regular verb in -er for je, il, nous, vous, ils, then its past participle."""
    if not infinitive.endswith("er"):
        raise ValueError(f"verb {infinitive!r} does not end in -er: its forms must stand in the table")
    stem = infinitive[:-2]
    return [stem + ending for ending in ("e", "e", "ons", "ez", "ent", "é")]


def _placed(share: float | None) -> Iterator[_Placed]:
    """Every form of every word, with the name and the features of its constituent."""
    for kind, table in lexicon.NOUNS.items():
        for english, french, gender in _rows(table, share):
            yield "Noun", (gender, "3s", kind), entry(english.partition("/")[0], french.partition("/")[0])
            yield "Noun", (gender, "3p", kind), entry(_plural(english, english_plural), _plural(french, french_plural))
    adjectives = [
        (english, french, kinds, places.split()) for english, french, kinds, places in _rows(lexicon.ADJECTIVES, share)
    ]
    for english, french, kinds, places in adjectives:
        for place, letter, person, gender in product(places, kinds, lexicon.PERSONS, lexicon.GENDERS):
            form = agree(french, gender, plural=person in _PLURAL)
            if place == "state":
                yield "Adjective", (person, gender, lexicon.KINDS[letter]), entry(english, form.partition("/")[0])
            elif person in ("3s", "3p"):
                yield place.capitalize(), (gender, person, lexicon.KINDS[letter]), entry(english, form)
    preceding = {
        english: (french, kinds) for english, french, kinds, places in adjectives if {"opinion", "size"} & set(places)
    }
    for pair in lexicon.OPINION_SIZE.strip().splitlines():
        opinion, size = pair.split()
        if opinion not in preceding or size not in preceding:
            continue  # the lexicon is smaller
        (french, kinds), (other, other_kinds) = preceding[opinion], preceding[size]
        both = [letter for letter in kinds if letter in other_kinds]
        for letter, person, gender in product(both, ("3s", "3p"), lexicon.GENDERS):
            forms = [agree(adjective, gender, plural=person in _PLURAL) for adjective in (french, other)]
            yield "OpinionSize", (gender, person, lexicon.KINDS[letter]), entry(pair, " ".join(forms))
    for name, table in lexicon.VERBS.items():
        for row in _rows(table, share):
            yield from _verb_forms(name, *row)
    for symbol, pairs in lexicon.CLOSED.items():
        name, *features = symbol.split(",")
        for pair in pairs.split(";"):
            english, french = (side.strip() for side in pair.split("|"))
            english, _, weight = english.partition("*")
            yield name, tuple(features), entry(english, french, float(weight or 1))
    for english, direct, indirect, gender, person in lexicon.CLITICS:
        for subject in lexicon.PERSONS:
            if person[0] == "3" or person[0] != subject[0]:  # nobody sees himself: that would be reflexive
                yield "Clitic", (subject, gender, person), entry(english, direct)
                yield "Dative", (subject,), entry(english, indirect)


def _verb_forms(name: str, english: str, french: str, subjects: str, objects: str) -> Iterator[_Placed]:
    base, past, participle = _english_forms(english)
    verb, _, particle = base.partition(" ")
    third = f"{english_plural(verb)} {particle}".strip()
    infinitive, je, il, nous, vous, ils, french_participle = _french_forms(french)
    present = {"1s": je, "1p": nous, "2p": vous, "3s": il, "3p": ils}
    for letters in product(subjects, objects) if objects else product(subjects):
        kinds = tuple(lexicon.KINDS[letter] for letter in letters)
        yield name, ("infinitive", *kinds), entry(base, infinitive)
        for person in lexicon.PERSONS:
            yield name, ("finite", person, *kinds), entry(third if person == "3s" else base, present[person])
            yield name, ("base", person, *kinds), entry(base, present[person])
            for gender in lexicon.GENDERS:
                agreed = agree_participle(french_participle, gender, person)
                yield name, ("past", gender, person, *kinds), entry(past, agreed)
                yield name, ("did", gender, person, *kinds), entry(base, agreed)
                if objects and kinds[0] == "person" and not particle:  # nothing "is looked for by" anyone
                    yield "Passive", (person, gender, kinds[1]), entry(participle, agreed)


def _french_forms(french: str) -> list[str]:
    """Infinitive, present for je, il, nous, vous, ils, and participle."""
    infinitive, *forms = french.split()
    return [infinitive, *(forms or conjugate(infinitive))]


def _english_forms(english: str) -> tuple[str, str, str]:
    """Base, past and participle; `look_for` stands for the two words `look for`."""
    base, *irregular = english.split()
    verb, _, particle = base.partition("_")
    past = irregular[0] if irregular else english_past(verb)
    participle = irregular[-1] if irregular else past
    return tuple(f"{form} {particle}".strip() for form in (verb, past, participle))  # type: ignore[return-value]


def _plural(noun: str, regular: Callable[[str], str]) -> str:
    singular, _, plural = noun.partition("/")
    return plural or regular(singular)


def _rows(table: str, share: float | None) -> list[list[str]]:
    above, _, below = table.partition("---")
    lines = above.strip().splitlines()
    kept = lines + below.strip().splitlines() if share is None else lines[: max(1, round(len(lines) * share))]
    return [[cell.strip() for cell in line.split("|")] for line in kept]
