"""The types of arguments: what a value may be is declared once, in the signature, and checked and worded from there.

``@checked`` holds a constructor to its own annotations. ``lookback.common.schema`` holds a config to those of all the
constructors that it names, before any of them is called. Messages have the form ``name=value: expected …``.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, wraps
from inspect import Parameter, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from annotated_types import Interval, MinLen, Predicate, doc

from lookback.common.suggestions import nearest

MOST = 2**31 - 1
"""What any number has at most. Messages say so only of a value that is over it."""

Size = Annotated[int, Interval(ge=1, le=MOST)]
"""How many there are, at least one."""
Count = Annotated[int, Interval(ge=0, le=MOST)]
"""How many there are, or none."""
Width = Annotated[int, Interval(ge=1, le=65_536)]
"""Units of a layer."""
Depth = Annotated[int, Interval(ge=1, le=100)]
"""Layers of a stack."""
Seed = Annotated[int, Interval(ge=0, le=2**32 - 1)]
"""Of random numbers: what numpy takes, too."""
Share = Annotated[float, Interval(ge=0, le=1)]
PartialShare = Annotated[float, Interval(ge=0, lt=1)]
"""A share that leaves something: of values to drop, of probability to move."""
NonNegative = Annotated[float, Interval(ge=0, le=MOST)]
Positive = Annotated[float, Interval(gt=0, le=MOST)]
Text = Annotated[str, MinLen(1)]
FilePath = Annotated[str | Path, Predicate(str), doc("a path")]  # empty text is none

Trust = Text | list[Text]
"""Names of classes that the config of a run may use beside lookback's own."""

_Target = TypeVar("_Target", bound=Callable[..., Any])


class Argument(NamedTuple):
    """An argument of a constructor.

    Attributes:
        annotation: what its value may be; ``Any`` where nothing is declared.
        required: whether it has no default.
    """

    annotation: Any
    required: bool


def checked(target: _Target) -> _Target:
    """Decorates a class or function: each call is held to the declared types and ranges of its arguments.

    Args:
        target: what is called.

    Raises:
        ValueError: from each call, for the first value that is not as declared.
    """
    function = target.__init__ if isinstance(target, type) else target  # type: ignore[misc]
    names = list(signature(function).parameters)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        declared, _ = arguments_of(target)
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if name in declared and not fits(value, declared[name].annotation):
                raise ValueError(refusal(name, value, declared[name].annotation))
        return function(*args, **kwargs)

    if isinstance(target, type):
        target.__init__ = call  # type: ignore[misc]
        return target
    return call  # type: ignore[return-value]


@lru_cache
def arguments_of(target: Callable[..., Any]) -> tuple[dict[str, Argument], bool]:
    """The arguments of a class or function that are given by name, and whether it takes any others too.

    The keys of a ``TypedDict`` count as arguments.
    """
    if is_typeddict(target):
        keys = get_type_hints(target, include_extras=True).items()
        # not ``__required_keys__``, which does not know the annotations of ``from __future__ import annotations``
        return {
            name: Argument(get_args(hint)[0], False) if get_origin(hint) is NotRequired else Argument(hint, True)
            for name, hint in keys
        }, False
    try:
        parameters = signature(target).parameters.values()
    except (TypeError, ValueError):  # it is not written in Python
        return {}, True
    hints = _hints(target)
    named = {
        each.name: Argument(hints.get(each.name, Any), each.default is Parameter.empty)
        for each in parameters
        if each.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    }
    return named, any(each.kind is Parameter.VAR_KEYWORD for each in parameters)


