"""From the tables of `lexicon` to the words that a rule may put down: every form of every word, with its translation."""

from itertools import product
from typing import NamedTuple

from lookback.data.grammar import lexicon

_SUBJECTS = lexicon.PERSONS
_BEFORE_VOWEL = "/"


class Entry(NamedTuple):
    """A word with its translation: `links[j]` are the source words that target word j is aligned to."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, ...], ...]
    weight: float = 1.0


def entry(source: str, target: str, weight: float = 1.0) -> Entry:
    """Align two short phrases: word by word if they are equally long, else all to the one word of a side.

    Raises:
        ValueError: if both sides have several words and not the same number: such a pair belongs into the rules, with its links.
    """
    source_words, target_words = tuple(source.split()), tuple(target.split())
    everything = tuple(range(len(source_words)))
    if len(source_words) == len(target_words):
        return Entry(source_words, target_words, tuple((i,) for i in everything), weight)
    if 1 not in (len(source_words), len(target_words)):
        raise ValueError(f"entry {source!r} | {target!r}: no alignment of {len(source_words)} to {len(target_words)} words")
    return Entry(source_words, target_words, (everything,) * len(target_words), weight)


def entries(size: str) -> dict[str, list[Entry]]:
    """All words of a lexicon (`small`, `medium`, `full`), by the constituent they make up, such as `Noun[m,3s,person]`."""
    share = lexicon.SIZES[size]
    found: dict[str, list[Entry]] = {}

    def put(name: str, features: tuple[str, ...], word: Entry) -> None:
        found.setdefault(f"{name}[{','.join(features)}]" if features else name, []).append(word)

    for kind, table in lexicon.NOUNS.items():
        for english, french, gender in _rows(table, share):
            for number, plural in (("3s", False), ("3p", True)):
                word = entry(_plural(english, english_plural) if plural else _singular(english),
                             _plural(french, french_plural) if plural else _singular(french))
                put("Noun", (gender, number, kind), word)
    for english, french, kinds, place in _rows(lexicon.ADJECTIVES, share):
        for letter, person, gender in product(kinds, _SUBJECTS, lexicon.GENDERS):
            attribute = agree(french, gender, plural=person in ("1p", "3p"))
            predicate = attribute.split(_BEFORE_VOWEL)[0]
            put("Adjective", (person, gender, lexicon.KINDS[letter]), entry(english, predicate))
            if person in ("3s", "3p"):
                put(place.capitalize(), (gender, person, lexicon.KINDS[letter]), entry(english, attribute))
    for name, table in lexicon.VERBS.items():
        for english, french, subjects, objects in _rows(table, share):
            _put_verb(put, name, english, french, subjects, objects)
    for symbol, pairs in lexicon.CLOSED.items():
        name, *features = symbol.split(",")
        for pair in pairs.split(";"):
            english, french = (side.strip() for side in pair.split("|"))
            english, _, weight = english.partition("*")
            put(name, tuple(features), entry(english, french, float(weight or 1)))
    for english, direct, indirect, gender, person in lexicon.CLITICS:
        for subject in _SUBJECTS:
            if subject[0] != person[0] or person[0] == "3":  # nobody sees himself: that would be reflexive
                put("Clitic", (subject, gender, person), entry(english, direct))
                put("Dative", (subject,), entry(english, indirect))
    return found


def paradigm(word: str, features: tuple[str, ...]) -> str:
    """The form of a function word that a rule inflects, as `do[3s]` → `does`, `le[f,3s]` → `la`."""
    if word == "le":
        return "les" if features[1] == "3p" else {"m": "le", "f": "la"}[features[0]]
    if word == "tout":
        return {"m": "tous", "f": "toutes"}[features[0]]
    return lexicon.PARADIGMS[word].split()[_SUBJECTS.index(features[0])]


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
    """The form of an adjective written `masculine feminine`; the masculine singular may carry a form before a vowel (`beau/bel`)."""
    form = adjective.split()[lexicon.GENDERS.index(gender)]
    return french_plural(form.split(_BEFORE_VOWEL)[0]) if plural else form


def agree_participle(participle: str, gender: str, person: str) -> str:
    """A past participle with its endings: `vu vue vus vues`."""
    plural = person in ("1p", "3p") and not (gender == "m" and participle.endswith("s"))
    return participle + ("e" if gender == "f" else "") + ("s" if plural else "")


def conjugate(infinitive: str) -> list[str]:
    """Present of a regular verb in -er for je, il, nous, vous, ils, then its past participle."""
    if not infinitive.endswith("er"):
        raise ValueError(f"verb {infinitive!r} does not end in -er: its forms must stand in the table")
    stem = infinitive[:-2]
    return [stem + ending for ending in ("e", "e", "ons", "ez", "ent", "é")]


def _put_verb(put, name: str, english: str, french: str, subjects: str, objects: str) -> None:
    base, past, participle = _english_forms(english)
    particle = base.partition(" ")[2]
    third = " ".join(filter(None, (english_plural(base.split()[0]), particle)))
    infinitive, *forms = french.split()
    je, il, nous, vous, ils, vu = forms or conjugate(infinitive)
    present = dict(zip(("1s", "3s", "1p", "2p", "3p"), (je, il, nous, vous, ils), strict=True))
    kinds = [(lexicon.KINDS[subject], *((lexicon.KINDS[o],) if objects else ())) for subject in subjects for o in objects or " "]
    for kind in kinds:
        put(name, ("infinitive", *kind), entry(base, infinitive))
        for person in _SUBJECTS:
            put(name, ("finite", person, *kind), entry(third if person == "3s" else base, present[person]))
            put(name, ("base", person, *kind), entry(base, present[person]))
            for gender in lexicon.GENDERS:
                put(name, ("past", gender, person, *kind), entry(past, agree_participle(vu, gender, person)))
                put(name, ("did", gender, person, *kind), entry(base, agree_participle(vu, gender, person)))
                if kind[0] == "person" and objects and not particle:  # nothing "is looked for by" anyone
                    put("Passive", (person, gender, kind[1]), entry(participle, agree_participle(vu, gender, person)))


def _english_forms(english: str) -> tuple[str, str, str]:
    """Base, past and participle; `look_for` stands for the two words `look for`."""
    base, *irregular = english.split()
    verb, _, particle = base.partition("_")
    past = irregular[0] if irregular else english_past(verb)
    participle = irregular[-1] if irregular else past
    return tuple(f"{form} {particle}".strip() for form in (verb, past, participle))  # type: ignore[return-value]


def _singular(noun: str) -> str:
    return noun.split("/")[0]


def _plural(noun: str, regular) -> str:
    singular, _, plural = noun.partition("/")
    return plural or regular(singular)


def _rows(table: tuple[int, str], share: float | None) -> list[list[str]]:
    count, text = table
    rows = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    return rows if share is None else rows[: max(1, round(count * share))]
