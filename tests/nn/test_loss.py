import math

import pytest
import torch
from torch import Tensor

from lookback.nn import loss, projected_cross_entropy


def example(rows: int = 7, size: int = 3, vocabulary: int = 5) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    vectors, weight, bias = (
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((rows, size), (vocabulary, size), (vocabulary,))
    )
    return vectors, weight, bias, torch.randint(0, vocabulary, (rows,), generator=generator)


def plain(vectors: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float) -> tuple[float, float]:
    """Σ over rows of −Σ_v q_v log p_v, q = (1 − ε) · right word + ε / V, number by number; and the same with ε = 0."""
    smoothed = unsmoothed = 0.0
    for t, target in zip(vectors.tolist(), targets.tolist(), strict=True):
        logits = [sum(a * b for a, b in zip(t, row, strict=True)) for row in weight.tolist()]
        logits = [logit + b for logit, b in zip(logits, bias.tolist(), strict=True)]
        log_total = math.log(sum(math.exp(logit) for logit in logits))
        for v, logit in enumerate(logits):
            q = (1 - smoothing) * (v == target) + smoothing / len(logits)
            smoothed -= q * (logit - log_total)
            unsmoothed -= (v == target) * (logit - log_total)
    return smoothed, unsmoothed


@pytest.fixture(params=[1_000_000, 10, 1], ids=["one chunk", "two rows a chunk", "a row a chunk"])
def chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "CHUNK_VALUES", request.param)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_loss_and_its_gradient_are_those_of_the_plain_sum(smoothing: float):
    *inputs, targets = example()
    result = projected_cross_entropy(*inputs, targets, smoothing)
    expected, expected_nll = plain(*inputs, targets, smoothing)
    assert result.loss.item() == pytest.approx(expected, abs=1e-10)
    assert result.nll.item() == pytest.approx(expected_nll, abs=1e-10)
    assert result.tokens == 7
    assert not result.nll.requires_grad
    assert torch.autograd.gradcheck(lambda *x: projected_cross_entropy(*x, targets, smoothing).loss, inputs)


def test_the_gradient_scales_with_what_follows():
    *inputs, targets = example()
    once = torch.autograd.grad(projected_cross_entropy(*inputs, targets, 0.1).loss, inputs)
    thrice = torch.autograd.grad(projected_cross_entropy(*inputs, targets, 0.1).loss * 3, inputs)
    for one, three in zip(once, thrice, strict=True):
        torch.testing.assert_close(three, 3 * one, rtol=0, atol=1e-12)


def test_no_target_no_loss():
    vectors, weight, bias, targets = example()
    result = projected_cross_entropy(vectors[:0], weight, bias, targets[:0])
    assert (result.loss.item(), result.nll.item(), result.tokens) == (0, 0, 0)
    result.loss.backward()
    assert not weight.grad.any()


def test_without_grad_no_gradient_is_computed(monkeypatch: pytest.MonkeyPatch):
    """A parameter asks for its gradient even under no_grad: taken and thrown away, it would be most of the cost."""
    *inputs, targets = example()
    expected = projected_cross_entropy(*inputs, targets, 0.1).loss.item()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a gradient was computed")

    monkeypatch.setattr(Tensor, "scatter_add_", refuse)
    with pytest.raises(AssertionError):
        projected_cross_entropy(*inputs, targets, 0.1)
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            assert projected_cross_entropy(*inputs, targets, 0.1).loss.item() == pytest.approx(expected, abs=1e-12)


def test_half_precision_inputs_are_summed_in_float32():
    vectors, weight, bias, targets = example(rows=400)
    half = [x.detach().bfloat16().requires_grad_() for x in (vectors, weight, bias)]
    result = projected_cross_entropy(*half, targets)
    exact = projected_cross_entropy(*(x.double() for x in half), targets)
    assert result.loss.dtype == torch.float32
    assert result.loss.item() == pytest.approx(exact.loss.item(), rel=2e-3)
    result.loss.backward()
    assert all(x.grad.dtype == torch.bfloat16 for x in half)
