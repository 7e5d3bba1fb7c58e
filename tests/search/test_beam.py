from itertools import combinations, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.special_tokens import BOS, EOS, PAD, UNK
from lookback.nn import Seq2Seq
from lookback.search import BeamSearch, GreedySearch, Hypothesis, force, score
from lookback.search.active_sentences import ActiveSentences
from support.same import assert_same
from support.toy import ATTENTIONS, VOCABULARY, Architecture, architectures, sentences, source_batch, target_batch

SOURCES = [[4, 5, 6, 7], [], [8, 9], [10, 10, 4, 4, 6]]
RULE = {"limit_factor": 1.0, "limit_extra": 4}


def prefixed(model: Seq2Seq, sentence: list[int], tokens: list[int]) -> Hypothesis:
    """The forced decoding of an unfinished translation: its tokens, without an end mark."""
    source, lengths = source_batch([sentence])
    scores, weights = score(model, source, lengths, torch.tensor([[BOS, *tokens]]))
    total = scores.sum().item()
    return Hypothesis(tokens, total, total / max(len(tokens), 1), weights[0].detach(), truncated=True)


def assert_true(model: Seq2Seq, sentence: list[int], hypothesis: Hypothesis) -> None:
    """A hypothesis has the score and the alignment that the model gives its words."""
    if hypothesis.truncated:
        expected = prefixed(model, sentence, hypothesis.tokens)
    else:
        (expected,) = force(model, *source_batch([sentence]), target_batch([hypothesis.tokens]))
    assert_same([hypothesis], [expected])


@given(architectures(), st.integers(0, 99), sentences(), st.integers(1, 5), st.floats(0.5, 4))
def test_every_hypothesis_has_its_own_forced_score_and_alignment(architecture, seed, batch, beam_size, sharpness):
    model = architecture.build(seed, sharpness=sharpness)
    found = BeamSearch(beam_size, n_best=beam_size, **RULE)(model, *source_batch(batch))
    assert len(found) == len(batch)
    for sentence, hypotheses in zip(batch, found, strict=True):
        assert len(hypotheses) == beam_size
        for hypothesis in hypotheses:
            assert_true(model, sentence, hypothesis)


def plain_beam_search(model: Seq2Seq, sentence: list[int], beam_size: int, limit: int) -> list[Hypothesis]:
    """Beam search over lists of words, each beginning scored from scratch."""
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    complete: list[list[int]] = []
    source, lengths = source_batch([sentence])
    memory = model.encoder(source, lengths)
    for _ in range(limit):
        extensions = []
        for total, tokens in live:
            vectors, _ = model.decoder.unroll(torch.tensor([[BOS, *tokens]]), memory)
            scores = model.logits(vectors[0, -1]).log_softmax(-1).tolist()
            extensions += [(total + scores[w], [*tokens, w]) for w in range(VOCABULARY) if w not in (PAD, BOS)]
        extensions.sort(reverse=True)
        complete += [tokens[:-1] for _, tokens in extensions[:beam_size] if tokens[-1] == EOS]
        live = [(total, tokens) for total, tokens in extensions if tokens[-1] != EOS][:beam_size]
        if len(complete) >= beam_size:
            break
    forced = [force(model, *source_batch([sentence]), target_batch([tokens]))[0] for tokens in complete]
    missing = max(0, beam_size - len(complete))
    truncated = [prefixed(model, sentence, tokens) for _, tokens in live[:missing]]
    best = sorted(forced, key=lambda h: -h.score)[:beam_size]
    return best + sorted(truncated, key=lambda h: -h.score)


