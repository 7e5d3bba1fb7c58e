"""Finished sentences are dropped from the batch, and the others translate as before."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lookback.search import BeamSearch, GreedySearch, SamplingSearch
from lookback.search.active_sentences import ActiveSentences
from support.same import assert_same
from support.toy import FIRST_WORD, VOCABULARY, Architecture, architectures, source_batch

LENGTHS = [0, 20, 1, 3, 12, 2]
SEARCHES = (GreedySearch(1.0, 2), BeamSearch(3, 3, 1.0, 2), SamplingSearch(2, limit_factor=1.0, limit_extra=2))


def sentences(lengths: list[int], seed: int = 0) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(FIRST_WORD, VOCABULARY, (n,), generator=generator).tolist() for n in lengths]


@settings(max_examples=15)  # each is many searches
@given(architectures(), st.sampled_from(SEARCHES), st.permutations(LENGTHS), st.integers(0, 9))
def test_sentences_of_very_different_lengths_translate_as_alone(architecture, search, lengths, seed):
    model = architecture.build(seed, sharpness=2)
    batch = sentences(lengths, seed)
    for sentence, hypotheses in zip(batch, search(model, *source_batch(batch)), strict=True):
        assert_same(hypotheses, search(model, *source_batch([sentence]))[0])


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_when_they_are_dropped_changes_nothing(search, share: float, monkeypatch: pytest.MonkeyPatch):
    model = Architecture().build(sharpness=2)
    batch = source_batch(sentences(LENGTHS))
    expected = search(model, *batch)
    monkeypatch.setattr("lookback.search.active_sentences.DROP_AT", share)
    for hypotheses, others in zip(search(model, *batch), expected, strict=True):
        assert_same(hypotheses, others)


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_a_batch_shrinks_to_the_unfinished_sentences(search, monkeypatch: pytest.MonkeyPatch):
    model = Architecture().build()
    with torch.no_grad():
        model.decoder.vocabulary.bias[3] = -1e4  # each goes on to its limit, its own length + 2
    sizes = []
    step = ActiveSentences.step

    def spy(active: ActiveSentences):
        sizes.append(len(active.sentences))
        return step(active)

    monkeypatch.setattr(ActiveSentences, "step", spy)
    search(model, *source_batch(sentences(LENGTHS)))
    assert len(sizes) == 22
    for number, size in enumerate(sizes):
        alive = sum(length + 2 > number for length in LENGTHS)
        assert alive <= size <= max(alive / 0.75, alive)
