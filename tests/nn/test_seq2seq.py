from itertools import product
from pathlib import Path
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lookback.common.special_tokens import BOS, EOS, PAD
from lookback.nn import (
    AdditiveAttention,
    CoverageAttention,
    DotAttention,
    FixedContext,
    GeneralAttention,
    RecurrentDecoder,
    RecurrentEncoder,
    Seq2Seq,
    initialize,
)
from lookback.nn.recurrent.recurrence import Cell
from lookback.search import score
from support.toy import ATTENTIONS, QUERYING, Architecture, architectures, sentences, source_batch, target_batch

SOURCES = [[4, 5, 6, 7], [], [8, 9]]
TARGETS = [[5, 9, 4], [6, 6, 7, 10, 4], []]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]]]:
    sources = draw(sentences())
    return sources, draw(sentences(len(sources), len(sources)))


@given(architectures(), pairs(), st.integers(0, 3), st.integers(0, 3), st.randoms())
def test_padding_neighbours_and_order_change_no_score(architecture, pairs, source_extra, target_extra, random):
    """Not even where the padding is filled with words."""
    model = architecture.build()
    order = list(range(len(pairs[0])))
    random.shuffle(order)
    sources, targets = ([side[i] for i in order] for side in pairs)
    source, lengths = source_batch(sources, source_extra)
    with torch.no_grad():
        scores, weights = score(model, source, lengths, target_batch(targets, target_extra))
        total = model(source, lengths, target_batch(targets, target_extra), smoothing=0.1)
        loss = nll = 0.0
        for b, (sentence, target) in enumerate(zip(sources, targets, strict=True)):
            alone = (*source_batch([sentence]), target_batch([target]))
            own_scores, own_weights = score(model, *alone)
            size, length = len(target) + 1, len(sentence) + 1
            torch.testing.assert_close(scores[b, :size], own_scores[0], rtol=0, atol=1e-12)
            torch.testing.assert_close(weights[b, :size, :length], own_weights[0], rtol=0, atol=1e-12)
            assert not scores[b, size:].any()
            assert not weights[b, :, length:].any()
            own = model(*alone, smoothing=0.1)
            assert own.tokens == size
            loss, nll = loss + own.loss.item(), nll + own.nll.item()
    assert total.loss.item() == pytest.approx(loss, abs=1e-10)
    assert total.nll.item() == pytest.approx(nll, abs=1e-10)
    assert total.nll.item() == pytest.approx(-scores.sum().item(), abs=1e-10)
    assert total.tokens == sum(len(target) + 1 for target in targets)


@given(architectures(), pairs(), st.integers(0, 3))
def test_a_loss_that_is_told_how_many_words_there_are_is_the_same(architecture, pairs, extra):
    model = architecture.build()
    sources, targets = pairs
    batch = (*source_batch(sources), target_batch(targets, extra))
    tokens = sum(len(target) + 1 for target in targets)
    counted, told = model(*batch, 0.1), model(*batch, 0.1, tokens)
    assert (told.loss, told.nll, told.tokens) == (counted.loss, counted.nll, counted.tokens)
    with pytest.raises((IndexError, RuntimeError)):
        model(*batch, 0.1, tokens + 1)


@given(architectures(), pairs())
def test_weights_are_those_of_scores_and_need_no_vocabulary(architecture, pairs):
    model = architecture.build()
    inputs = (*source_batch(pairs[0]), target_batch(pairs[1]))
    with torch.no_grad():
        _, expected = score(model, *inputs)
        model.decoder.vocabulary.register_forward_hook(lambda *_: pytest.fail("the vocabulary was asked"))
        source, lengths, target = inputs
        assert torch.equal(model.unroll(target[:, :-1], model.encode(source, lengths))[1], expected)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_is_the_smoothed_cross_entropy_of_the_words_and_end_marks(smoothing: float):
    model = Architecture().build()
    source, lengths = source_batch(SOURCES)
    target = target_batch(TARGETS)
    vectors, _ = model.decoder.unroll(target[:, :-1], model.encoder(source, lengths))
    expected = 0.0
    for b, words in enumerate(TARGETS):
        for i, word in enumerate([*words, EOS]):
            p = torch.softmax(model.decoder.logits(vectors[b, i]), dim=-1)
            expected -= (1 - smoothing) * p[word].log().item() + smoothing * p.log().mean().item()
    assert model(source, lengths, target, smoothing).loss.item() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    "architecture",
    [
        Architecture(AdditiveAttention),
        Architecture(GeneralAttention, "lstm", query="current", input_feeding=True, readout="attentional"),
        Architecture(DotAttention, "gru", "forward", query="current", readout="linear"),
        Architecture(FixedContext, "lstm", "backward", layers=2, residual=True),
    ],
    ids=str,
)
def test_the_gradient_of_the_loss_of_padded_pairs(architecture: Architecture):
    model = architecture.build(scale=0.5)
    source, lengths = source_batch([[4, 5], []])
    target = target_batch([[5], [6, 7]])
    names = [name for name, _ in model.named_parameters()]

    def loss(*parameters: Tensor) -> Tensor:
        named = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(model, named, (source, lengths, target, 0.1)).loss

    # along random directions: one number for all parameters, not one for each
    assert torch.autograd.gradcheck(loss, tuple(model.parameters()), fast_mode=True)