@pytest.mark.parametrize("beam_size", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_beam_search_over_plain_lists(seed: int, beam_size: int):
    model = Architecture(list(ATTENTIONS.values())[seed % len(ATTENTIONS)]).build(seed, sharpness=1.5)
    with torch.no_grad():
        found = BeamSearch(beam_size, beam_size, **RULE)(model, *source_batch(SOURCES))
        for sentence, hypotheses in zip(SOURCES, found, strict=True):
            assert_same(hypotheses, plain_beam_search(model, sentence, beam_size, len(sentence) + 4))


@given(architectures(), st.integers(0, 99), sentences(), st.floats(0.5, 4))
def test_a_beam_of_one_is_greedy_search(architecture, seed, batch, sharpness):
    model = architecture.build(seed, sharpness=sharpness)
    batch = source_batch(batch)
    beams, greedy = BeamSearch(1, **RULE)(model, *batch), GreedySearch(**RULE)(model, *batch)
    for beam, path in zip(beams, greedy, strict=True):
        assert_same(beam, path)


@given(architectures(), st.integers(0, 99), sentences(), st.integers(0, 3), st.integers(1, 4), st.randoms())
def test_neighbours_padding_and_order_change_no_hypothesis(architecture, seed, batch, extra, beam_size, random):
    model = architecture.build(seed, sharpness=2)
    random.shuffle(batch)
    search = BeamSearch(beam_size, n_best=beam_size, **RULE)
    for sentence, hypotheses in zip(batch, search(model, *source_batch(batch, extra)), strict=True):
        assert_same(hypotheses, search(model, *source_batch([sentence]))[0])


def crossings(model: Seq2Seq, source: torch.Tensor, lengths: torch.Tensor, beam_size: int) -> int:
    """In how many slots of the search a hypothesis moved there from another slot."""
    moved = []
    advance = ActiveSentences.advance

    def spy(active: ActiveSentences, origin: torch.Tensor, words: torch.Tensor) -> None:
        if active.words.shape[1] > 1:
            moved.append(int((origin != torch.arange(origin.shape[1])).sum()))
        advance(active, origin, words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ActiveSentences, "advance", spy)
        BeamSearch(beam_size, **RULE)(model, source, lengths)
    return sum(moved)


@pytest.mark.parametrize("attention", ATTENTIONS.values())
def test_after_beams_have_crossed_the_alignment_is_the_hypothesis_own(attention: type):
    architecture = Architecture(attention, query="current", input_feeding=True, readout="attentional")
    model = architecture.build(seed=5, sharpness=2)
    with torch.no_grad():
        model.decoder.vocabulary.bias[EOS] -= 2  # longer translations, whose beginnings differ
    source, lengths = source_batch(SOURCES)
    assert crossings(model, source, lengths, 4) >= 10
    found = BeamSearch(4, n_best=4, **RULE)(model, source, lengths)
    for sentence, hypotheses in zip(SOURCES, found, strict=True):
        for hypothesis in hypotheses:
            assert_true(model, sentence, hypothesis)
    if model.looks_back:
        pairs = [pair for hypotheses in found for pair in combinations(hypotheses, 2)]
        differences = [
            (a - b).abs().max() for one, other in pairs for a, b in zip(one.alignment, other.alignment, strict=False)
        ]
        assert max(differences) > 0.01  # another's row would show


def brute_force(
    model: Seq2Seq, sentence: list[int], vocabulary: int, limit: int, length_normalization: float
) -> list[Hypothesis]:
    """All complete translations of at most ``limit`` tokens, end mark counted, best first."""
    words = [word for word in range(vocabulary) if word not in (PAD, BOS, EOS)]
    every = [list(tokens) for size in range(limit) for tokens in product(words, repeat=size)]
    source, lengths = source_batch([sentence])
    forced = force(
        model,
        source.expand(len(every), -1),
        lengths.expand(len(every)),
        target_batch(every),
        length_normalization,
    )
    return sorted(forced, key=lambda hypothesis: -hypothesis.score)


@pytest.mark.parametrize("length_normalization", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_wide_enough_finds_the_best_of_all_translations(seed: int, length_normalization: float):
    vocabulary, limit = 6, 4
    model = Architecture().build(seed, vocabulary)
    expected = brute_force(model, [4, 5], vocabulary, limit, length_normalization)
    assert len(expected) == 1 + 3 + 9 + 27
    search = BeamSearch(200, n_best=40, limit_factor=1.0, limit_extra=2, length_normalization=length_normalization)
    assert search.rule.limits(torch.tensor([3])) == [limit]
    (found,) = search(model, *source_batch([[4, 5]]))
    assert_same(found, expected)


def test_length_normalization_decides_between_a_short_and_a_longer_translation():
    def best(length_normalization: float, seed: int) -> Hypothesis:
        model = Architecture().build(seed, vocabulary=6)
        search = BeamSearch(200, limit_extra=4, limit_factor=0.0, length_normalization=length_normalization)
        return search(model, *source_batch([[4, 5]]))[0][0]

    lengths = [(len(best(0.0, seed).tokens), len(best(1.0, seed).tokens)) for seed in range(8)]
    assert all(plain <= normalized for plain, normalized in lengths)
    assert any(plain < normalized for plain, normalized in lengths)


@given(architectures(), st.integers(0, 99), sentences(), st.integers(1, 5), st.sampled_from([0.0, 1.0]))
def test_the_n_best_are_distinct_sorted_and_the_first_of_more(architecture, seed, batch, n_best, length_normalization):
    model = architecture.build(seed)
    rule = {**RULE, "length_normalization": length_normalization}
    batch = source_batch(batch)
    all_five, some = BeamSearch(5, 5, **rule)(model, *batch), BeamSearch(5, n_best, **rule)(model, *batch)
    for five, hypotheses in zip(all_five, some, strict=True):
        assert len({(*h.tokens, h.truncated) for h in five}) == 5
        assert [(h.truncated, -h.score) for h in five] == sorted((h.truncated, -h.score) for h in five)
        assert_same(hypotheses, five[:n_best])
        for h in five:
            assert h.score == pytest.approx(h.log_probability / len(h.alignment) ** length_normalization, abs=1e-12)
            assert not {PAD, BOS, EOS} & set(h.tokens)


def never_ending(seed: int = 0) -> Seq2Seq:
    model = Architecture().build(seed)
    with torch.no_grad():
        model.decoder.vocabulary.bias[EOS] = -1e4
    return model


@pytest.mark.parametrize("search", [BeamSearch(3, n_best=3, limit_factor=2, limit_extra=3), GreedySearch(2, 3)])
def test_what_reaches_its_own_limit_is_truncated_there_and_says_so(search):
    found = search(never_ending(), *source_batch(SOURCES))
    for sentence, hypotheses in zip(SOURCES, found, strict=True):
        for hypothesis in hypotheses:
            assert hypothesis.truncated
            assert len(hypothesis.tokens) == len(hypothesis.alignment) == 2 * len(sentence) + 3
            assert_true(never_ending(), sentence, hypothesis)


def test_the_end_mark_may_be_the_last_token_that_the_limit_allows():
    model = Architecture().build()
    with torch.no_grad():
        model.decoder.vocabulary.bias[EOS] = 1e4
    for search in (BeamSearch(1, limit_factor=0, limit_extra=1), GreedySearch(0, 1)):
        (hypothesis,) = search(model, *source_batch([[4]]))[0]
        assert not hypothesis.truncated
        assert hypothesis.tokens == []
        assert hypothesis.alignment.shape == (1, 2)


def test_more_beams_than_words_are_as_many_as_there_are():
    """Of a vocabulary of 4 symbols only UNK and the end mark can be said."""
    model = Architecture().build(vocabulary=4)
    (found,) = BeamSearch(8, n_best=8, limit_factor=0, limit_extra=2)(model, torch.tensor([[1, 3]]), torch.tensor([2]))
    assert [(h.tokens, h.truncated) for h in found if not h.truncated] in (
        [([], False), ([UNK], False)],
        [([UNK], False), ([], False)],
    )
    assert [(h.tokens, h.truncated) for h in found if h.truncated] == [([UNK, UNK], True)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beam_size": 0}, "beam_size=0: expected a whole number, 1 to 2,000"),
        ({"beam_size": 3, "n_best": 4}, "n_best=4: expected 1 to beam_size=3"),
        ({"n_best": 0}, "n_best=0: expected a whole number, 1 to 2,000"),
        ({"limit_extra": 0}, "limit_extra=0: expected a whole number, 1 to 10,000"),
    ],
)
def test_a_bad_argument_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        BeamSearch(**arguments)
