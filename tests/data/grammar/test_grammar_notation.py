from collections import defaultdict

import pytest

from lookback.data.grammar import notation, rules
from lookback.data.grammar.inflection import entries
from lookback.data.grammar.notation import Slot, grammar


@pytest.mark.parametrize("size", ["small", "medium", "full"])
def test_grammar_is_whole(size: str) -> None:
    words = entries(size)
    found = grammar(words)
    assert all(
        child in found or child in words for group in found.values() for rule in group for child in rule.children
    )
    assert not set(found) & set(words)
    assert all(sum(rule.weight for rule in group) == pytest.approx(1.0) for group in found.values())


def test_every_line_is_used() -> None:
    """A misspelt constituent would silently take its rule away."""
    lexical = entries("full")
    found = grammar(lexical)
    shapes = defaultdict(set)
    for head, group in found.items():
        shapes[head.split("[")[0]] |= {tuple(item.split("[")[0] for item in rule.source) for rule in group}
    for head, _, english, *_ in notation._cells(rules.RULES):
        name = notation._name(head)
        source = tuple(notation._name(item).rstrip("0123456789") for item in english.split())
        inflected = {word for word in ("do", "be", "was", "want") if word in source}
        if not inflected:
            assert source in shapes[name], (head, english)


def test_fill_and_link() -> None:
    (rule,) = (
        rule
        for rule in notation._instances("X[p]", "1", "do[p] not V1[p] V2[m]", "ne V1 pas V2", "do-V1 not-ne not-pas")
        if rule.head == "X[3s]"
    )
    assert rule.source == ("does", "not", "V[3s]", "V[m]")
    assert rule.target == (Slot("ne", -1, (1,)), Slot(None, 2, (0,)), Slot("pas", -1, (1,)), Slot(None, 3, ()))
    assert (rule.words, rule.children, rule.renames) == (2, ("V[3s]", "V[m]"), False)


def test_depth_runs_out() -> None:
    heads = [(rule.head, rule.source) for rule in notation._instances("X[d]", "1", "Y[d-]", "Y")]
    assert heads == [("X[1]", ("Y[0]",)), ("X[2]", ("Y[1]",))]


def test_lone_words_are_linked() -> None:
    (rule,) = notation._instances("X", "1", "some A", "A des")
    assert rule.target == (Slot(None, 1, ()), Slot("des", -1, (0,)))
