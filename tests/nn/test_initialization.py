from typing import get_args

import pytest
import torch
from torch import nn

from lookback.common.special_tokens import PAD
from lookback.nn import AdditiveAttention, Attention, GeneralAttention, Recurrence, initialize
from lookback.nn.recurrent.recurrence import Cell
from lookback.search import score
from support.toy import ATTENTIONS, Architecture, source_batch, target_batch


def test_each_parameter_starts_as_bahdanau_et_al_choose():
    for cell in get_args(Cell):
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


def test_by_default_a_sum_over_inputs_is_as_large_as_one_of_them():
    matrices = {
        "additive": (attention := AdditiveAttention(200, 300, 250)).from_query.weight,
        "memory": attention.from_memory.weight,
        "general": (general := GeneralAttention(200, 300)).from_memory.weight,
        "gates": (recurrence := Recurrence(200, 100)).network.weight_ih_l0,
        "embedding": (embedding := nn.Embedding(3000, 50)).weight,
    }
    for module in (attention, general, recurrence, embedding):
        initialize(module)
    for name, weight in matrices.items():
        assert float(weight.detach().std() * weight.shape[1] ** 0.5) == pytest.approx(1.0, abs=0.02), name
    assert 0.5 < float(attention.energy.weight.detach().std() * 250**0.5) < 1.5
    torch.testing.assert_close(
        recurrence.network.weight_hh_l0[:100] @ recurrence.network.weight_hh_l0[:100].T,
        torch.eye(100),
        rtol=0,
        atol=1e-4,
    )


@pytest.mark.parametrize("attention", [kind for kind in ATTENTIONS.values() if kind.looks_back])
def test_every_scorer_tells_source_positions_apart_from_the_start(attention: type[Attention]):
    model = Architecture(attention).build()
    torch.manual_seed(1)
    initialize(model)
    source, lengths = source_batch([[4, 5, 6, 7, 8]])
    weights = score(model, source, lengths, target_batch([[5, 6]]))[1]
    assert float((weights.max(-1).values - weights.min(-1).values).min()) > 0.001


def test_the_papers_attention_starts_even_over_the_source():
    model = Architecture().build()
    initialize(model, attention_deviation=0.001)
    source, lengths = source_batch([[4, 5, 6], [4]])
    weights = score(model, source, lengths, target_batch([[5], [6, 7]]))[1]
    torch.testing.assert_close(weights[0], torch.full_like(weights[0], 1 / 4))
    torch.testing.assert_close(weights[1, :, :2], torch.full_like(weights[1, :, :2], 1 / 2))


@pytest.mark.parametrize("name", ["deviation", "attention_deviation"])
def test_a_negative_deviation_is_refused_by_name(name: str):
    with pytest.raises(ValueError, match=f"^{name}=-1: expected a number, 0 or more"):
        initialize(Architecture().build(), **{name: -1})
