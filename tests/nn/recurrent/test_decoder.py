from itertools import product

import numpy as np
import pytest
import torch

from lookback.common.special_tokens import BOS, EOS
from lookback.nn import (
    AdditiveAttention,
    DecoderState,
    DotAttention,
    FixedContext,
    GeneralAttention,
    Memory,
    RecurrentDecoder,
    Seq2Seq,
)
from support.plain import Array, array, cell_step, gru_step, lstm_step, softmax
from support.toy import ATTENTIONS, WHOLE, Architecture, build_attention, decoders, source_batch, target_batch

SOURCES = [[4, 5, 6, 7], [], [8, 9]]
TARGETS = [[5, 9, 4], [6, 6, 7, 10, 4], []]


def unrolled(model: Seq2Seq, b: int) -> tuple[RecurrentDecoder, Array, Array, list[int], Array, Array]:
    """One sentence of a padded batch: decoder, h_1 … h_S, final states, input words; and what unroll gives for it."""
    source, lengths = source_batch(SOURCES, extra=1)
    target = target_batch(TARGETS)
    memory = model.encoder(source, lengths)
    vectors, weights = model.decoder.unroll(target[:, :-1], memory)
    size = len(TARGETS[b]) + 1
    assert not weights[b, :size, lengths[b] :].any()
    return (
        model.decoder,
        array(memory.states[b, : lengths[b]]),
        array(memory.final[b]),
        [BOS, *TARGETS[b]],
        array(vectors[b, :size]),
        array(weights[b, :size, : lengths[b]]),
    )


def maxout(decoder: RecurrentDecoder, s: Array, y: Array, c: Array) -> Array:
    r = decoder.readout
    t = array(r.from_query.weight) @ s + array(r.from_query.bias)
    t = t + array(r.from_embedding.weight) @ y + array(r.from_context.weight) @ c
    return np.maximum(t[0::2], t[1::2])


def start(decoder: RecurrentDecoder, final: Array) -> Array:
    """tanh(W_s h←_1 + b), h←_1 the backward state at position 1."""
    return np.tanh(array(decoder.initial.weight) @ final[-1] + array(decoder.initial.bias))


@pytest.mark.parametrize("b", range(3))
def test_rnnsearch_is_the_equations_of_bahdanau_et_al(b: int):
    """App. A.2: s_0 = tanh(W_s h←_1); α from s_{i-1}; s_i = GRU(s_{i-1}, [y_{i-1}; c_i]); maxout of s, y, c_i."""
    model = Architecture(AdditiveAttention).build()
    decoder, states, final, words, vectors, weights = unrolled(model, b)
    v = array(decoder.attention.energy.weight)[0]
    w, u = array(decoder.attention.from_query.weight), array(decoder.attention.from_memory.weight)
    s = start(decoder, final)
    for i, word in enumerate(words):
        y = array(decoder.embedding.weight)[word]
        alpha = softmax([v @ np.tanh(w @ s + u @ h) for h in states])
        c = sum(a * h for a, h in zip(alpha, states, strict=True))
        np.testing.assert_allclose(weights[i], alpha, rtol=0, atol=1e-10)
        np.testing.assert_allclose(vectors[i], maxout(decoder, s, y, c), rtol=0, atol=1e-10)
        s = gru_step(decoder.layers[0].network, np.concatenate([y, c]), s)


@pytest.mark.parametrize("b", range(3))
def test_rnnencdec_is_rnnsearch_with_the_final_states_for_every_context(b: int):
    """App. A.2.2, where c_i is fixed."""
    model = Architecture(FixedContext).build()
    decoder, states, final, words, vectors, weights = unrolled(model, b)
    c = np.concatenate(list(final))
    s = start(decoder, final)
    for i, word in enumerate(words):
        y = array(decoder.embedding.weight)[word]
        np.testing.assert_allclose(weights[i], np.full(len(states), 1 / len(states)), rtol=0, atol=1e-10)
        np.testing.assert_allclose(vectors[i], maxout(decoder, s, y, c), rtol=0, atol=1e-10)
        s = gru_step(decoder.layers[0].network, np.concatenate([y, c]), s)


def read(model: Seq2Seq, words: list[int]) -> Array:
    """The encoder's state after these words, in this order, of its one layer and direction: h, or [h; c]."""
    ((recurrence,),) = model.encoder.layers
    state = np.zeros(recurrence.state_size)
    for word in words:
        state = cell_step(recurrence, array(model.encoder.embedding.weight)[word], state)
    return state


