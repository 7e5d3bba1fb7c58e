import pytest

from lookback.data.grammar.orthography import spell_english, spell_french, starts_with_vowel


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("le homme", "l' homme"),
        ("le héros", "le héros"),
        ("la horloge", "l' horloge"),
        ("le petit homme", "le petit homme"),
        ("je ne aime pas", "je n' aime pas"),
        ("je ai", "j' ai"),
        ("que il", "qu' il"),
        ("si il", "s' il"),
        ("si elle", "si elle"),
        ("de le jardin", "du jardin"),
        ("de le homme", "de l' homme"),
        ("de la école", "de l' école"),
        ("de les œufs", "des œufs"),
        ("à le jardin", "au jardin"),
        ("à les écoles", "aux écoles"),
        ("à la école", "à l' école"),
        ("de des amis", "d' amis"),
        ("de de petits amis", "de petits amis"),
        ("de un homme", "d' un homme"),
        ("ma école", "mon école"),
        ("ce hibou", "ce hibou"),
        ("ce œuf", "cet œuf"),
        ("beau/bel ami", "bel ami"),
        ("beau/bel vieux/vieil ami", "beau vieil ami"),
        ("le aime", "l' aime"),
    ],
)
def test_french(words: str, expected: str) -> None:
    spelt, _ = spell_french(words.split(), [[i] for i in range(len(words.split()))])
    assert " ".join(spelt) == expected


def test_contraction_unites_links() -> None:
    assert spell_french(["près", "de", "le", "roi"], [[0], [0], [1], [2]]) == (
        ["près", "du", "roi"],
        [[0], [0, 1], [2]],
    )


def test_vowels() -> None:
    assert [word for word in ("œuf", "île", "hôtel", "hibou", "roi", "état", "") if starts_with_vowel(word)] == [
        "œuf",
        "île",
        "hôtel",
        "état",
    ]


def test_english() -> None:
    assert spell_english(["a", "old", "man", "saw", "a", "house"]) == ["an", "old", "man", "saw", "a", "house"]
