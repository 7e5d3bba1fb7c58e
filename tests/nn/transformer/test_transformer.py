"""The Transformer against plain lines in NumPy, its cache against the full pass, and mixed forms."""

import math
from itertools import product
from typing import get_args

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from lookback.common.errors import InputError
from lookback.common.special_tokens import EOS
from lookback.nn import (
    Attention,
    CoverageAttention,
    FixedContext,
    LocalMonotonicAttention,
    MultiHeadAttention,
    Seq2Seq,
    TransformerDecoder,
    TransformerEncoder,
    initialize,
)
from lookback.nn.transformer.positions import PositionName, Positions
from lookback.search import BeamSearch, GreedySearch, SamplingSearch
from support.plain import Array, array, softmax
from support.toy import ATTENTIONS, SIDES, Architecture, source_batch, target_batch

SOURCES = [[4, 5, 6, 7], [], [8, 9]]
TARGETS = [[5, 9, 4], [6, 6, 7, 10, 4], []]
BOTH = ("encoder", "decoder")
POSITIONS = get_args(PositionName)


def norm(layer: nn.LayerNorm, x: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + layer.eps)
    return array(layer.weight) * scaled + array(layer.bias)


def angle(position: int, k: int, size: int) -> float:
    return position / 10000 ** (2 * k / size)