@pytest.mark.parametrize("b", range(3))
def test_cho2014_knows_of_the_source_what_a_forward_encoder_ends_with(b: int):
    """Bahdanau et al. 2015, App. A.2.2: c = h→_S at the true length, in every step, every readout and s_0."""
    model = Architecture(FixedContext, direction="forward").build()
    decoder, _, final, words, vectors, _ = unrolled(model, b)
    c = read(model, [*SOURCES[b], EOS])
    np.testing.assert_allclose(final, [c], rtol=0, atol=1e-10)
    s = np.tanh(array(decoder.initial.weight) @ c + array(decoder.initial.bias))
    for i, word in enumerate(words):
        y = array(decoder.embedding.weight)[word]
        np.testing.assert_allclose(vectors[i], maxout(decoder, s, y, c), rtol=0, atol=1e-10)
        s = gru_step(decoder.layers[0].network, np.concatenate([y, c]), s)


@pytest.mark.parametrize("b", range(3))
def test_sutskever2014_knows_of_the_source_its_first_state_alone(b: int):
    """LSTMs; x_S … x_1 is read, what is left makes s_0; then a language model, whose readout sees no context."""
    architecture = Architecture(
        FixedContext, "lstm", "backward", query="current", context_to=("init",), readout="linear"
    )
    model = architecture.build()
    decoder, _, final, words, vectors, _ = unrolled(model, b)
    left, _ = np.split(read(model, [EOS, *reversed(SOURCES[b])]), 2)
    np.testing.assert_allclose(final, [left], rtol=0, atol=1e-10)
    h, c = np.split(np.tanh(array(decoder.initial.weight) @ left + array(decoder.initial.bias)), 2)
    readout = decoder.readout
    assert readout.from_context is None
    for i, word in enumerate(words):
        y = array(decoder.embedding.weight)[word]
        h, c = lstm_step(decoder.layers[0].network, y, h, c)
        vector = array(readout.from_query.weight) @ h + array(readout.from_query.bias)
        vector = vector + array(readout.from_embedding.weight) @ y
        np.testing.assert_allclose(vectors[i], vector, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("b", "attention"), list(product(range(3), [GeneralAttention, DotAttention])))
def test_luong_with_input_feeding_is_the_equations_of_luong_et_al(b: int, attention: type):
    """Two LSTM layers; h_t from [y_{t-1}; h̃_{t-1}]; α from h_t (eq. 7, 8); h̃_t = tanh(W_c [c_t; h_t]) (eq. 5)."""
    architecture = Architecture(attention, "lstm", layers=2, query="current", input_feeding=True, readout="attentional")
    decoder, states, final, words, vectors, weights = unrolled(architecture.build(), b)
    w_c = np.concatenate([array(decoder.readout.from_context.weight), array(decoder.readout.from_query.weight)], axis=1)
    (h_1, c_1), (h_2, c_2) = (np.split(layer, 2) for layer in np.split(start(decoder, final), 2))
    h_tilde = np.zeros(6)
    for t, word in enumerate(words):
        y = array(decoder.embedding.weight)[word]
        h_1, c_1 = lstm_step(decoder.layers[0].network, np.concatenate([y, h_tilde]), h_1, c_1)
        h_2, c_2 = lstm_step(decoder.layers[1].network, h_1, h_2, c_2)
        keys = states if attention is DotAttention else states @ array(decoder.attention.from_memory.weight).T
        alpha = softmax([h_2 @ key for key in keys])
        context = sum(a * h for a, h in zip(alpha, states, strict=True))
        h_tilde = np.tanh(w_c @ np.concatenate([context, h_2]) + array(decoder.readout.from_query.bias))
        np.testing.assert_allclose(weights[t], alpha, rtol=0, atol=1e-10)
        np.testing.assert_allclose(vectors[t], h_tilde, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("b", "query"), list(product(range(3), ["previous", "current"])))
