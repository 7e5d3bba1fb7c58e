from collections import defaultdict

import pytest

from lookback.data.grammar import notation, rules
from lookback.data.grammar.inflection import entries
from lookback.data.grammar.notation import NOTHING, OUTSIDE, Slot, grammar


@pytest.mark.parametrize("dependencies", ["local", "long"])
@pytest.mark.parametrize("size", ["small", "medium", "full"])
def test_grammar_is_whole(size: str, dependencies: str) -> None:
    words = entries(size)
    found = grammar(words, dependencies)
    assert all(
        child in found or child in words for group in found.values() for rule in group for child in rule.children
    )
    assert not set(found) & set(words)
    assert all(sum(rule.weight for rule in group) == pytest.approx(1.0) for group in found.values())


@pytest.mark.parametrize("dependencies", ["local", "long"])
def test_every_line_is_used(dependencies: str) -> None:
    """A misspelt constituent would silently take its rule away."""
    lexical = entries("full")
    found = grammar(lexical, dependencies)
    shapes = defaultdict(set)
    for head, group in found.items():
        shapes[head.split("[")[0]] |= {tuple(item.split("[")[0] for item in rule.source) for rule in group}
    for head, _, english, *_ in notation._cells(
        rules.RULES + (rules.LOCAL_RULES if dependencies == "local" else rules.LONG_RULES)
    ):
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


def test_what_agrees_with_what() -> None:
    """Items agree that share a variable for person or gender with a noun of the rule, or with the head."""
    line = ("Relative[g,q,i,d]", "1", "that NP[h,p,a,0] Transitive[past,g,q,a,i]", "que avoir[p] Transitive NP")
    rule = next(notation._instances(*line))
    assert rule.controllers == (NOTHING, NOTHING, OUTSIDE)  # the participle agrees with what the clause stands behind
    assert [slot.controller for slot in rule.target] == [NOTHING, 1, NOTHING, NOTHING]  # avoir with the subject inside
    rule = next(
        notation._instances("Nominal[g,q,k,d]", "1", "Described[g,q,k] Relative[g,q,k,d-]", "Described Relative")
    )
    assert (rule.controllers, rule.head_item) == ((NOTHING, 0), 0)
    rule = next(notation._instances("Subject[3p,f,k,d]", "1", "NP1[f,q,k,0] and NP2[f,r,k,0]", "NP1 et NP2"))
    assert rule.head_item == NOTHING  # two nouns: neither decides alone
