"""What the training loss is a mean over: gradients against a plain sum in float64."""

from pathlib import Path

import lightning
import pyarrow as pa
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from lookback.common.special_tokens import BOS, EOS, PAD
from lookback.data import Batch, WordTokenization
from lookback.search.forced import score
from lookback.training.build import build_module
from lookback.training.module import TranslationModule
from support.running import compose

RATE = 0.5
PAIRS = [[([4, 5], [4, 5, 6, 7, 4]), ([6], [5]), ([7, 4, 5], [6, 6])], [([5, 5], [7]), ([4], [4, 4, 4])]]
"""Two batches, unequal in sentences and in words"""


def batch_of(pairs: list[tuple[list[int], list[int]]]) -> Batch:
    sources, targets = [[*s, EOS] for s, _ in pairs], [[BOS, *t, EOS] for _, t in pairs]
    source, target = (
        torch.tensor([row + [PAD] * (max(map(len, rows)) - len(row)) for row in rows]) for rows in (sources, targets)
    )
    lengths = torch.tensor([len(row) for row in sources])
    return Batch(torch.arange(len(pairs)), source, lengths, target, sum(len(row) - 1 for row in targets))


def module_of(directory: Path, *overrides: str) -> TranslationModule:
    config = compose(directory, "optimizer=sgd", f"optimizer.lr={RATE}", "scheduler=constant", *overrides)
    pair = WordTokenization().learn(lambda side: iter([pa.array(["a b c d", "a b c d"])]))
    torch.manual_seed(1)
    return build_module(config, *pair, "none").double()


def plain_loss(module: TranslationModule, batch: Batch, normalize: str) -> Tensor:
    """−Σ log p of each sentence alone, one after the other; the mean of these sums, or over all tokens."""
    sums, tokens = [], 0
    for source, length, target in zip(batch.source, batch.source_length, batch.target, strict=True):
        real = int((target != PAD).sum())
        scores, _ = score(module.model, source[None, :length], length[None], target[None, :real])
        sums.append(-scores.sum())
        tokens += real - 1
    return torch.stack(sums).sum() / (tokens if normalize == "tokens" else len(sums))


@pytest.mark.parametrize("normalize", ["tokens", "sentences"])
def test_the_gradient_is_that_of_the_plain_mean(
    normalize: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, batch = module_of(tmp_path, f"loss.normalize={normalize}"), batch_of(PAIRS[0])
    monkeypatch.setattr(module, "_end_curve_point", lambda: None)  # of the training curve: nobody trains here
    result = module.training_step(batch, 0)
    expected = plain_loss(module, batch, normalize)
    assert result["loss"].item() == pytest.approx(expected.item(), abs=1e-12)
    parameters = list(module.model.parameters())
    ours = torch.autograd.grad(result["loss"], parameters)
    for a, b in zip(ours, torch.autograd.grad(expected, parameters), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
    # what is reported is a token's whatever is chosen
    assert result["tokens"] == 11
    assert result["nll"].item() / 11 == pytest.approx(plain_loss(module, batch, "tokens").item(), abs=1e-12)


def test_by_default_it_is_a_mean_over_tokens_also_of_configs_that_had_no_choice(tmp_path: Path) -> None:
    assert module_of(tmp_path).normalize == "tokens"
    assert module_of(tmp_path, "~loss").normalize == "tokens"


@pytest.mark.parametrize("normalize", ["tokens", "sentences"])
def test_batches_that_make_one_update_count_alike(normalize: str, tmp_path: Path) -> None:
    """trainer.accumulate_grad_batches=2: the update follows the mean of the two batches' losses."""
    module = module_of(tmp_path, f"loss.normalize={normalize}")
    batches = [batch_of(pairs) for pairs in PAIRS]
    parameters = list(module.model.parameters())
    loss = sum(plain_loss(module, batch, normalize) for batch in batches) / 2
    expected = [
        p.detach() - RATE * gradient
        for p, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True)
    ]
    trainer = lightning.Trainer(
        max_epochs=1,
        accumulate_grad_batches=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    with pytest.warns(UserWarning, match="no `val_dataloader`"):
        trainer.fit(module, DataLoader(batches, batch_size=None))
    assert trainer.global_step == 1
    for found, wanted in zip(parameters, expected, strict=True):
        torch.testing.assert_close(found.detach(), wanted, rtol=0, atol=1e-12)