def test_a_residual_stack_adds_each_upper_layers_input_to_its_output(b: int, query: str):
    """Wu et al. 2016, eq. 4: o^1 = h^1, o^l = h^l + o^{l-1}; the top o is the query and what the readout reads."""
    architecture = Architecture(FixedContext, layers=3, residual=True, query=query, readout="linear")
    decoder, _, final, words, vectors, _ = unrolled(architecture.build(), b)
    c = np.concatenate(list(final))
    h = np.split(start(decoder, final), 3)
    o = h[0] + h[1] + h[2]
    readout = decoder.readout
    for i, word in enumerate(words):
        y = array(decoder.embedding.weight)[word]
        h[0] = gru_step(decoder.layers[0].network, np.concatenate([y, c]), h[0])
        h[1] = gru_step(decoder.layers[1].network, h[0], h[1])
        h[2] = gru_step(decoder.layers[2].network, h[0] + h[1], h[2])
        previous, o = o, h[0] + h[1] + h[2]
        s = o if query == "current" else previous
        t = array(readout.from_query.weight) @ s + array(readout.from_query.bias)
        t = t + array(readout.from_embedding.weight) @ y + array(readout.from_context.weight) @ c
        np.testing.assert_allclose(vectors[i], t, rtol=0, atol=1e-10)


def test_without_init_the_first_state_is_zero():
    model = Architecture(context_to=("step", "readout")).build()
    memory = model.encoder(*source_batch(SOURCES))
    assert model.decoder.initial is None
    assert not model.decoder.start(memory).recurrent.any()


def test_a_context_that_does_not_enter_the_readout_or_the_step_has_no_weights_there():
    for context_to in [("step",), ("readout",), ("init", "step", "readout")]:
        decoder = Architecture(context_to=context_to).build().decoder
        assert (decoder.readout.from_context is not None) == ("readout" in context_to)
        context_size = decoder.attention.memory_size if "step" in context_to else 0
        assert decoder.layers[0].network.input_size == 4 + context_size
        assert (decoder.initial is not None) == ("init" in context_to)


def step_by_step(model: Seq2Seq, words: torch.Tensor, memory: Memory) -> tuple[torch.Tensor, torch.Tensor]:
    """What ``unroll`` gives, from ``step`` alone."""
    state = model.decoder.start(memory)
    vectors, weights = [], []
    for i in range(words.shape[1]):
        state, vector, looked = model.decoder.step(state, words[:, i : i + 1])
        vectors.append(vector)
        weights.append(looked)
    return torch.cat(vectors, dim=1), torch.cat(weights, dim=1)


@pytest.mark.parametrize("attention", ATTENTIONS.values())
def test_unroll_is_step_after_step_in_every_architecture(attention: type):
    source, lengths = source_batch(SOURCES)
    words = target_batch(TARGETS)[:, :-1]
    tried = 0
    for architecture in decoders():
        if architecture.attention == attention:
            model = architecture.build()
            with torch.no_grad():
                memory = model.encoder(source, lengths)
                at_once, stepped = model.decoder.unroll(words, memory), step_by_step(model, words, memory)
            for a, b in zip(at_once, stepped, strict=True):
                torch.testing.assert_close(a, b, rtol=0, atol=1e-12, msg=lambda m, at=architecture: f"{at}: {m}")
            tried += 1
    assert tried > (400 if attention in WHOLE else 15)


def test_the_conditional_gru_looks_between_its_two_steps():
    """s'_i = GRU_1(s_{i-1}, y_{i-1}), c_i = look(s'_i), s_i = GRU_2(s'_i, c_i), a readout of s_i, y_{i-1} and c_i."""
    model = Architecture(AdditiveAttention, query="between", readout="linear").build()
    decoder, attention, words = model.decoder, model.decoder.attention, [2, 5, 9]
    memory = model.encoder(*source_batch([[4, 5, 6]]))
    vectors, weights = decoder.unroll(torch.tensor([words]), memory)
    states = array(memory.states[0])
    s = np.tanh(array(decoder.initial.weight) @ array(memory.final[0, -1]) + array(decoder.initial.bias))
    w, u, v = map(array, (attention.from_query.weight, attention.from_memory.weight, attention.energy.weight[0]))
    for i, word in enumerate(words):
        y = array(decoder.embedding.weight[word])
        between = gru_step(decoder.layers[0].network, y, s)
        alphas = softmax([v @ np.tanh(w @ between + u @ h) for h in states])
        c = alphas @ states
        s = gru_step(decoder.second.network, c, between)
        readout = decoder.readout
        t = array(readout.from_query.weight) @ s + array(readout.from_query.bias)
        t = t + array(readout.from_embedding.weight) @ y + array(readout.from_context.weight) @ c
        np.testing.assert_allclose(array(weights[0, i]), alphas, rtol=0, atol=1e-12)
        np.testing.assert_allclose(array(vectors[0, i]), t, rtol=0, atol=1e-12)


