"""Each check of the doctor finds the mistake that it is for, and passes every sound attention."""

import math
from functools import cache

import pytest
import torch

from lookback.common.special_tokens import EOS
from lookback.nn import Attention
from lookback.translation.doctor import CHECKS, Case, examine
from support import faulty
from support.toy import ATTENTIONS, Architecture

SENTENCES = [[4, 5, 6, 7], [9], [8, 9]]
TARGETS = [[5, 4], [8, 9, 10, 7], [6]]

FINDS = {
    faulty.OverPadding: {"padding", "masked weights"},
    faulty.NotNormalised: {"row sums"},
    faulty.ByPlace: {"batch size", "batch order", "search in batches"},
    faulty.OfTheBatch: {"batch size", "search in batches"},
    faulty.OverSteps: {"steps", "forced scores"},
    faulty.WithDropout: {"repetition", "beam of 1"},
    faulty.OnModule: {"forced scores"},
    faulty.Raising: {"batch size", "search in batches"},
}
"""Of each faulty attention, checks that must find it."""


@cache
def faults(kind: type[Attention]) -> set[str]:
    torch.manual_seed(0)
    model = Architecture(kind, query=kind.default_query).build(3, sharpness=2)
    with torch.no_grad():
        for parameter in model.decoder.attention.parameters():
            parameter *= 3
        model.decoder.vocabulary.bias[EOS] += 3  # or a translation of such a toy hardly ends
    findings = examine(Case.of(model, SENTENCES, TARGETS))
    assert [finding.check for finding in findings] == list(CHECKS)
    assert all(finding.verdict in ("ok", "fault") for finding in findings), findings
    return {finding.check for finding in findings if finding.verdict == "fault"}


@pytest.mark.parametrize("kind", [*ATTENTIONS.values(), faulty.Additive, faulty.InState])
def test_a_sound_attention_passes_every_check(kind: type[Attention]) -> None:
    assert faults(kind) == set()


@pytest.mark.parametrize("kind", FINDS)
def test_a_mistake_is_found(kind: type[Attention]) -> None:
    assert faults(kind) >= FINDS[kind]


def test_each_check_finds_some_mistake() -> None:
    assert set().union(*FINDS.values()) == set(CHECKS)


def test_a_mistake_that_padding_does_not_show_is_no_fault_of_padding() -> None:
    for kind in (faulty.NotNormalised, faulty.ByPlace, faulty.OfTheBatch):
        assert "padding" not in faults(kind)
    assert faults(faulty.NotNormalised) == {"row sums"}


def test_weights_that_are_no_numbers_are_a_fault() -> None:
    model = Architecture().build()
    with torch.no_grad():
        model.decoder.attention.energy.weight.fill_(math.nan)
    found = {finding.check: finding for finding in examine(Case.of(model, SENTENCES, TARGETS))}
    assert {found[name].verdict for name in ("repetition", "padding", "row sums")} == {"fault"}
    assert found["padding"].measured == math.inf
    assert found["padding"].record()["measured"] is None


def test_translations_that_the_length_limit_cut_off_are_compared_too() -> None:
    model = Architecture(faulty.OnModule).build(3, sharpness=2)
    with torch.no_grad():
        model.decoder.vocabulary.bias[EOS] = -1e4
        model.decoder.attention.energy.weight.mul_(3)
    case = Case.of(model, [[4, 5, 6], [7, 8, 9]], TARGETS[:2])
    with torch.inference_mode():
        finding = CHECKS["forced scores"](case)
    assert finding.verdict == "fault"
