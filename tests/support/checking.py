"""How annotations are checked in tests: as type checkers read them, where an int passes for a float."""

import inspect
import re
from typing import Any

from beartype import BeartypeConf, beartype

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