def test_where_the_bottom_layer_looks_its_context_goes_to_all_layers_above():
    """As in GNMT: the first layer's last state looks; all layers read what it found; each adds its input."""
    model = Architecture(AdditiveAttention, layers=3, residual=True, looks="bottom", readout="linear").build()
    decoder, attention, words = model.decoder, model.decoder.attention, [2, 5, 9]
    memory = model.encoder(*source_batch([[4, 5, 6]]))
    _, weights = decoder.unroll(torch.tensor([words]), memory)
    states = array(memory.states[0])
    first = np.tanh(array(decoder.initial.weight) @ array(memory.final[0, -1]) + array(decoder.initial.bias))
    h = list(np.split(first, 3))
    w, u, v = map(array, (attention.from_query.weight, attention.from_memory.weight, attention.energy.weight[0]))
    for i, word in enumerate(words):
        y = array(decoder.embedding.weight[word])
        alphas = softmax([v @ np.tanh(w @ h[0] + u @ state) for state in states])
        c = alphas @ states
        np.testing.assert_allclose(array(weights[0, i]), alphas, rtol=0, atol=1e-12)
        h[0] = gru_step(decoder.layers[0].network, np.concatenate([y, c]), h[0])
        h[1] = gru_step(decoder.layers[1].network, np.concatenate([h[0], c]), h[1])
        h[2] = gru_step(decoder.layers[2].network, np.concatenate([h[0] + h[1], c]), h[2])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"query": "between", "context_to": ["readout"]}, r"context_to=\['readout'\] with query='between': add step"),
        ({"looks": "bottom"}, "looks='bottom' needs layers=2 or more"),
    ],
)
def test_orders_that_cannot_be_are_refused(settings: dict, said: str):
    with pytest.raises(ValueError, match=said):
        RecurrentDecoder(11, AdditiveAttention(8, 6, 4), 3, 4, 8, 4, **settings)


@pytest.mark.parametrize("dropped", [False, True], ids=["plain", "with dropout"])
@pytest.mark.parametrize(
    "architecture",
    [
        Architecture(AdditiveAttention, query="previous"),
        Architecture(GeneralAttention, "lstm", layers=3, residual=True, query="current"),
        Architecture(GeneralAttention, "lstm", layers=2, query="current", input_feeding=True, readout="attentional"),
        Architecture(FixedContext, layers=3, residual=True),
        Architecture(AdditiveAttention, layers=3, residual=True, context_to=("init", "readout")),
    ],
    ids=str,
)
def test_gradients_at_once_are_those_of_step_after_step(architecture: Architecture, dropped: bool):
    model = architecture.build()
    if dropped:
        model.decoder.dropout = _Halve()  # shows that dropout acts at the same places
    source, lengths = source_batch(SOURCES)
    words = target_batch(TARGETS)[:, :-1]
    gradients = []
    for run in (model.decoder.unroll, lambda words, memory: step_by_step(model, words, memory)):
        model.zero_grad()
        vectors, weights = run(words, model.encoder(source, lengths))
        (vectors.sin().sum() + (weights * weights).sum()).backward()
        gradients.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
    assert gradients[0].keys() == gradients[1].keys()
    assert len(gradients[0]) > 10
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(
            gradient, gradients[1][name], rtol=0, atol=1e-10, msg=lambda m, at=name: f"{at}: {m}"
        )


