"""Learning rates, update by update."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import SGD

from lookback.training import schedules


def rates(schedule: Callable[..., dict[str, Any]], total: int, rate: float = 2.0, **settings: Any) -> list[float]:
    """The learning rate of each update."""
    optimizer = SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
    scheduler = schedule(optimizer, total, **settings)["scheduler"]
    found = []
    for _ in range(total):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


def test_constant() -> None:
    assert rates(schedules.constant, 4) == [2.0] * 4
    assert rates(schedules.constant, 6, warmup_updates=4) == [0.5, 1.0, 1.5, 2.0, 2.0, 2.0]


def test_inverse_sqrt_rises_to_the_rate_and_falls_with_the_root() -> None:
    found = rates(schedules.inverse_sqrt, 401, warmup_updates=4)
    assert found[:4] == [0.5, 1.0, 1.5, 2.0]
    assert max(found) == 2.0
    assert found[16] == pytest.approx(2.0 * math.sqrt(4 / 16))
    assert found[400] == pytest.approx(2.0 * math.sqrt(4 / 400))


def test_cosine_rises_to_the_rate_and_falls_along_half_a_cosine() -> None:
    found = rates(schedules.cosine, 104, warmup_updates=4)
    assert found[:4] == [0.5, 1.0, 1.5, 2.0]
    assert found[4] == 2.0
    falling = [2.0 * 0.5 * (1 + math.cos(math.pi * update / 100)) for update in range(100)]
    assert found[4:] == pytest.approx(falling)
    assert found[54] == pytest.approx(1.0)


def test_cosine_ends_at_zero_and_stays_there() -> None:
    optimizer = SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = schedules.cosine(optimizer, 3, warmup_updates=0)["scheduler"]
    found = []
    for _ in range(6):
        optimizer.step()
        scheduler.step()
        found.append(optimizer.param_groups[0]["lr"])
    assert found == pytest.approx([0.75, 0.25, 0.0, 0.0, 0.0, 0.0])


def test_cosine_warms_up_for_a_tenth_of_the_training_at_most() -> None:
    assert rates(schedules.cosine, 3, rate=1.0, warmup_updates=50) == pytest.approx([1.0, 0.75, 0.25])
    assert rates(schedules.cosine, 20, rate=1.0, warmup_updates=50)[:3] == pytest.approx([0.5, 1.0, 1.0])


def test_luong_halves_every_twelfth_after_two_thirds() -> None:
    """12 epochs of 10 updates: the paper's eight at the full rate, then four halvings."""
    found = rates(schedules.luong, 120, rate=1.0)
    assert found[::10] == [1.0] * 8 + [0.5, 0.25, 0.125, 0.0625]
    assert all(found[10 * epoch] == found[10 * epoch + 9] for epoch in range(12))


def test_luong_without_halvings_or_with_more_than_updates() -> None:
    assert rates(schedules.luong, 5, rate=1.0, halvings=0) == [1.0] * 5
    assert rates(schedules.luong, 3, rate=1.0, halvings=9)[-1] == 0.5


def test_plateau_waits_for_more_than_its_patience() -> None:
    optimizer = SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = schedules.plateau(optimizer, 100, monitor="validation/bleu", mode="max", factor=0.1, patience=1)
    assert (schedule["monitor"], schedule["interval"]) == ("validation/bleu", "epoch")
    found = []
    for bleu in (10.0, 20.0, 20.0, 19.0, 18.0, 30.0):
        schedule["scheduler"].step(bleu)
        found.append(optimizer.param_groups[0]["lr"])
    assert found == pytest.approx([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])


@pytest.mark.parametrize(
    ("schedule", "settings", "named"),
    [
        (schedules.luong, {"start": 1.0}, "start=1.0"),
        (schedules.luong, {"halvings": -1}, "halvings=-1"),
        (schedules.inverse_sqrt, {"warmup_updates": 0}, "warmup_updates=0"),
        (schedules.cosine, {"warmup_updates": -1}, "warmup_updates=-1"),
        (schedules.constant, {"warmup_updates": -1}, "warmup_updates=-1"),
        (schedules.plateau, {"monitor": "bleu"}, "monitor=bleu: expected one of validation/perplexity"),
        (schedules.plateau, {"mode": "up"}, "mode=up"),
        (schedules.plateau, {"monitor": "validation/bleu"}, "mode=min: expected max"),
        (schedules.plateau, {"factor": -1.0}, "factor=-1.0: expected a number over 0 and under 1"),
        (schedules.plateau, {"patience": 0.5}, "patience=0.5: expected a whole number"),
    ],
)
def test_what_is_refused_is_named(schedule: Callable[..., Any], settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        rates(schedule, 10, **settings)
