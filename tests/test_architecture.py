"""Text flows one way: data → nn → search → evaluation → report, with training on top. Imports show whether it does."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "lookback"
EVERYWHERE = {"symbols", "errors"}
"""Modules without a side: the symbols every vocabulary shares, and the one error a user can mend."""

# For each folder: the folders it may import, and the libraries it must not know.
MAY_IMPORT = {
    "data": set(),
    "nn": set(),
    "search": {"nn"},
    "evaluation": set(),
    "report": {"evaluation"},
    "training": {"data", "nn", "search", "evaluation", "report", "command"},
}
MUST_NOT_KNOW = {
    "data": {"hydra", "omegaconf", "wandb"},
    "nn": {"lightning", "hydra", "omegaconf", "datasets", "wandb", "numpy"},
    "search": {"lightning", "hydra", "omegaconf", "datasets", "wandb"},
    "evaluation": {"torch", "lightning", "hydra", "omegaconf", "datasets", "wandb"},
    "report": {"torch", "lightning", "hydra", "omegaconf", "datasets", "wandb", "matplotlib"},
    "training": set(),
}
FOLDERS = sorted(MAY_IMPORT)


def imports(folder: str) -> Iterator[tuple[str, str]]:
    """(file:line, full module name) of every import in a folder, inside functions too."""
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}:{node.lineno}: a relative import"
                module = node.module or ""
                names = [f"{module}.{alias.name}" for alias in node.names] if module == "lookback" else [module]
            yield from ((f"{path.relative_to(PACKAGE)}:{node.lineno}", name) for name in names)


def test_every_folder_has_its_place() -> None:
    assert sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()) == FOLDERS


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_only_what_comes_before_it(folder: str) -> None:
    allowed = {f"lookback.{name}" for name in MAY_IMPORT[folder] | EVERYWHERE | {folder}}
    ours = [(where, name) for where, name in imports(folder) if name.startswith("lookback.")]
    assert not [(where, name) for where, name in ours if ".".join(name.split(".")[:2]) not in allowed]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_does_not_know_what_is_not_its_business(folder: str) -> None:
    wrong = [(where, name) for where, name in imports(folder) if name.split(".")[0] in MUST_NOT_KNOW[folder]]
    assert not wrong


def test_modules_without_a_side_import_only_the_standard_library() -> None:
    for name in EVERYWHERE:
        for node in ast.walk(ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] in sys.stdlib_module_names


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("lookback.nn", ("lightning", "hydra", "datasets")),
        ("lookback.search", ("lightning", "hydra", "datasets")),
        ("lookback.evaluation", ("torch", "lightning", "hydra")),
        ("lookback.report", ("torch", "lightning", "hydra")),
    ],
)
def test_importing_a_folder_does_not_load_what_it_must_not_know(module: str, absent: tuple[str, ...]) -> None:
    """As a user has it: in a process of its own, what the libraries themselves pull in included."""
    code = f"import sys, {module}; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