def embedded(embedding: nn.Embedding, positions: Positions, words: list[int]) -> Array:
    """√d · word, and its position where it is added: all sines, then all cosines."""
    rows, size = [], positions.size
    for place, word in enumerate(words):
        row = math.sqrt(size) * array(embedding.weight[word])
        if positions.name == "sinusoidal":
            angles = [angle(place, k, size) for k in range(size // 2)]
            row = row + np.array([*map(math.sin, angles), *map(math.cos, angles)])
        elif positions.table is not None:
            row = row + math.sqrt(size) * array(positions.table.weight[place])
        rows.append(row)
    return np.stack(rows)


def rotated(positions: Positions, head: Array, place: int) -> Array:
    """Each pair (x_k, x_{k + d/2}) turned by the angle of its position."""
    if positions.name != "rotary":
        return head
    half, result = len(head) // 2, head.copy()
    for k in range(half):
        turn = angle(place, k, len(head))
        a, b = head[k], head[k + half]
        result[k], result[k + half] = a * math.cos(turn) - b * math.sin(turn), b * math.cos(turn) + a * math.sin(turn)
    return result


def self_attention(layer: nn.Module, positions: Positions, x: Array, is_causal: bool) -> Array:
    w_q, w_k, w_v = np.split(array(layer.projection.weight), 3)
    heads = []
    for rows in np.split(np.arange(len(w_q)), layer.heads):
        queries = [rotated(positions, w_q[rows] @ each, place) for place, each in enumerate(x)]
        keys = [rotated(positions, w_k[rows] @ each, place) for place, each in enumerate(x)]
        found = []
        for place, query in enumerate(queries):
            seen = range(place + 1 if is_causal else len(x))
            alphas = softmax([query @ keys[other] / math.sqrt(len(rows)) for other in seen])
            found.append(sum(alpha * (w_v[rows] @ x[other]) for alpha, other in zip(alphas, seen, strict=True)))
        heads.append(np.stack(found))
    return np.concatenate(heads, axis=1) @ array(layer.output.weight).T


def feed_forward(layer: nn.Sequential, x: Array) -> Array:
    inner = np.maximum(0, x @ array(layer[0].weight).T + array(layer[0].bias))
    return inner @ array(layer[2].weight).T + array(layer[2].bias)


def look(attention: MultiHeadAttention, query: Array, states: Array) -> tuple[Array, Array]:
    """Context and weights of each head (heads, queries, states)."""
    w_q, (w_k, w_v) = array(attention.from_query.weight), np.split(array(attention.from_memory.weight), 2)
    contexts, alphas = [], []
    for rows in np.split(np.arange(len(w_q)), attention.heads):
        keys, values = states @ w_k[rows].T, states @ w_v[rows].T
        alphas.append(np.stack([softmax(keys @ (w_q[rows] @ each) / math.sqrt(len(rows))) for each in query]))
        contexts.append(alphas[-1] @ values)
    return np.concatenate(contexts, axis=1) @ array(attention.output.weight).T, np.stack(alphas)


@pytest.mark.parametrize("positions", POSITIONS)
def test_it_is_its_equations(positions: str):
    model = Architecture(MultiHeadAttention, layers=2, transformer=BOTH, positions=positions).build()
    encoder, decoder = model.encoder, model.decoder
    source, lengths = source_batch(SOURCES)
    target = target_batch(TARGETS)
    with torch.no_grad():
        memory = model.encode(source, lengths)
        vectors, weights = model.unroll(target[:, :-1], memory)
        _, looks = decoder.looks(target[:, :-1], memory)
    for b, length in enumerate(lengths.tolist()):
        x = embedded(encoder.embedding, encoder.positions, source[b, :length].tolist())
        for layer in encoder.layers:
            x = x + self_attention(layer.attention, encoder.positions, norm(layer.attention_norm, x), is_causal=False)
            x = x + feed_forward(layer.feed_forward, norm(layer.feed_forward_norm, x))
        states = norm(encoder.norm, x)
        np.testing.assert_allclose(array(memory.states[b, :length]), states, rtol=0, atol=1e-10)
        np.testing.assert_allclose(array(memory.final[b, 0]), states.mean(0), rtol=0, atol=1e-10)
        assert not memory.states[b, length:].any()

        words = target[b, : len(TARGETS[b]) + 1].tolist()
        x, alphas = embedded(decoder.embedding, decoder.positions, words), []
        for layer in decoder.layers:
            read = norm(layer.self_attention_norm, x)
            x = x + self_attention(layer.self_attention, decoder.positions, read, is_causal=True)
            context, by_head = look(layer.attention, norm(layer.attention_norm, x), states)
            x = x + context @ array(layer.from_context.weight).T
            x = x + feed_forward(layer.feed_forward, norm(layer.feed_forward_norm, x))
            alphas.append(by_head)
        found = array(vectors[b, : len(words)])
        np.testing.assert_allclose(found, norm(decoder.norm, x), rtol=0, atol=1e-10)
        mean = np.mean([by_head.mean(0) for by_head in alphas], axis=0)
        np.testing.assert_allclose(array(weights[b, : len(words), :length]), mean, rtol=0, atol=1e-10)
        for layer_look, by_head in zip(looks, alphas, strict=True):
            assert layer_look.heads is not None
            heads = array(layer_look.heads[b, : len(words), :, :length]).transpose(1, 0, 2)
            np.testing.assert_allclose(heads, by_head, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("attention", "sides", "positions"), list(product(ATTENTIONS.values(), sorted(set(SIDES)), POSITIONS))
)
def test_step_by_step_with_its_cache_it_is_the_full_pass(attention: type[Attention], sides: tuple, positions: str):
    model = Architecture(attention, layers=2, transformer=sides, positions=positions, query="current").build()
    source, lengths = source_batch(SOURCES)
    words = target_batch(TARGETS)[:, :-1]
    with torch.no_grad():
        memory = model.encode(source, lengths)
        vectors, weights = model.unroll(words, memory)
        torch.testing.assert_close(model.decoder.vectors(words, memory), vectors, rtol=0, atol=1e-10)
        for network in (model, model.laid_out()):
            state = network.start(memory)
            for i in range(words.shape[1]):
                state, vector, looked = network.step(state, words[:, i : i + 1])
                torch.testing.assert_close(vector[:, 0], vectors[:, i], rtol=0, atol=1e-10)
                torch.testing.assert_close(looked[:, 0], weights[:, i], rtol=0, atol=1e-10)


@pytest.mark.parametrize("attention", [MultiHeadAttention, CoverageAttention, LocalMonotonicAttention])
def test_the_cache_goes_with_the_beams_that_cross(attention: type[Attention]):
    """Each hypothesis goes on from the words of its own, not from those that stood in its place."""
    model = Architecture(attention, layers=2, transformer=BOTH, positions="rotary").build()
    memory = model.encode(*source_batch(SOURCES))
    first, second = torch.tensor([[4, 5]] * 3), torch.tensor([[6, 7]] * 3)
    crossed = torch.tensor([[1, 0], [1, 1], [0, 1]])
    with torch.no_grad():
        state = model.start(memory).reorder(torch.zeros(3, 2, dtype=torch.long))
        state, _, _ = model.step(state, first)
        state, vectors, weights = model.step(state.reorder(crossed), second)
        kept, some, _ = model.step(state.of_sentences(torch.tensor([2])), torch.tensor([[8, 9]]))
        _, all_of_them, _ = model.step(state, torch.tensor([[8, 9]] * 3))
        for k in range(2):
            words = torch.stack([torch.full((3,), 2), first.gather(1, crossed)[:, k], second[:, k]], dim=1)
            expected, looked = model.unroll(words[:, 1:], memory)
            torch.testing.assert_close(vectors[:, k], expected[:, -1], rtol=0, atol=1e-12)
            torch.testing.assert_close(weights[:, k], looked[:, -1], rtol=0, atol=1e-12)
    torch.testing.assert_close(some[0], all_of_them[2], rtol=0, atol=1e-12)
    assert kept.caches[0].values.shape[:3] == (1, 2, 3)


def test_a_search_may_go_on_without_inference_mode():
    model = Architecture(MultiHeadAttention, layers=2, transformer=BOTH).build()
    source, words = source_batch(SOURCES), [2, 4, 5]
    found = []
    for modes in ([torch.inference_mode] * 3, [torch.inference_mode, torch.no_grad, torch.inference_mode]):
        with modes[0]():
            state = model.start(model.encode(*source))
        for word, mode in zip(words, modes, strict=True):
            with mode():
                state, vectors, _ = model.step(state, torch.full((3, 1), word))
        found.append(vectors)
    torch.testing.assert_close(*found, rtol=0, atol=0)


@pytest.mark.parametrize("is_training", [False, True])
def test_two_ways_on_from_one_state_do_not_touch_each_other(is_training: bool):
    """Longer caches share the memory of the shorter: whoever comes second takes a memory of its own."""
    model = Architecture(MultiHeadAttention, layers=2, transformer=BOTH).build()
    memory = model.encode(*source_batch(SOURCES))
    shared, ways = [2, *range(4, 9), *range(4, 11)], [[5, 6, 7], [8, 9, 10]]
    found = [[], []]
    with torch.set_grad_enabled(is_training):
        state = model.start(memory)
        for word in shared:
            state, *_ = model.step(state, torch.full((3, 1), word))
        states = [state, state]
        for turn in range(3):
            for k, way in enumerate(ways):
                states[k], vectors, _ = model.step(states[k], torch.full((3, 1), way[turn]))
                found[k].append(vectors)
        for way, vectors in zip(ways, found, strict=True):
            expected, _ = model.unroll(torch.tensor([[*shared, *way]] * 3), memory)
            torch.testing.assert_close(torch.cat(vectors, dim=1), expected[:, -3:], rtol=0, atol=1e-12)
    if is_training:
        torch.cat(found[0] + found[1]).sum().backward()  # nothing that it reads was written over


def test_a_word_is_blind_to_those_after_it():
    model = Architecture(MultiHeadAttention, layers=2, transformer=BOTH).build()
    memory = model.encode(*source_batch(SOURCES))
    words = torch.tensor([[2, 4, 5, 6]] * 3)
    other = torch.tensor([[2, 4, 9, 10]] * 3)
    with torch.no_grad():
        found, changed = (model.unroll(each, memory)[0] for each in (words, other))
    assert torch.equal(found[:, :2], changed[:, :2])
    assert not torch.allclose(found[:, 2:], changed[:, 2:])


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_order_of_the_source_matters(positions: str):
    model = Architecture(MultiHeadAttention, transformer=BOTH, positions=positions).build(scale=0.3)
    one, other = (model.encode(*source_batch([words])).states[0] for words in ([4, 5, 6], [5, 4, 6]))
    assert not torch.allclose(one[2], other[2], atol=1e-3)


def test_rotations_leave_an_energy_to_the_distance():
    positions, vectors = Positions("rotary", 8, 1, "encoder"), torch.randn(2, 20, 8).double()
    query, key = vectors[:, :1]
    energies = [
        float((positions.rotate(query, 3 + shift) * positions.rotate(key, 7 + shift)).sum()) for shift in (0, 5, 11)
    ]
    assert energies == pytest.approx([energies[0]] * 3, abs=1e-12)
    assert float((positions.rotate(query, 3) * positions.rotate(key, 8)).sum()) != pytest.approx(energies[0], abs=1e-3)


def test_a_position_behind_the_learned_table_is_an_error_and_others_go_on():
    for positions in POSITIONS:
        model = Architecture(MultiHeadAttention, transformer=BOTH, positions=positions).build()
        model.encode(*source_batch([[4] * 63]))
        if positions == "learned":
            with pytest.raises(InputError, match=r"^decoder\.positions=learned: position 65 .*position_table=64; "):
                model(*source_batch([[4]]), target_batch([[4] * 64]))
            with pytest.raises(InputError, match=r"^encoder\.positions=learned: position 65 .*position_table=64; "):
                model.encode(*source_batch([[4] * 64]))
        else:
            assert model.encode(*source_batch([[4] * 200])).states.isfinite().all()


def test_without_attention_each_layer_gets_the_fixed_vector():
    """The mean of the encoder's states: nothing else of the source is seen, not even its length."""
    model = Architecture(FixedContext, layers=2, transformer=BOTH).build()
    assert not model.looks_back
    memory = model.encode(*source_batch(SOURCES))
    blind = type(memory)(torch.randn_like(memory.states), memory.mask, memory.final)
    words = target_batch(TARGETS)[:, :-1]
    assert torch.equal(model.unroll(words, memory)[0], model.unroll(words, blind)[0])
    other = type(memory)(memory.states, memory.mask, memory.final + 1)
    assert not torch.allclose(model.unroll(words, memory)[0], model.unroll(words, other)[0])


def test_each_layer_has_an_attention_of_its_own():
    model = Architecture(MultiHeadAttention, layers=3, transformer=BOTH).build()
    initialize(model)
    weights = [layer.attention.from_query.weight for layer in model.decoder.layers]
    assert len({weight.data_ptr() for weight in weights}) == 3
    assert not torch.equal(weights[0], weights[1])
    gains = [module.weight for module in model.modules() if isinstance(module, nn.LayerNorm)]
    assert all((gain == 1).all() for gain in gains)
    assert len(gains) == 3 * 2 + 3 * 3 + 2


def test_tied_embeddings_are_one_parameter():
    decoder = TransformerDecoder(11, MultiHeadAttention(12, 8, 4, 2), 12, 2)
    assert decoder.vocabulary.weight is decoder.embedding.weight
    encoder = TransformerEncoder(11, 12, 2)
    decoder = TransformerDecoder(11, MultiHeadAttention(12, 12, 12, 2), 12, 2)
    model = Seq2Seq(encoder, decoder, share_embeddings=True)
    assert sum(parameter.shape == (11, 12) for parameter in model.parameters()) == 1
    assert all(layer.from_context is None for layer in decoder.layers)  # its heads are projected already


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"hidden_size": 10, "heads": 3}, "heads=3: expected a divisor of hidden_size=10"),
        ({"hidden_size": 9, "heads": 3}, "hidden_size=9: expected an even size, as positions=sinusoidal"),
        (
            {"hidden_size": 10, "heads": 2, "positions": "rotary"},
            "=10: expected an even size of each of heads=2",
        ),
        ({"hidden_size": 8, "positions": "sinus"}, "positions=sinus: expected one of sinusoidal, learned, rotary"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_by_name(sizes: dict, said: str):
    with pytest.raises(ValueError, match=said):
        TransformerEncoder(11, **sizes)
    with pytest.raises(ValueError, match=said):
        TransformerDecoder(11, MultiHeadAttention(sizes["hidden_size"], 8, 4, 2), **sizes)


@pytest.mark.parametrize("sides", sorted(set(SIDES)))
def test_it_learns_pairs_by_heart(sides: tuple[str, ...]):
    model = Architecture(MultiHeadAttention, transformer=sides, query="current").build()
    torch.manual_seed(1)
    initialize(model)
    source, lengths = source_batch([[4, 5, 6], [7]])
    target = target_batch([[5, 5], [8, 9, 4]])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses: list[float] = []
    for _ in range(60):
        optimizer.zero_grad()
        result = model(source, lengths, target)
        result.loss.backward()
        optimizer.step()
        losses.append(result.nll.item())
    assert losses[-1] < losses[0] / 10
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_gradients_are_autograds_of_the_equations():
    model = Architecture(MultiHeadAttention, transformer=BOTH, positions="rotary").build(scale=0.5)
    source, lengths = source_batch([[4, 5], []])
    target = target_batch([[5], [6, 7]])
    names = [name for name, _ in model.named_parameters()]

    def loss(*parameters: Tensor) -> Tensor:
        named = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(model, named, (source, lengths, target, 0.1)).loss

    parameters = [parameter.detach().clone().requires_grad_() for parameter in model.parameters()]
    assert torch.autograd.gradcheck(loss, parameters)


def test_each_layer_and_head_has_a_name_and_weights_of_its_own():
    model = Architecture(MultiHeadAttention, layers=2, transformer=BOTH).build()
    source, lengths = source_batch(SOURCES)
    words = target_batch(TARGETS)[:, :-1]
    with torch.no_grad():
        memory = model.encode(source, lengths)
        looks = dict(zip(model.look_names, model.unroll_looks(words, memory).unbind(2), strict=True))
        weights = model.unroll(words, memory)[1]
    heads = [f"layer {layer} head {head}" for layer in (1, 2) for head in (1, 2)]
    assert list(looks) == ["layer 1", *heads[:2], "layer 2", *heads[2:]]
    for layer in (1, 2):
        mean = (looks[f"layer {layer} head 1"] + looks[f"layer {layer} head 2"]) / 2
        torch.testing.assert_close(looks[f"layer {layer}"], mean, rtol=0, atol=1e-12)
    torch.testing.assert_close((looks["layer 1"] + looks["layer 2"]) / 2, weights, rtol=0, atol=1e-12)
    assert not torch.allclose(looks[heads[0]], looks[heads[1]], atol=1e-3)


@pytest.mark.parametrize("query", ["previous", "current", "between"])
def test_a_recurrent_decoder_has_the_looks_of_its_heads(query: str):
    model = Architecture(MultiHeadAttention, query=query).build()
    words = target_batch(TARGETS)[:, :-1]
    with torch.no_grad():
        memory = model.encode(*source_batch(SOURCES))
        looks = model.unroll_looks(words, memory)
        assert model.look_names == ("head 1", "head 2")
        torch.testing.assert_close(looks.mean(2), model.unroll(words, memory)[1], rtol=0, atol=1e-12)
    assert Architecture().build().look_names == ()


def test_a_search_ends_where_the_learned_table_does():
    """An untrained model writes on and on; its last word stands at the last position."""
    model = Architecture(MultiHeadAttention, transformer=BOTH, positions="learned").build()
    with torch.no_grad():
        model.decoder.vocabulary.bias[EOS] = -1e9
    source, lengths = source_batch([[4] * 50, [5]])
    for search in (GreedySearch(), BeamSearch(2), SamplingSearch()):
        for network in (model, model.laid_out()):
            long, short = (hypotheses[0] for hypotheses in search(network, source, lengths))
            assert long.truncated
            assert [len(long.tokens), len(short.tokens)] == [64, 12]


def test_who_looks_nowhere_has_no_parameter_without_a_gradient():
    """DDP waits for the gradient of every parameter."""
    model = Architecture(FixedContext, layers=2, transformer=BOTH).build()
    model(*source_batch(SOURCES), target_batch(TARGETS)).loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
