"""Checks a whole config against the signatures of all that it names, before any of it is built.

A command has a schema: a ``TypedDict`` of its keys. Where a key names what is built (``_target_``), the arguments are
checked against the signature of that class or function. So a misspelt key and a wrong value are found in a moment,
wherever they stand.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, is_typeddict

from annotated_types import doc

from lookback.common.checks import Argument, arguments_of, describe, fits, refusal, shown
from lookback.common.configs import present_target
from lookback.common.errors import InputError
from lookback.common.suggestions import nearest, one_of
from lookback.common.trust import check_if_held


@dataclass(frozen=True)
class Built:
    """Marks a key of a schema that names what is built: ``_target_`` and its arguments.

    Attributes:
        supplied: the arguments that the program gives, so that a config cannot.
        partial: whether the program calls it later (``_partial_: true``).
    """

    supplied: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True)
class Others:
    """Marks a ``TypedDict`` that may have other keys too.

    Attributes:
        annotation: what their values may be.
    """

    annotation: Any


Node = Annotated[Mapping[str, Any], Built(), doc("_target_, which names what is built, and its arguments")]
"""What is built, with no argument but those of the config."""
Signatures = Mapping[str, type]
"""By the full name of a class of another library: a ``TypedDict`` of the arguments that make sense here.

Their own signatures have no ranges, and allow much that a training here does not do.
"""

_Target = Annotated[str, doc("MODULE.NAME of a class or function")]
_HYDRAS = {
    "_target_": Argument(_Target, True),
    "_recursive_": Argument(bool, False),
    "_convert_": Argument(Literal["none", "partial", "object", "all"], False),
}


class _Problem(NamedTuple):
    key: str
    message: str


def check_config(config: Any, schema: type, signatures: Signatures | None = None) -> None:
    """Checks the config of a command.

    Args:
        config: as it was composed.
        schema: a ``TypedDict`` with the keys of the command.
        signatures: of the classes of other libraries.

    Raises:
        InputError: in one line, for the first key that does not exist or that is missing, or for the first value that
            is not allowed.
    """
    from omegaconf import OmegaConf

    values = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    check_if_held(values)
    problems = list(_of_value("", values, schema, signatures or {}))
    if problems:
        # a value that is taken over from another key is wrong there
        own = [each for each in problems if not _is_taken_over(config, each.key)]
        raise InputError((own or problems)[0].message)


def _is_taken_over(config: Any, key: str) -> bool:
    from omegaconf import OmegaConf

    parent, _, last = key.rpartition(".")
    node = OmegaConf.select(config, parent) if parent else config
    return OmegaConf.is_dict(node) and last in node and OmegaConf.is_interpolation(node, last)


def _of_value(key: str, value: Any, annotation: Any, signatures: Signatures) -> Iterator[_Problem]:
    """What is wrong with the value of ``key``."""
    kind, marks, is_optional = _parts(annotation)
    built = next((mark for mark in reversed(marks) if isinstance(mark, Built)), None)
    others = next((mark.annotation for mark in marks if isinstance(mark, Others)), None)
    if is_optional and (value is None or (built and value == {})):  # a group's file that names nothing is empty
        return
    if isinstance(value, Mapping) and (built or "_target_" in value):
        yield from _of_node(key, value, built or Built(), signatures)
    elif isinstance(value, Mapping) and is_typeddict(kind):
        yield from _of_arguments(key, value, arguments_of(kind)[0], others, signatures)
    elif isinstance(value, list) and any(isinstance(each, Mapping) and "_target_" in each for each in value):
        for place, each in enumerate(value):
            yield from _of_value(f"{key}[{place}]", each, Any, signatures)
    elif built or is_typeddict(kind) or not fits(value, annotation, is_config=True):
        yield _Problem(key, refusal(key, value, annotation))


def _parts(annotation: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """The type of an annotation, the marks on it, and whether null is allowed beside it."""
    choices = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    others = [choice for choice in choices if choice is not NoneType]
    kind = others[0] if len(others) == 1 else annotation
    marks: tuple[Any, ...] = ()
    if get_origin(kind) is Annotated:
        kind, *rest = get_args(kind)
        marks = tuple(rest)
    return kind, marks, NoneType in choices


def _of_arguments(
    key: str, values: Mapping[str, Any], arguments: Mapping[str, Argument], others: Any, signatures: Signatures
) -> Iterator[_Problem]:
    """What is wrong with the keys under ``key``. ``others``: what keys that are no argument may be; None: none may."""
    for name, value in values.items():
        path = f"{key}.{name}" if key else str(name)
        if name in arguments:
            yield from _of_value(path, value, arguments[name].annotation, signatures)
        elif others is None:
            known = [argument for argument in arguments if not argument.startswith("_")]
            said = (
                f"expected {one_of(known, str(name))}" if known else f"expected nothing beside {', '.join(arguments)}"
            )
            yield _Problem(path, f"{path}: no such setting; {said}")
        else:
            yield from _of_value(path, value, others, signatures)
    for name, argument in arguments.items():
        if argument.required and name not in values:
            path = f"{key}.{name}" if key else name
            yield _Problem(path, f"{path}: is missing; expected {describe(argument.annotation)}")


def _of_node(key: str, node: Mapping[str, Any], built: Built, signatures: Signatures) -> Iterator[_Problem]:
    """What is wrong with a node that is built."""
    partial = Argument(bool, built.partial)
    if node.get("_partial_", False) is not built.partial:
        said = shown(node["_partial_"]) if "_partial_" in node else "null"
        path = f"{key}._partial_"
        yield _Problem(path, f"{path}={said}: expected {shown(built.partial)}")
    arguments: dict[str, Argument] = {}
    others: Any = Any
    name = present_target(node) if isinstance(node.get("_target_"), str) else None
    if name is not None:
        try:
            target = _located(name)
        except InputError as error:
            yield _Problem(f"{key}._target_", f"{key}._target_={name}: {error}")
            return
        signature = signatures.get(f"{getattr(target, '__module__', '')}.{getattr(target, '__qualname__', '')}")
        arguments, is_open = arguments_of(signature or target)
        arguments = {argument: of for argument, of in arguments.items() if argument not in built.supplied}
        others = Any if is_open else None
    yield from _of_arguments(key, node, {**_HYDRAS, "_partial_": partial, **arguments}, others, signatures)


def _located(name: str) -> Any:
    """The class or function of this name.

    Raises:
        InputError: what is wrong with the name.
    """
    module, _, attribute = name.rpartition(".")
    try:
        target = resolve_name(name)
    except (ImportError, ValueError, AttributeError) as error:
        try:
            names = [each for each in dir(resolve_name(module)) if each[0].isupper()]
        except (ImportError, ValueError, AttributeError):
            names = []
        reason = " ".join(str(error).split())
        raise InputError(f"{reason}; expected MODULE.NAME of a class or function{nearest(attribute, names)}") from None
    if not callable(target):
        raise InputError("expected MODULE.NAME of a class or function")
    return target