class _Halve(torch.nn.Module):
    """In dropout's place: says where it acts, without chance."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values / 2


def test_nothing_waits_in_a_loop_where_the_recurrence_sees_no_context():
    assert not Architecture(FixedContext).build().decoder.needs_loop
    assert not Architecture(DotAttention, query="current").build().decoder.needs_loop
    assert not Architecture(context_to=("readout",)).build().decoder.needs_loop
    assert Architecture(AdditiveAttention).build().decoder.needs_loop
    assert Architecture(FixedContext, query="current", input_feeding=True).build().decoder.needs_loop


@pytest.mark.parametrize(("attention", "feeding"), list(product(ATTENTIONS.values(), [False, True])))
def test_hypotheses_of_a_beam_step_as_they_would_alone(attention: type, feeding: bool):
    model = Architecture(attention, query="current" if feeding else "previous", input_feeding=feeding).build()
    memory = model.encoder(*source_batch(SOURCES))
    state = model.decoder.start(memory).reorder(torch.zeros(3, 2, dtype=torch.long))
    words = torch.tensor([[4, 5], [6, 7], [8, 9]])
    for _ in range(2):
        state, vectors, weights = model.decoder.step(state, words)
    for k in range(2):
        alone = model.decoder.start(memory)
        for _ in range(2):
            alone, vector, looked = model.decoder.step(alone, words[:, k : k + 1])
        torch.testing.assert_close(state.recurrent[:, k], alone.recurrent[:, 0], rtol=0, atol=1e-12)
        torch.testing.assert_close(vectors[:, k], vector[:, 0], rtol=0, atol=1e-12)
        torch.testing.assert_close(weights[:, k], looked[:, 0], rtol=0, atol=1e-12)


def test_reorder_takes_hypotheses_of_their_own_sentence():
    recurrent = torch.arange(2 * 3).view(2, 3, 1, 1).double()
    looked_at = torch.arange(2 * 3 * 5).view(2, 3, 5)
    memory = Memory(torch.zeros(2, 5, 6), torch.ones(2, 5, dtype=torch.bool), torch.zeros(2, 2, 3))
    reader = FixedContext(8, 6).over(memory)
    state = DecoderState(recurrent, -recurrent.squeeze(3), (looked_at,), reader)
    reordered = state.reorder(torch.tensor([[2, 0, 0, 1], [1, 1, 2, 0]]))
    assert reordered.recurrent.flatten(1).tolist() == [[2, 0, 0, 1], [4, 4, 5, 3]]
    assert reordered.feed.flatten(1).tolist() == [[-2, 0, 0, -1], [-4, -4, -5, -3]]
    assert reordered.attention[0][..., 0].tolist() == [[10, 0, 0, 5], [20, 20, 25, 15]]
    rest = state.of_sentences(torch.tensor([1]))
    assert rest.recurrent.flatten().tolist() == [3, 4, 5]
    assert rest.attention[0][..., 0].tolist() == [[15, 20, 25]]
    assert len(rest.reader.memory.states) == 1


@pytest.mark.parametrize("kind", ATTENTIONS.values())
def test_an_attention_says_which_state_its_paper_looks_with(kind: type):
    # energies by a network, and no look at all, are Bahdanau et al.'s; all others came with or after Luong et al.
    expected = "previous" if issubclass(kind, (AdditiveAttention, FixedContext)) else "current"
    attention = build_attention(kind, 6, 6)
    decoder = RecurrentDecoder(11, attention, 3, embedding_size=4, hidden_size=6, readout_size=4)
    assert decoder.query == expected
    assert RecurrentDecoder(11, attention, 3, 4, 6, 4, query="previous").query == "previous"


def test_tied_embeddings_are_one_parameter():
    attention = GeneralAttention(8, 6)
    decoder = RecurrentDecoder(11, attention, 3, embedding_size=4, hidden_size=8, readout_size=4, tie_embeddings=True)
    assert decoder.vocabulary.weight is decoder.embedding.weight
    assert sum(parameter.shape == (11, 4) for parameter in decoder.parameters()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"context_to": ["init", "gates"]},
            r"context_to=\[init, gates\]: expected a list of one or more of init, step, readout",
        ),
        ({"context_to": []}, r"context_to=\[\]: expected a list of one or more of init, step, readout"),
        (
            {"context_to": ["init"], "query": "previous"},
            r"context_to=\['init'\] with query='previous'.*add readout, or step",
        ),
        ({"context_to": ["init", "step"], "query": "current"}, r"context_to=.* with query='current'.*add readout$"),
        ({"query": "next"}, "query=next: expected one of previous, current"),
        ({"readout": "mlp"}, "readout=mlp: expected one of maxout, attentional, linear"),
        ({"cell": "rnn"}, "cell=rnn: expected one of gru, lstm"),
        ({"layers": 0}, "layers=0: expected a whole number, 1 to 100"),
        ({"embedding_size": 0}, "embedding_size=0: expected a whole number, 1 to 65,536"),
        ({"readout_size": 0}, "readout_size=0: expected a whole number, 1 to 65,536"),
        ({"dropout": -0.1}, r"dropout=-0\.1: expected a number, 0 up to 1"),
        ({"input_feeding": True, "query": "previous"}, "input_feeding=True needs query='current'"),
        ({"tie_embeddings": True}, "readout_size=6 and embedding_size=4"),
        ({"hidden_size": 9}, "hidden_size=9: the attention expects queries of size 8"),
    ],
)
def test_a_bad_argument_is_refused_by_name(arguments, message):
    sizes = {"init_size": 3, "embedding_size": 4, "hidden_size": 8, "readout_size": 6}
    with pytest.raises(ValueError, match=message):
        RecurrentDecoder(11, GeneralAttention(8, 6), **{**sizes, **arguments})
