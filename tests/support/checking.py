"""How annotations are checked in tests: as type checkers read them, where an int passes for a float.

A check sees types, and of tensors the sizes and the kind of their numbers. What was right once is right again, so a
call is checked where anything of these is new in it; a training makes thousands of the same.
"""

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Collection, Hashable
from types import FunctionType
from typing import Any, get_type_hints

import jaxtyping
import numpy as np
import torch
from beartype import BeartypeConf, beartype
from jaxtyping import jaxtyped

CONF = BeartypeConf(is_pep484_tower=True)


def check(made: Any) -> Any:
    """Checks a function's annotations at each call.

    jaxtyping makes two functions of each: one takes the arguments before the call, the other takes them again after it,
    with what it has returned. The sizes that the arguments have given their axes are kept in between. So the second
    looks at what was returned alone, which is half of the work.
    """
    if inspect.isfunction(made) and any(
        parameter.kind is parameter.KEYWORD_ONLY and re.fullmatch(r"ret\d+", name)
        for name, parameter in inspect.signature(made).parameters.items()
    ):
        made.__annotations__ = {name: hint for name, hint in made.__annotations__.items() if name == "return"}
    return beartype(made, conf=CONF)


def remembering(made: Any = None, *, typechecker: Any) -> Any:
    """``jaxtyped``, which a call passes at once if one like it has passed."""
    if made is None:
        return functools.partial(remembering, typechecker=typechecker)
    if inspect.isclass(made):
        if dataclasses.is_dataclass(made) and not hasattr(made.__init__, "remembers"):
            made.__init__ = remembering(made.__init__, typechecker=typechecker)
        return made
    # a size may be the value of an argument, which is not remembered
    if not inspect.isfunction(made) or any("{" in str(hint) for hint in made.__annotations__.values()):
        return jaxtyped(made, typechecker=typechecker)

    @functools.cache
    def looks() -> Callable[[Any], Hashable]:
        try:
            hints = get_type_hints(made).values()
        except NameError:
            return _looks
        return _looks if any("...]" in str(hint) for hint in hints) else _looks_of_each

    @functools.cache
    def checked() -> Callable[..., Any]:
        return jaxtyped(made, typechecker=typechecker)

    @functools.cache
    def checked_result() -> Callable[..., Any]:
        return jaxtyped(_returning(made, results), typechecker=typechecker)

    passed: dict[Hashable, set[Hashable]] = {}
    results: list[Any] = []

    @functools.wraps(made)
    def called(*arguments: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        look = looks()
        try:
            given = *map(look, arguments), *named, *map(look, named.values())
        except _Unknown:
            return checked()(*arguments, **named)
        like_it = passed.get(given)
        if like_it is None:
            result = checked()(*arguments, **named)
            with_results = passed.setdefault(given, set())
        else:
            result, with_results = made(*arguments, **named), like_it
        try:
            found = look(result)
        except _Unknown:
            found = None
        if found is None or found not in with_results:
            if like_it is not None:
                results.append(result)
                checked_result()(*arguments, **named)
            if found is not None:
                with_results.add(found)
        return result

    called.remembers = True  # type: ignore[attr-defined]
    return called


class _Unknown(Exception):
    """What a check sees of a value is not known here."""


def _looks(value: Any) -> Hashable:
    """All that a check may see of a value."""
    kind = type(value)
    how = _HOW.get(kind)
    if how is None:
        how = _HOW[kind] = next((how for known, how in _KNOWN.items() if issubclass(kind, known)), None) or (
            _refused if issubclass(kind, Collection) else type
        )
    return how(value)


def _looks_of_each(value: Any) -> Hashable:
    """``_looks`` for a function of whose tuples a check looks at each part: none is as long as it likes."""
    return (type(value), *map(_looks_of_each, value)) if isinstance(value, tuple) else _looks(value)


def _all_alike(values: Collection[Any]) -> Hashable:
    """How all of them look. Of those that differ a check takes one by chance, so it is made each time."""
    looks = {_looks(value) for value in values}
    if len(looks) > 1:
        raise _Unknown
    return len(values), *looks


def _refused(value: Any) -> Hashable:
    raise _Unknown


_KNOWN: dict[type, Callable[[Any], Hashable]] = {
    torch.Tensor: lambda value: (type(value), value.dtype, value.shape),
    np.ndarray: lambda value: (type(value), value.dtype, value.shape),
    tuple: lambda value: (type(value), _all_alike(value)),
    list: lambda value: (type(value), _all_alike(value)),
    dict: lambda value: (type(value), _all_alike(value), _all_alike(value.values())),
    str: lambda value: (type(value), value),
    type: lambda value: (type(value), value),
}
_HOW: dict[type, Callable[[Any], Hashable]] = {}


def _returning(made: FunctionType, results: list[Any]) -> Callable[..., Any]:
    """A function with the annotations of another one, which returns what was put there."""

    def returned(*arguments: Any, **named: Any) -> Any:
        return results.pop()

    stand_in = FunctionType(returned.__code__, made.__globals__, made.__name__, None, returned.__closure__)
    functools.update_wrapper(stand_in, made)
    return stand_in


jaxtyping.jaxtyped = remembering  # what the import hook puts before each function and class
