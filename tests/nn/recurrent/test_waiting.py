"""No training step asks a GPU for a value: it would wait until all that was launched is done.

Fake tensors have shapes and no values. What asks them for a number, or makes a shape that depends on the data, raises:
so this is shown without a GPU. A copy to the host or from it would not be seen here.
"""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode

from lookback.nn import Seq2Seq
from support.toy import Architecture, architectures


def train_a_step(model: Seq2Seq, tokens: int | None) -> None:
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    source, lengths, target = (torch.ones(size, dtype=torch.long) for size in ((4, 7), (4,), (4, 6)))
    result = model(source, lengths, target, 0.1, tokens)
    (result.loss / result.tokens).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    assert result.loss.shape == ()


@settings(max_examples=20)  # a step of fake tensors takes a second
@given(architectures(), st.booleans(), st.sampled_from([0.0, 0.2]))
def test_a_training_step_waits_for_nothing(architecture: Architecture, fast: bool, dropout: float) -> None:
    model = architecture.build(dtype=torch.float32).train()
    model.decoder.fast = fast
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
    with FakeTensorMode(allow_non_fake_inputs=True):
        train_a_step(copy.deepcopy(model), tokens=18)


def test_waiting_is_seen() -> None:
    model = Architecture().build(dtype=torch.float32)
    with FakeTensorMode(allow_non_fake_inputs=True):
        with pytest.raises(DynamicOutputShapeException):
            train_a_step(copy.deepcopy(model), tokens=None)
        with pytest.raises(DataDependentOutputException):
            torch.ones(3).sum().item()
