import pytest
import torch

from lookback.nn import AdditiveAttention, Recurrence, initialize
from lookback.nn.recurrence import CELLS
from lookback.symbols import PAD
from toy import Architecture, source_batch, target_batch


def test_each_parameter_starts_as_bahdanau_et_al_choose():
    for cell in CELLS:
        model = Architecture(cell=cell, layers=2).build()
        torch.manual_seed(0)
        initialize(model, deviation=0.01, attention_deviation=0.001)
        attention = model.decoder.attention
        assert not attention.energy.weight.any()
        assert 0 < attention.from_query.weight.abs().max() < 0.01
        assert 0 < attention.from_memory.weight.abs().max() < 0.01
        recurrent = set()
        for module in model.modules():
            if isinstance(module, Recurrence):
                weight = module.network.weight_hh_l0
                recurrent.add(id(weight))
                for gate in weight.split(module.hidden_size):
                    torch.testing.assert_close(
                        gate @ gate.T, torch.eye(module.hidden_size).double(), rtol=0, atol=1e-10
                    )
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                assert not parameter.any(), name
            elif id(parameter) not in recurrent:
                assert parameter.abs().max() < 0.06, name
        for embedding in (model.encoder.embedding, model.decoder.embedding):
            assert not embedding.weight[PAD].any()
            assert embedding.weight[PAD + 1 :].abs().min() > 0


def test_deviations_are_those_asked_for():
    model = Architecture().build(vocabulary=2000)
    initialize(model, deviation=0.5, attention_deviation=0.2)
    assert 0.48 < model.decoder.vocabulary.weight.std() < 0.52
    wide = AdditiveAttention(100, 100, 100)
    initialize(wide, deviation=0.5, attention_deviation=0.2)
    assert 0.18 < wide.from_query.weight.std() < 0.22


def test_first_values_are_a_function_of_the_torch_seed():
    first, second = Architecture().build(seed=1), Architecture().build(seed=2)
    for model in (first, second):
        torch.manual_seed(5)
        initialize(model)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_attention_starts_even_over_the_source():
    model = Architecture().build()
    initialize(model)
    source, lengths = source_batch([[4, 5, 6], [4]])
    weights = model.score(source, lengths, target_batch([[5], [6, 7]]))[1]
    torch.testing.assert_close(weights[0], torch.full_like(weights[0], 1 / 4))
    torch.testing.assert_close(weights[1, :, :2], torch.full_like(weights[1, :, :2], 1 / 2))


@pytest.mark.parametrize("name", ["deviation", "attention_deviation"])
def test_a_negative_deviation_is_refused_by_name(name: str):
    with pytest.raises(ValueError, match=f"^{name}=-1: expected 0 or more"):
        initialize(Architecture().build(), **{name: -1})
