import pytest

from lookback.data.grammar import inflection, lexicon
from lookback.data.grammar.inflection import Entry, entries, entry


def test_nouns_and_adjectives() -> None:
    words = entries("full")
    assert Entry(("children",), ("enfants",), ((0,),)) in words["Noun[m,3p,person]"]
    assert Entry(("horses",), ("chevaux",), ((0,),)) in words["Noun[m,3p,animal]"]
    assert Entry(("libraries",), ("bibliothèques",), ((0,),)) in words["Noun[f,3p,place]"]
    assert Entry(("old",), ("vieux/vieil",), ((0,),)) in words["Size[m,3s,person]"]
    assert Entry(("beautiful", "small"), ("beau/bel", "petit"), ((0,), (1,))) in words["OpinionSize[m,3s,place]"]
    assert [word.target for word in words["OpinionSize[f,3p,person]"]] == [("belles", "jeunes")]
    assert [word.target[0] for word in words["Adjective[3s,f,thing]"] if word.source == ("new",)] == ["neuve"]
    assert Entry(("old",), ("vieux",), ((0,),)) in words["Adjective[3s,m,person]"]
    assert Entry(("white",), ("blanches",), ((0,),)) in words["After[f,3p,thing]"]


def test_verbs() -> None:
    words = entries("full")
    assert Entry(("sees",), ("voit",), ((0,),)) in words["Transitive[finite,3s,person,thing]"]
    assert Entry(("look", "for"), ("cherchons",), ((0, 1),)) in words["Transitive[base,1p,person,thing]"]
    assert Entry(("saw",), ("vues",), ((0,),)) in words["Transitive[past,f,3p,person,thing]"]
    assert Entry(("chosen",), ("choisie",), ((0,),)) in words["Passive[3s,f,thing]"]
    assert not any(word.source[0] == "looked" for word in words["Passive[3s,f,thing]"])
    assert Entry(("go",), ("aller",), ((0,),)) in words["Going[infinitive,person]"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (inflection.english_plural("church"), "churches"),
        (inflection.english_plural("key"), "keys"),
        (inflection.english_plural("city"), "cities"),
        (inflection.english_plural("go"), "goes"),
        (inflection.english_past("reply"), "replied"),
        (inflection.english_past("stay"), "stayed"),
        (inflection.english_past("love"), "loved"),
        (inflection.french_plural("château"), "châteaux"),
        (inflection.french_plural("hôpital"), "hôpitaux"),
        (inflection.french_plural("héros"), "héros"),
        (inflection.agree("beau/bel belle", "m", plural=True), "beaux"),
        (inflection.agree("beau/bel belle", "f", plural=True), "belles"),
        (inflection.agree_participle("pris", "m", "3p"), "pris"),
        (inflection.agree_participle("pris", "f", "3p"), "prises"),
        (inflection.agree_participle("vu", "m", "2p"), "vu"),  # polite vous is one person
        (inflection.conjugate("aimer")[2], "aimons"),
        (inflection.paradigm("le", ("f", "3s")), "la"),
        (inflection.paradigm("être", ("1p",)), "sommes"),
    ],
)
def test_forms(form: str, expected: str) -> None:
    assert form == expected


def test_irregular_verbs_need_their_forms() -> None:
    with pytest.raises(ValueError, match="voir"):
        inflection.conjugate("voir")


def test_plain_alignment_only() -> None:
    assert entry("in front of", "devant").links == ((0, 1, 2),)
    assert entry("every day", "chaque jour").links == ((0,), (1,))
    with pytest.raises(ValueError, match="2 to 3 words"):
        entry("last week", "la semaine dernière")


def test_tense_shows_in_english() -> None:
    """A verb like ``put``, present and past alike, would leave the French tense open."""
    for name, table in lexicon.VERBS.items():
        for english, *_ in inflection._rows(table, None):
            base, past, _ = inflection._english_forms(english)
            assert base != past, (name, english)


@pytest.mark.parametrize("name", [*lexicon.NOUNS, *lexicon.VERBS])
def test_tables_repeat_no_word(name: str) -> None:
    rows = inflection._rows((lexicon.NOUNS | lexicon.VERBS)[name], None)
    for column in (0, 1):
        words = [row[column].split()[0] for row in rows]
        assert len(words) == len(set(words))


def test_sizes_are_nested() -> None:
    small, medium, full = (
        {(symbol, word.source) for symbol, words in entries(size).items() for word in words} for size in lexicon.SIZES
    )
    assert small < medium < full
