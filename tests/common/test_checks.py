"""Arguments are held to the types that signatures declare, and messages say these types in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from annotated_types import Gt, Interval, Len

from lookback.common.checks import FilePath, NonNegative, PartialShare, Positive, Seed, Size, Text, Width, checked

NAN, INF = float("nan"), float("inf")
Word = Literal["sentences", "tokens"]


class Files(TypedDict):
    source: FilePath | None
    extra: NotRequired[FilePath]


@checked
class Example:
    """An argument of each kind."""

    def __init__(
        self,
        size: Size = 1,
        width: Width = 1,
        seed: Seed = 0,
        dropout: PartialShare = 0,
        rate: Positive = 1,
        deviation: NonNegative | None = None,
        start: Annotated[float, Gt(0), Interval(le=1)] = 1,
        fast: bool = True,
        unit: Word | None = None,
        name: Text = "a",
        path: FilePath | None = None,
        words: Sequence[Word] = (),
        betas: Annotated[Sequence[PartialShare], Len(2, 2)] = (0, 0),
        systems: Mapping[str, FilePath] | None = None,
        files: Files | None = None,
        anything: Any = None,
    ) -> None:
        self.size = size


WRONG = {
    "size": (["two", 2.0, None, True, 0, -1], "a whole number, 1 or more"),
    "width": ([0, 65_537], "a whole number, 1 to 65,536"),
    "seed": ([-1, 2**32, True, 1.0], "a whole number, 0 to 4,294,967,295"),
    "dropout": (["lots", None, True, 1, -0.1, NAN], "a number, 0 up to 1, 1 not included"),
    "rate": ([0, -1, NAN, INF, "1"], "a number over 0"),
    "deviation": ([-1, NAN, False], "a number, 0 or more, or null"),
    "start": ([0, 1.5], "a number over 0, 1 at most"),
    "fast": (["flase", "true", 1, 0, None], "true or false"),
    "unit": (["words", "", 1, True], "one of sentences, tokens, or null"),
    "name": (["", None, 3], "text that is not empty"),
    "path": (["", 3, True], "a path or null"),
    "words": (["tokens", ["word"], None, [1]], "a list of one of sentences, tokens"),
    "betas": ([[0.9], [0.9, 1], 0.9, [0.9, NAN]], "a list of a number, 0 up to 1, 1 not included, 2 of them"),
    "systems": ([[], {"a": None}, "a"], "names, each with a path, or null"),
    "files": ([{}, {"source": 3}, {"source": "a", "sorce": "b"}, []], "the keys source, extra, or null"),
}
CASES = [(name, value, said) for name, (values, said) in WRONG.items() for value in values]
CASES += [  # what is too large hears how large it may be
    ("size", 2**32, "a whole number, 1 to 2,147,483,647"),
    ("deviation", INF, "a number, 0 to 2,147,483,647, or null"),
]


@pytest.mark.parametrize(("name", "value", "said"), CASES, ids=[f"{name}-{value!r}" for name, value, _ in CASES])
def test_a_value_of_another_type_or_out_of_range_is_refused(name: str, value: object, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}=") as caught:
        Example(**{name: value})
    assert f": expected {said}" in str(caught.value)
    assert "\n" not in str(caught.value)


RIGHT: dict[str, list[object]] = {
    "size": [1, 5_000_000],
    "seed": [0, 2**32 - 1],
    "dropout": [0, 0.0, 0.3],
    "rate": [1, 1e-9],
    "deviation": [None, 0, 0.5],
    "fast": [True, False],
    "unit": [None, "tokens"],
    "path": [None, "a/b"],
    "words": [[], ("tokens",)],
    "betas": [[0.9, 0.98], (0, 0)],
    "systems": [None, {}, {"a": "b"}],
    "files": [None, {"source": None}, {"source": "a", "extra": "b"}],
    "anything": [None, "a", object()],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in RIGHT.items() for value in values])
def test_a_value_of_the_type_passes(name: str, value: object) -> None:
    Example(**{name: value})


def test_the_nearest_word_and_the_value_as_a_config_has_it() -> None:
    with pytest.raises(ValueError, match=r"^unit=token: expected one of .*; did you mean tokens\?$"):
        Example(unit="token")
    with pytest.raises(ValueError, match=r"^fast='true': expected true or false$"):  # text that looks like the value
        Example(fast="true")
    with pytest.raises(ValueError, match=r"^size=null: "):
        Example(size=None)


def test_arguments_by_place_and_those_of_a_dataclass_are_checked() -> None:
    @checked
    @dataclass(frozen=True)
    class Base:
        size: Size

    @checked
    @dataclass(frozen=True)
    class Derived(Base):
        layers: Size = 1

    assert Derived(2, layers=3) == Derived(size=2, layers=3)
    with pytest.raises(ValueError, match=r"^size=0"):
        Derived(0)
    with pytest.raises(ValueError, match=r"^layers=0"):
        Derived(1, 0)
    with pytest.raises(TypeError):
        Derived()


def test_a_function_is_checked_and_keeps_its_name() -> None:
    @checked
    def scheduled(optimizer: object, updates: Size = 1) -> int:
        return updates

    assert scheduled(None, 3) == 3
    assert scheduled.__name__ == "scheduled"
    with pytest.raises(ValueError, match=r"^updates=0"):
        scheduled(None, updates=0)