def _hints(target: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of the arguments; none if one of them names what is not there."""
    if isinstance(target, type):
        # a dataclass has its annotations, and those of its bases, in the class: each is read in its own module
        holder: Any = target if hasattr(target, "__dataclass_fields__") else target.__init__  # type: ignore[misc]
    else:
        holder = target
    try:
        return get_type_hints(holder, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {}


def fits(value: object, annotation: Any, is_config: bool = False) -> bool:
    """Whether a value is of a declared type and in its range: no type stands for another, but int for float.

    Args:
        value: any value.
        annotation: a type, as in a signature. What cannot be told from it is allowed.
        is_config: whether the value comes from a config, which has a list for a tuple and text for a path.
    """
    if get_origin(annotation) in (Union, UnionType):
        return any(fits(value, part, is_config) for part in get_args(annotation))
    if is_typeddict(annotation):  # with its own keys alone, which pydantic would not hold it to
        arguments, _ = arguments_of(annotation)
        return (
            isinstance(value, Mapping)
            and set(value) <= set(arguments)
            and all(
                fits(value[name], of, is_config) if name in value else not need
                for name, (of, need) in arguments.items()
            )
        )
    # imported here, because whoever imports the network alone need not wait for it
    from pydantic import ValidationError

    adapter = _adapter(annotation)
    try:
        if adapter is not None and is_config:
            adapter.validate_json(json.dumps(value, default=str))
        elif adapter is not None:
            adapter.validate_python(value)
    except ValidationError:
        return False
    return True


@lru_cache
def _adapter(annotation: Any) -> Any:
    """What checks values of a type; None if the type says nothing of them."""
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.errors import PydanticUserError
    from pydantic_core import SchemaError

    try:
        return TypeAdapter(
            annotation, config=ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True)
        )
    except (PydanticUserError, SchemaError):  # SchemaError: of a protocol that isinstance does not know
        return None


def refusal(name: str, value: object, annotation: Any) -> str:
    """The message about a value that does not fit: ``name=value: expected …``, and the word that was meant."""
    choices = [choice for part in (annotation, *get_args(annotation)) for choice in get_args(part)]
    hint = nearest(value, [word for word in choices if isinstance(word, str)]) if isinstance(value, str) else ""
    is_huge = isinstance(value, int | float) and value > MOST
    return f"{name}={shown(value)}: expected {describe(annotation, is_huge)}{hint}"


def describe(annotation: Any, with_most: bool = False) -> str:
    """A declared type in words, such as ``a whole number, 1 or more``.

    Args:
        annotation: the type.
        with_most: whether to say ``MOST``, too.
    """
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        said = [mark.documentation for mark in parts[1:] if hasattr(mark, "documentation")]
        return said[-1] if said else describe(parts[0]) + _range(parts[1:], with_most)
    if origin is Literal:
        return ("one of " if len(parts) > 1 else "") + ", ".join(map(shown, parts))
    if origin in (Union, UnionType):
        words = [describe(part, with_most) for part in sorted(parts, key=lambda part: part is NoneType)]
        return (", or " if any("," in word or " or " in word for word in words) else " or ").join(dict.fromkeys(words))
    if is_typeddict(annotation):
        return f"the keys {', '.join(arguments_of(annotation)[0])}"
    kind = origin or annotation
    if isinstance(kind, type) and issubclass(kind, Collection) and not issubclass(kind, str):
        what = [describe(part, with_most) for part in parts if part is not Ellipsis and part is not Any]
        return ("names, each with " if issubclass(kind, Mapping) else "a list of ") + (what[-1] if what else "values")
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text", Path: "a path"}
    if annotation in (None, NoneType):
        return "null"
    return names.get(kind, f"a {getattr(kind, '__name__', kind)}")


def _range(constraints: Sequence[Any], with_most: bool) -> str:
    """The range of a number or the length of a text or list, in words."""
    least, over = _bound(constraints, "ge"), _bound(constraints, "gt")
    most, under = _bound(constraints, "le"), _bound(constraints, "lt")
    if _bound(constraints, "min_length") is not None:
        length, longest = _bound(constraints, "min_length"), _bound(constraints, "max_length")
        return f", {length} of them" if length == longest else " that is not empty"
    if least is None and over is None:
        return ""
    low = f", {least:,}" if over is None else f" over {over:,}"
    if most is not None and (most != MOST or with_most):
        return f"{low} to {most:,}" if over is None else f"{low}, {most:,} at most"
    if under is not None:
        return f"{low} up to {under:,}, {under:,} not included" if over is None else f"{low} and under {under:,}"
    return f"{low} or more" if over is None else low


def _bound(constraints: Sequence[Any], name: str) -> Any:
    """The value of the constraint of this name; None if there is none."""
    return next((getattr(each, name) for each in constraints if getattr(each, name, None) is not None), None)


def shown(value: Any) -> str:
    """A value as a config has it: ``null``, ``true``, ``[1, 2]``; text that would read as something else is quoted."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return value if value.strip() == value and value else repr(value)
        return repr(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {shown(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(shown, value)) + "]"
    return str(value)
