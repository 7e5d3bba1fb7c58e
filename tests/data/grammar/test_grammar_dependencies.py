"""The grammar with long dependencies: its French, its gold links, and the words that agree."""

import hashlib
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.data.grammar import AgreeingPair, Deriver
from lookback.data.grammar.inflection import paradigms
from lookback.data.grammar.notation import Rule, is_constituent

PAIRS = {
    "an expression of time in front": (
        "the queen arrived yesterday .",
        "hier , la reine est arrivée .",
        "0-2 1-3 2-4 2-5 3-0 3-1 4-6",
    ),
    "it goes over the whole clause": (
        "the king whom she saw sleeps and sings tonight .",
        "ce soir , le roi qu' elle a vu dort et chante .",
        "0-3 1-4 2-5 3-6 4-7 4-8 5-9 6-10 7-11 8-0 8-1 8-2 9-12",
    ),
    "a reason behind what it explains": (
        "because he sleeps , she works .",
        "elle travaille parce qu' il dort .",
        "0-2 0-3 1-4 2-5 3-2 4-0 5-1 6-6",
    ),
    "the subject behind the verb": (
        "the key that the kings found is small .",
        "la clé qu' ont trouvée les rois est petite .",
        "0-0 1-1 2-2 3-5 4-6 5-3 5-4 6-7 7-8 8-9",
    ),
    "but a pronoun in front of it": (
        "the key that he found is small .",
        "la clé qu' il a trouvée est petite .",
        "0-0 1-1 2-2 3-3 4-4 4-5 5-6 6-7 7-8",
    ),
    "an object called first, present": (
        "the old books , the queen sees them .",
        "les vieux livres , la reine les voit .",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-7 7-6 8-8",
    ),
    "its participle agrees with it": (
        "the keys , he did not find them .",
        "les clés , il ne les a pas trouvées .",
        "0-0 1-1 2-2 3-3 4-6 5-4 5-7 6-8 7-5 8-9",
    ),
    "an object set off": (
        "it is the letter that the king saw .",
        "c' est la lettre qu' a vue le roi .",
        "0-0 1-1 2-2 3-3 4-4 5-7 6-8 7-5 7-6 8-9",
    ),
    "several of them": (
        "it is the letters that the king saw .",
        "ce sont les lettres qu' a vues le roi .",
        "0-0 1-1 2-2 3-3 4-4 5-7 6-8 7-5 7-6 8-9",
    ),
}


@pytest.fixture(scope="module")
def deriver() -> Deriver:
    return Deriver("medium", "long")


@pytest.mark.parametrize(("english", "french", "alignment"), PAIRS.values(), ids=PAIRS)
def test_phenomenon(long_parser: Any, english: str, french: str, alignment: str) -> None:
    ((found, links),) = long_parser.translate(english)
    assert found == french
    assert links == {tuple(map(int, link.split("-"))) for link in alignment.split()}


@given(length=st.integers(3, 26), seed=st.integers(0, 10**6))
def test_english_determines_french(long_parser: Any, deriver: Deriver, length: int, seed: int) -> None:
    pair = deriver.derive(length, Random(seed))
    assert long_parser.translate(pair.source) == {(pair.target, frozenset(pair.alignment))}


@given(length=st.integers(3, 90), seed=st.integers(0, 10**6))
def test_every_word_is_aligned_and_every_dependent_has_other_forms(deriver: Deriver, length: int, seed: int) -> None:
    pair = deriver.derive(length, Random(seed))
    assert isinstance(pair, AgreeingPair)
    source, target = pair.source.split(), pair.target.split()
    assert len(source) == length
    assert {i for i, _ in pair.alignment} == set(range(length))
    assert {j for _, j in pair.alignment} == set(range(len(target)))
    assert [word.target for word in pair.agreement] == sorted({word.target for word in pair.agreement})
    for word in pair.agreement:
        assert 0 <= word.distance < length
        assert target[word.target] not in word.others
        assert any({target[word.target], *word.others} >= set(forms) for forms in FORMS)


FORMS = [forms for forms in paradigms("medium") if len(set(forms)) > 1]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        # how many source words lie between the noun and the word that agrees with it
        (
            "the queen whom the old king sees is tired .",
            "la reine que voit le vieux roi est fatiguée .",
            {"voit": 0, "est": 5, "fatiguée": 6},
        ),
        (
            "the key , the king did not find it .",
            "la clé , le roi ne l' a pas trouvée .",
            {"a": 0, "trouvée": 5},
        ),
        ("the women left yesterday .", "hier , les femmes sont parties .", {"sont": 0, "parties": 0}),
        ("the king and the queen are old .", "le roi et la reine sont vieux .", {}),  # no noun decides alone
        ("i am old .", "je suis vieux .", {"suis": 0, "vieux": 1}),
    ],
)
def test_what_agrees(long_parser: Any, source: str, target: str, expected: dict[str, int]) -> None:
    pair = Led(long_parser).of(source)
    assert pair.target == target
    assert {target.split()[word.target]: word.distance for word in pair.agreement} == expected


class Led(Deriver):
    """Derives a given sentence, with the first rules and words that lead to it."""

    def __init__(self, parser: Any) -> None:
        super().__init__("medium", "long")
        self._parser = parser

    def of(self, english: str) -> AgreeingPair:
        assert self._parser.translate(english)
        pair = self.derive(len(english.split()), Random(0))
        assert isinstance(pair, AgreeingPair)
        assert pair.source == english
        return pair

    def _expand(self, symbol: str, length: int, source: list[str], random: Random) -> Any:
        self._at = len(source)
        return super()._expand(symbol, length, source, random)

    def _choose(self, symbol: str, length: int, random: Random) -> Any:
        if symbol in self.words:
            words = self._parser._sentence[self._at : self._at + length]
            return next(word for word in self.words[symbol] if word.source == words)
        return next(rule for rule in self.rules[symbol] if self._spans(rule, length))

    def _share_out(self, rule: Rule, length: int, random: Random) -> list[int]:
        spans = zip(self._spans(rule, length)[0], rule.source, strict=True)
        return [stop - start for (start, stop), item in spans if is_constituent(item)]

    def _spans(self, rule: Rule, length: int) -> list[list[tuple[int, int]]]:
        return self._parser._match(rule.source, self._at, self._at + length)


def test_draws_reach_further_than_those_of_local() -> None:
    """Crossings a link: 0.2 and 2.0 over some thousand pairs."""
    crossings = {}
    for dependencies in ("local", "long"):
        deriver, random = Deriver("small", dependencies), Random(3)
        pairs = [deriver.derive(4 + index % 57, random) for index in range(228)]
        crossed = sum(
            (a - c) * (b - d) < 0
            for pair in pairs
            for place, (a, b) in enumerate(pair.alignment)
            for c, d in pair.alignment[:place]
        )
        crossings[dependencies] = crossed / sum(len(pair.alignment) for pair in pairs)
        if dependencies == "long":
            distances = [word.distance for pair in pairs if isinstance(pair, AgreeingPair) for word in pair.agreement]
    assert crossings["local"] < 0.35
    assert crossings["long"] > 1.2
    assert sum(distance >= 4 for distance in distances) > 0.3 * len(distances)


def test_the_same_everywhere() -> None:
    deriver, random = Deriver("small", "long"), Random("pinned")
    pairs = [deriver.derive(3 + index % 80, random) for index in range(160)]
    assert hashlib.sha256(repr(pairs).encode()).hexdigest()[:16] == "ce380c553622c1ce"


def test_refused() -> None:
    with pytest.raises(ValueError, match="dependencies='far': expected one of local, long"):
        Deriver("small", "far")
