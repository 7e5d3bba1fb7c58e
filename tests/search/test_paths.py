import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.special_tokens import BOS, EOS, PAD
from lookback.search import GreedySearch, SamplingSearch, force
from support.same import assert_same
from support.toy import Architecture, architectures, sentences, source_batch, target_batch

RULE = {"limit_factor": 1.0, "limit_extra": 4}


@given(architectures(), st.integers(0, 99), sentences(), st.floats(0.5, 4))
def test_greedy_takes_the_likeliest_word_until_the_end_mark_or_the_limit(architecture, seed, batch, sharpness):
    model = architecture.build(seed, sharpness=sharpness)
    found = GreedySearch(**RULE)(model, *source_batch(batch))
    for sentence, (hypothesis,) in zip(batch, found, strict=True):
        memory = model.encoder(*source_batch([sentence]))
        state, words, total = model.decoder.start(memory), [BOS], 0.0
        while len(words) - 1 < len(sentence) + 4 and words[-1] != EOS:
            state, vector, weights = model.decoder.step(state, torch.tensor([words[-1:]]))
            scores = torch.log_softmax(model.decoder.logits(vector[0, 0]), dim=-1)
            words.append(
                max((w for w in range(11) if w not in (PAD, BOS)), key=lambda w, scores=scores: scores[w].item())
            )
            total += scores[words[-1]].item()
            torch.testing.assert_close(hypothesis.alignment[len(words) - 2], weights[0, 0], rtol=0, atol=1e-10)
        assert hypothesis.truncated == (words[-1] != EOS)
        assert hypothesis.tokens == [word for word in words[1:] if word != EOS]
        assert hypothesis.log_probability == pytest.approx(total, abs=1e-10)
        assert hypothesis.score == pytest.approx(total / (len(words) - 1), abs=1e-10)


@given(architectures(), sentences(), st.integers(0, 3), st.integers(1, 3), st.randoms())
def test_a_sentence_has_the_same_samples_in_any_batch(architecture, batch, extra, samples, random):
    model = architecture.build()
    random.shuffle(batch)
    search = SamplingSearch(samples, seed=7, **RULE)
    for sentence, hypotheses in zip(batch, search(model, *source_batch(batch, extra)), strict=True):
        assert_same(hypotheses, search(model, *source_batch([sentence]))[0])


@given(architectures(), sentences(), st.integers(1, 3), st.integers(0, 9))
def test_every_sample_has_its_own_forced_score_and_alignment(architecture, batch, samples, seed):
    model = architecture.build()
    found = SamplingSearch(samples, temperature=1.5, seed=seed, **RULE)(model, *source_batch(batch))
    for sentence, hypotheses in zip(batch, found, strict=True):
        assert len(hypotheses) == samples
        for hypothesis in hypotheses:
            assert not {PAD, BOS, EOS} & set(hypothesis.tokens)
            if not hypothesis.truncated:
                assert_same([hypothesis], force(model, *source_batch([sentence]), target_batch([hypothesis.tokens])))


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_samples_are_as_frequent_as_the_model_says(temperature: float):
    """First and second tokens of 20,000 samples, 2,000 a seed: a χ² test of each."""
    model = Architecture().build(vocabulary=7)
    source, lengths = source_batch([[4, 5]])
    searches = [SamplingSearch(2_000, temperature, seed, limit_factor=0, limit_extra=2) for seed in range(10)]
    sampled = [
        [*h.tokens, *([] if h.truncated else [EOS])] for search in searches for h in search(model, source, lengths)[0]
    ]

    def expected(prefix: list[int]) -> torch.Tensor:
        vectors, _ = model.decoder.unroll(torch.tensor([[BOS, *prefix]]), model.encoder(source, lengths))
        logits = model.decoder.logits(vectors[0, -1]).detach() / temperature
        logits[[PAD, BOS]] = -math.inf
        return torch.softmax(logits, dim=-1)

    def chi_square(counts: Counter[int], probabilities: torch.Tensor) -> float:
        total = sum(counts.values())
        return sum(
            (counts[word] - total * p) ** 2 / (total * p) for word, p in enumerate(probabilities.tolist()) if p > 0
        )

    # 5 words can be said: 4 degrees of freedom, of which 23.5 is exceeded once in 10,000 times
    assert chi_square(Counter(tokens[0] for tokens in sampled), expected([])) < 23.5
    after = max((w for w in range(7) if w != EOS), key=lambda w: sum(tokens[0] == w for tokens in sampled))
    assert chi_square(Counter(t[1] for t in sampled if t[0] == after), expected([after])) < 23.5


def test_the_colder_the_nearer_to_greedy():
    model = Architecture().build()
    batch = source_batch([[4, 5, 6], [], [7, 8]])
    greedy = [hypotheses[0].tokens for hypotheses in GreedySearch(**RULE)(model, *batch)]

    def agreement(temperature: float) -> float:
        found = SamplingSearch(50, temperature, **RULE)(model, *batch)
        return sum(h.tokens == tokens for tokens, hs in zip(greedy, found, strict=True) for h in hs) / 150

    hot, warm, cold = agreement(5.0), agreement(0.3), agreement(1e-6)
    assert hot < warm < cold == 1


def test_samples_follow_the_seed_and_differ_between_sentences_and_samples():
    model = Architecture().build()
    batch = source_batch([[4, 5, 6], [4, 5, 6], [6, 5, 4]])

    def draw(seed: int) -> list[list[list[int]]]:
        return [[h.tokens for h in hs] for hs in SamplingSearch(4, temperature=3, seed=seed, **RULE)(model, *batch)]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert draw(1)[0] == draw(1)[1] != draw(1)[2]
    assert len({tuple(tokens) for tokens in draw(1)[0]}) > 1


def test_sampling_leaves_torchs_own_randomness_alone():
    model = Architecture().build()
    before = torch.get_rng_state()
    SamplingSearch(2)(model, *source_batch([[4]]))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"samples": 0}, "samples=0: expected a whole number, 1 to 2,000"),
        ({"temperature": 0.0}, r"temperature=0\.0: expected a number, 0.000001 to 1,000.*search=greedy"),
        ({"limit_extra": 0}, "limit_extra=0: expected a whole number, 1 to 10,000"),
    ],
)
def test_a_bad_argument_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        SamplingSearch(**arguments)