@pytest.mark.parametrize("kind", [AdditiveAttention, CoverageAttention])
def test_the_coverage_loss_is_added_where_the_words_are(kind: type):
    """Σ_t Σ_j min(α_tj, Σ_{k<t} α_kj) over the words and end marks of each sentence, by plain loops."""
    model = Architecture(kind).build()
    source, lengths = source_batch(SOURCES, extra=1)
    target = target_batch(TARGETS, extra=1)
    _, weights = model.unroll(target[:, :-1], model.encode(source, lengths))
    expected = 0.0
    for b, words in enumerate(TARGETS):
        seen = [0.0] * weights.shape[2]
        for t in range(len(words) + 1):
            row = weights[b, t].tolist()
            expected += sum(map(min, row, seen))
            seen = [a + c for a, c in zip(row, seen, strict=True)]
    plain, result = model(source, lengths, target, 0.1), model(source, lengths, target, 0.1, coverage=0.5)
    assert plain.coverage.item() == 0
    assert result.coverage.item() == pytest.approx(expected, abs=1e-10)
    assert result.loss.item() == pytest.approx(plain.loss.item() + 0.5 * expected, abs=1e-10)
    assert result.nll.item() == plain.nll.item()
    gradients = []
    for each in (plain, result):
        model.zero_grad()
        each.loss.backward()
        gradients.append(model.decoder.attention.from_query.weight.grad.clone())
    assert not torch.allclose(*gradients)


def test_who_looks_nowhere_has_no_coverage_loss():
    """Its even weights would add a number that nothing can change."""
    model = Architecture(FixedContext).build()
    batch = (*source_batch(SOURCES), target_batch(TARGETS))
    assert model(*batch, coverage=0.5).loss.item() == model(*batch).loss.item()


