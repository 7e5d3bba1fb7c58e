"""Private functions of sacrebleu are used in one module; the tests of the scores compare them with sacrebleu's own."""

import ast
import re
from pathlib import Path

from support.paths import PROJECT

SOURCE = PROJECT / "src" / "lookback"


def private_names(path: Path) -> set[str]:
    """What a module that imports sacrebleu takes from other objects under a name with one underscore before it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    imports = [node for node in imports if (node.module or "").startswith("sacrebleu")]
    if not imports:
        return set()
    names = {alias.name for node in imports for alias in node.names}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    names |= {node.attr for node in attributes if getattr(node.value, "id", None) != "self"}
    return {name for name in names if re.match(r"_[^_]", name)}


def test_one_module_alone_uses_what_is_private_in_sacrebleu() -> None:
    names = {path.relative_to(SOURCE).as_posix(): private_names(path) for path in SOURCE.rglob("*.py")}
    assert [path for path, found in names.items() if found] == ["evaluation/scores/sacrebleu_parts.py"]
    assert "_shift" in names["evaluation/scores/sacrebleu_parts.py"]
