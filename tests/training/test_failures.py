"""A training that runs out of memory, or whose loss is no number, says which batch it was and what to change."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning import Callback, LightningModule, Trainer

from lookback.common.errors import InputError
from lookback.nn import Seq2Seq
from lookback.runs.status import read_status
from lookback.training.failures import is_out_of_memory
from support.running import run

DIVERGED = (
    r"training diverged: (?P<what>.*) at update (?P<update>\d+), in the batch of the training sentences "
    r"(?P<ids>\d+(, \d+)*)( and \d+ more)? \(from 0\); the first tensor that is not finite is (?P<tensor>.*); expected "
    r"a smaller optimizer\.lr, or trainer\.gradient_clip_val=1\.0"
)


class NanWeights(Callback):
    """Makes one weight NaN before an update, counted from 1."""

    def __init__(self, update: int, parameter: str) -> None:
        self.update, self.parameter = update, parameter

    def on_train_batch_start(self, trainer: Trainer, module: LightningModule, batch: Any, batch_idx: int) -> None:
        if trainer.global_step + 1 == self.update:
            module.get_parameter(self.parameter).data.view(-1)[0] = float("nan")
            type(self).ids = batch.ids.tolist()

    ids: list[int]


class NanGradients(NanWeights):
    """Makes a gradient NaN, of a loss that is finite."""

    def on_train_batch_start(self, trainer: Trainer, module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Nothing."""

    def on_after_backward(self, trainer: Trainer, module: LightningModule) -> None:
        if trainer.global_step + 1 == self.update:
            gradient = module.get_parameter(self.parameter).grad
            assert gradient is not None
            gradient.view(-1)[0] = float("nan")


def failure(directory: Path, *settings: str) -> str:
    """What the training says, which is also the reason in its status."""
    with pytest.raises(InputError) as caught:
        run(directory, *settings)
    assert read_status(directory / "status.json") == ("failed", str(caught.value))
    return str(caught.value)


def test_a_weight_that_is_no_number_is_named_with_the_update_and_the_sentences(
    tmp_path: Path, grammar_cache: str
) -> None:
    name = "model.decoder.vocabulary.bias"
    fault = f"+callbacks.fault={{_target_: test_failures.NanWeights, update: 2, parameter: {name}}}"
    found = re.fullmatch(DIVERGED, failure(tmp_path, grammar_cache, fault))
    assert found is not None
    assert (found["what"], found["update"]) == ("the loss is nan", "2")
    assert found["tensor"] == "the parameter decoder.vocabulary.bias"
    assert [int(number) for number in found["ids"].split(", ")] == NanWeights.ids[:8]


def test_a_gradient_that_is_no_number_is_named(tmp_path: Path, grammar_cache: str) -> None:
    name = "model.decoder.embedding.weight"
    fault = f"+callbacks.fault={{_target_: test_failures.NanGradients, update: 3, parameter: {name}}}"
    found = re.fullmatch(DIVERGED, failure(tmp_path, grammar_cache, fault))
    assert found is not None
    assert (found["what"], found["update"]) == ("the norm of the gradients is nan", "3")
    assert found["tensor"] == "the gradient of decoder.embedding.weight"


def test_a_huge_learning_rate_is_said_to_have_diverged(tmp_path: Path, grammar_cache: str) -> None:
    settings = ("optimizer=sgd", "optimizer.lr=1000", "trainer.gradient_clip_val=null", "trainer.max_epochs=4")
    found = re.fullmatch(DIVERGED, failure(tmp_path, grammar_cache, *settings))
    assert found is not None
    assert int(found["update"]) <= 12


def full(*_: Any, **__: Any) -> None:
    """As the CPU's allocator says it."""
    raise RuntimeError("[enforce fail at alloc_cpu.cpp:121] . DefaultCPUAllocator: can't allocate memory: you tried")


TRAINING = r"smaller batch\.size, data\.train_max_length, or batch\.unit=tokens"


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_a_batch_that_does_not_fit_is_named_with_what_to_lower(
    where: str, tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name = (Seq2Seq, "forward") if where == "forward" else (torch.Tensor, "backward")
    monkeypatch.setattr(owner, name, full)
    said = failure(tmp_path, grammar_cache, "trainer.num_sanity_val_steps=0")
    shape = r"a batch of 16 sentences × \d+ source tokens × \d+ target tokens does not fit"
    assert re.fullmatch(rf"out of memory on the cpu: {shape}; expected a {TRAINING}", said)


@pytest.mark.parametrize("step", ["_validate", "_test"])
def test_an_evaluation_that_does_not_fit_names_its_own_batch_size(
    step: str, tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"lookback.training.module.TranslationModule.{step}", full)
    assert "expected a smaller batch.evaluation_size" in failure(tmp_path, grammar_cache)


def test_only_an_allocators_error_is_one_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)  # the real one
    assert is_out_of_memory(caught.value)
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"))
    assert is_out_of_memory(MemoryError())
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_out_of_memory(OSError("not enough memory"))