@pytest.mark.parametrize("transformer", [(), ("encoder", "decoder")])
def test_scheduled_sampling_reads_own_words_in_place_of_known_ones(transformer: tuple[str, ...]):
    model = Architecture(query="current", transformer=transformer).build(sharpness=1e4)  # draws are the likeliest word
    source, lengths = source_batch(SOURCES)
    words = target_batch(TARGETS)[:, :-1]
    memory = model.encode(source, lengths)
    torch.manual_seed(1)
    vectors, weights = model.unroll_with_own_words(words, memory, 1.0)
    own = torch.cat([words[:, :1], model.logits(vectors).argmax(-1)[:, :-1]], dim=1)
    assert not torch.equal(own, words)
    for found, expected in zip((vectors, weights), model.unroll(own, memory), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    known, _ = model.unroll_with_own_words(words, memory, 0.0)
    torch.testing.assert_close(known, model.unroll(words, memory)[0], rtol=0, atol=1e-10)
    losses = set()
    for seed in range(4):
        torch.manual_seed(seed)
        losses.add(model(source, lengths, target_batch(TARGETS), own_words=0.5).loss.item())
    assert len(losses) > 1


def test_padding_and_other_sentences_get_no_gradient():
    model = Architecture().build()
    source, lengths = source_batch([[4, 5], [6]], extra=2)
    model(source, lengths, target_batch([[7], [8, 9]], extra=2)).loss.backward()
    for embedding, words in ((model.encoder.embedding, {4, 5, 6, 3}), (model.decoder.embedding, {7, 8, 9, 2})):
        assert set(embedding.weight.grad.abs().sum(1).nonzero().flatten().tolist()) == words


@pytest.mark.parametrize(
    ("attention", "cell", "querying"), list(product(ATTENTIONS.values(), get_args(Cell), QUERYING))
)
def test_under_bfloat16_autocast_loss_and_gradients_stay_near_those_of_float32(attention, cell, querying):
    for context_to in [("init", "step", "readout"), ("step", "readout")]:
        architecture = Architecture(
            attention, cell, query=querying[0], input_feeding=querying[1], context_to=context_to
        )
        model = architecture.build(scale=0.3, dtype=torch.float32)
        inputs = (*source_batch(SOURCES), target_batch(TARGETS), 0.1)
        exact = model(*inputs).loss
        with torch.autocast("cpu", torch.bfloat16):
            result = model(*inputs)
        assert result.loss.dtype == torch.float32
        assert result.loss.item() == pytest.approx(exact.item(), rel=0.02)
        result.loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_an_attention_over_another_encoders_states_is_refused():
    encoder = RecurrentEncoder(11, 4, 5)
    decoder = RecurrentDecoder(11, AdditiveAttention(8, 6, 4), 5, 4, 8, 4)
    with pytest.raises(ValueError, match=r"memory_size=6: .*memory_size=10"):
        Seq2Seq(encoder, decoder)


def sharing(tie: bool, share: bool = True, deviation: float = 0.5) -> Seq2Seq:
    """A small translator of one vocabulary, as `initialize` starts it."""
    torch.manual_seed(3)
    encoder = RecurrentEncoder(11, 4, 5)
    attention = AdditiveAttention(8, encoder.memory_size, 6)
    decoder = RecurrentDecoder(11, attention, 5, 4, 8, readout_size=4, tie_embeddings=tie)
    model = Seq2Seq(encoder, decoder, share_embeddings=share).double()
    torch.manual_seed(7)
    initialize(model, deviation)
    return model


@pytest.mark.parametrize("tie", [False, True])
def test_a_shared_embedding_is_one_table(tie: bool):
    shared, apart = sharing(tie), sharing(tie, share=False)
    assert shared.encoder.embedding.weight is shared.decoder.embedding.weight
    assert (shared.decoder.vocabulary.weight is shared.encoder.embedding.weight) == tie
    sizes = [sum(parameter.numel() for parameter in model.parameters()) for model in (shared, apart)]
    assert sizes[0] == sizes[1] - 11 * 4
    assert not shared.encoder.embedding.weight[PAD].any()


def test_a_shared_embedding_learns_from_both_sides_and_padding_from_neither():
    model = sharing(tie=False)
    source, lengths = source_batch([[4, 5], [6]], extra=2)
    model(source, lengths, target_batch([[7], [8, 9]], extra=2)).loss.backward()
    touched = model.encoder.embedding.weight.grad.abs().sum(1).nonzero().flatten().tolist()
    assert touched == [BOS, EOS, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("tie", [False, True])
def test_the_gradient_of_a_shared_embedding_is_the_sum_of_its_roles(tie: bool):
    """Two tables of the same numbers have, together, the gradient of one."""
    shared, apart = sharing(tie), sharing(tie, share=False)
    apart.load_state_dict(shared.state_dict())
    for model in (shared, apart):
        model(*source_batch(SOURCES), target_batch(TARGETS), 0.1).loss.backward()
    both = apart.encoder.embedding.weight.grad + apart.decoder.embedding.weight.grad
    torch.testing.assert_close(shared.decoder.embedding.weight.grad, both)


@pytest.mark.parametrize("tie", [False, True])
def test_a_shared_embedding_survives_a_checkpoint(tie: bool, tmp_path: Path):
    model, other = sharing(tie), sharing(tie, deviation=0.1)
    torch.save(model.state_dict(), tmp_path / "weights")
    other.load_state_dict(torch.load(tmp_path / "weights", weights_only=True))
    assert other.encoder.embedding.weight is other.decoder.embedding.weight
    inputs = (*source_batch(SOURCES), target_batch(TARGETS))
    assert torch.equal(model(*inputs).loss, other(*inputs).loss)


@pytest.mark.parametrize(
    ("vocabulary", "size", "message"),
    [
        (11, 6, "encoder.embedding_size=4 and decoder.embedding_size=6"),
        (12, 4, "vocabulary_size=11 and 12"),
    ],
)
def test_tables_that_cannot_be_one_are_refused(vocabulary: int, size: int, message: str):
    encoder = RecurrentEncoder(11, 4, 5)
    decoder = RecurrentDecoder(vocabulary, AdditiveAttention(8, 10, 6), 5, size, 8, 4)
    with pytest.raises(ValueError, match=message):
        Seq2Seq(encoder, decoder, share_embeddings=True)
