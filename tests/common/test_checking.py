"""The checks of annotations in tests: what is remembered lets through no more than what is not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from support.checking import check, remembering

checked = remembering(typechecker=check)
WRONG = [torch.ones(2, 4), torch.ones(3, 3), torch.ones(2, 3).long(), None, [torch.ones(2, 3)]]


@checked
def called(function: Callable[[], Any], query: Float[Tensor, "batch n"], size: int = 1) -> Float[Tensor, "batch n"]:
    return function()


@pytest.mark.parametrize("given", WRONG)
def test_a_wrong_result_is_found_after_right_ones(given: Any) -> None:
    query = torch.zeros(2, 3)
    for _ in range(2):
        assert called(lambda: query + 1, query).sum() == 6
        with pytest.raises(Exception, match="return value"):
            called(lambda: given, query)


@pytest.mark.parametrize("given", [torch.ones(2), torch.ones(2, 3).bool(), [1.0], None])
def test_a_wrong_argument_is_found_after_right_ones_and_before_the_call(given: Any) -> None:
    calls: list[Any] = []
    for _ in range(2):
        called(lambda: torch.ones(2, 3), torch.zeros(2, 3), 2)
        for wrong in ((given, 2), (torch.zeros(2, 3), "2")):
            with pytest.raises(Exception, match="parameters"):
                called(lambda: calls.append(1), *wrong)
    assert not calls


def test_a_call_like_one_that_failed_is_checked_too() -> None:
    @checked
    def first(parts: list[Float[Tensor, "n"]], named: dict[str, int]) -> Float[Tensor, "n"]:
        return parts[0]

    assert first([torch.ones(2), torch.ones(2)], {"a": 1}).shape == (2,)
    for parts, named in (
        ([torch.ones(2, 1), torch.ones(2, 1)], {"a": 1}),
        ([torch.ones(2)], {"a": "b"}),
        ([torch.ones(2)], {1: 1}),
        ((torch.ones(2),), {"a": 1}),
    ):
        for _ in range(3):
            with pytest.raises(Exception, match="parameters"):
                first(parts, named)  # type: ignore[arg-type]


def test_each_of_unlike_values_is_looked_at_sooner_or_later() -> None:
    @checked
    def count(parts: tuple[Float[Tensor, "n"], ...]) -> int:
        return len(parts)

    for parts in ((torch.ones(2), torch.ones(2, 1)), (torch.ones(2, 1), torch.ones(2))):
        refused = 0
        for _ in range(100):
            try:
                count(parts)
            except Exception:
                refused += 1
        assert refused > 10


def test_a_size_that_is_the_value_of_an_argument_is_looked_at_each_time() -> None:
    @checked
    def zeros(size: int, made: int) -> Float[Tensor, "{size}"]:
        return torch.zeros(made)

    for _ in range(2):
        assert zeros(2, 2).shape == (2,)
        with pytest.raises(Exception, match="return value"):
            zeros(2, 3)


def test_what_is_put_into_a_dataclass_is_checked() -> None:
    @checked
    @dataclass
    class Pair:
        left: Float[Tensor, "n"]
        right: Float[Tensor, "n"]

    for _ in range(2):
        assert Pair(torch.ones(2), torch.ones(2)).left.shape == (2,)
        with pytest.raises(Exception, match="parameters"):
            Pair(torch.ones(2), torch.ones(3))


def test_the_package_is_checked_so() -> None:
    from lookback.nn import Attention, Memory

    assert hasattr(Attention.energies, "remembers")
    assert hasattr(Memory.__init__, "remembers")
