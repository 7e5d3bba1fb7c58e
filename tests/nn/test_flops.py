import pytest
import torch

from lookback.nn import (
    AdditiveAttention,
    Attention,
    FixedContext,
    Memory,
    MultiHeadAttention,
    Seq2Seq,
    TransformerDecoder,
    TransformerEncoder,
    flops_per_token,
)
from lookback.nn.flops import _Products
from support.running import modules_after
from support.toy import ATTENTIONS, Architecture


@pytest.mark.parametrize("attention", ATTENTIONS.values())
@pytest.mark.parametrize("transformer", [(), ("encoder", "decoder")])
def test_every_network_is_counted_and_left_as_it_is(attention: type[Attention], transformer: tuple[str, ...]):
    model = Architecture(attention, transformer=transformer).build()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert flops_per_token(model) > 0
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_products_of_a_recurrent_network_are_all_counted(cell: str):
    """Two operations a weight and token, and the fixed vector's part of the gates once a sentence's step."""
    model = Architecture(FixedContext, cell, context_to=("init", "step"), readout="linear").build()
    encoder = sum(2 * weight.numel() for name, weight in model.encoder.layers.named_parameters() if "weight" in name)
    decoder = model.decoder
    matrices = [decoder.layers[0].network.weight_ih_l0, decoder.layers[0].network.weight_hh_l0]
    matrices += [decoder.readout.from_query.weight, decoder.readout.from_embedding.weight, decoder.vocabulary.weight]
    once = 2 * decoder.initial.weight.numel() / 25
    expected = encoder + sum(2 * matrix.numel() for matrix in matrices) + once
    assert flops_per_token(model) == pytest.approx(expected)


def test_the_products_of_a_look_are_counted_also_those_of_a_vector():
    """Of 25 looks at 25 positions, additive ones: W s, U h, vᵀ tanh(…) and Σ α h."""
    attention = AdditiveAttention(5, 6, 4)
    memory = Memory(torch.zeros(1, 25, 6), torch.ones(1, 25) > 0, torch.zeros(1, 2, 3))
    with _Products() as counted, torch.no_grad():
        attention.over(memory).read_all(torch.zeros(1, 25, 5))
    assert counted.operations == 2 * (25 * 5 * 4 + 25 * 6 * 4 + 25 * 25 * 4 + 25 * 25 * 6)


def test_looking_costs_more_and_the_fast_loop_costs_the_same():
    none, additive = (Architecture(kind).build() for kind in (FixedContext, AdditiveAttention))
    assert flops_per_token(additive) > flops_per_token(none)
    fast = flops_per_token(additive)
    additive.decoder.fast = False
    assert flops_per_token(additive) == fast
    assert flops_per_token(Architecture(MultiHeadAttention, layers=2, transformer=("encoder", "decoder")).build()) > 0


def test_a_network_that_cannot_be_asked_has_no_count():
    """A finished training must not be lost for it."""
    encoder = TransformerEncoder(11, 8, 2, positions="learned", position_table=20)
    decoder = TransformerDecoder(11, MultiHeadAttention(8, 8, 8, 2), 8, 2)
    assert flops_per_token(Seq2Seq(encoder, decoder)) is None


@pytest.mark.parametrize(
    "build",
    [
        "nn.Seq2Seq(nn.TransformerEncoder(9, 8, 2), nn.TransformerDecoder(9, nn.MultiHeadAttention(8, 8, 8, 2), 8, 2))",
        "nn.Seq2Seq(nn.RecurrentEncoder(11, 4, 3), nn.RecurrentDecoder(11, nn.AdditiveAttention(6, 6, 8), 3, 4, 6, 6))",
    ],
)
def test_counting_does_not_wait_for_torchs_compiler(build: str):
    loaded = modules_after(f"from lookback import nn\nassert nn.flops_per_token({build}) > 0")
    assert not {"sympy", "torch._dynamo", "torch.utils.flop_counter"} & loaded
