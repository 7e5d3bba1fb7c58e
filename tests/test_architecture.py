"""Imports point down one line, and a folder can be seen at a glance: this file is the picture of the house.

common → data, nn, runs → search, evaluation → report → translation → tracking → training → commands
"""

import ast
import subprocess
import sys
from collections.abc import Iterator

import pytest

from support.paths import PROJECT

PACKAGE = PROJECT / "src" / "lookback"
LINE = (
    ("common",),
    ("data", "nn", "runs"),
    ("search", "evaluation"),
    ("report",),
    ("translation",),
    ("tracking",),
    ("training",),
    ("commands",),
)
FOLDERS = [folder for step in LINE for folder in step]
BESIDE = {"evaluation": {"search"}, "search": {"data", "runs", "evaluation"}, "nn": {"data", "runs"}}
"""What a folder does not use, though it stands earlier in the line or beside it."""
MUST_NOT_KNOW = {
    "common": {"torch", "lightning", "datasets", "wandb", "numpy", "pyarrow"},
    "data": {"wandb"},
    "nn": {"lightning", "datasets", "wandb", "numpy"},
    "runs": {"lightning", "datasets", "wandb"},
    "search": {"lightning", "datasets", "wandb"},
    "evaluation": {"torch", "lightning", "datasets", "wandb"},
    "translation": {"lightning", "wandb"},
    "report": {"torch", "lightning", "datasets", "wandb", "matplotlib"},
    "tracking": {"torch"},
    "training": set(),
    "commands": set(),
}
"""Libraries that are not a folder's business."""
ALONE = {
    "hydra": {"common/configs.py", "commands"},
    "torch": {"data", "nn", "search", "translation", "training", "commands", "runs/checkpoint.py"},
}
"""Libraries that only these folders and modules know."""
MODULES = 15
"""About a dozen modules a folder at most."""


def imports(folder: str) -> Iterator[tuple[str, int, str]]:
    """(file, line, full module name) of every import in a folder, inside functions too."""
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}:{node.lineno}: a relative import"
                module = node.module or ""
                names = [f"{module}.{alias.name}" for alias in node.names] if module == "lookback" else [module]
            yield from ((path.relative_to(PACKAGE).as_posix(), node.lineno, name) for name in names)


def may_import(folder: str) -> set[str]:
    """Itself, and all that stands earlier in the line."""
    step = next(number for number, folders in enumerate(LINE) if folder in folders)
    return {folder, *(other for folders in LINE[:step] for other in folders)} - BESIDE.get(folder, set())


def test_inside_the_report_evidence_comes_before_pictures_and_the_page_is_last() -> None:
    before = {"evidence": {"evidence"}, "tables": {"evidence", "tables"}, "charts": {"evidence", "charts"}}
    before["page"] = {"evidence", "tables", "charts", "page"}
    for folder, allowed in before.items():
        for file, line, name in imports(f"report/{folder}"):
            found = name.split(".")
            assert found[:2] != ["lookback", "report"] or found[2] in allowed, f"{file}:{line}: {name}"


def test_every_folder_has_its_place() -> None:
    assert {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()} == set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_only_what_comes_before_it(folder: str) -> None:
    allowed = may_import(folder)
    ours = [(file, line, name) for file, line, name in imports(folder) if name.startswith("lookback.")]
    assert not [(file, line, name) for file, line, name in ours if name.split(".")[1] not in {*allowed, "__version__"}]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_does_not_know_what_is_not_its_business(folder: str) -> None:
    found = [(file, line, name.split(".")[0]) for file, line, name in imports(folder)]
    assert not [(file, line, name) for file, line, name in found if name in MUST_NOT_KNOW[folder]]


@pytest.mark.parametrize("library", ALONE)
def test_a_library_is_known_where_it_is_used_alone(library: str) -> None:
    found = [
        (file, line) for folder in FOLDERS for file, line, name in imports(folder) if name.split(".")[0] == library
    ]
    assert found
    assert not [(file, line) for file, line in found if not {file, file.split("/")[0]} & ALONE[library]]


def test_a_folder_can_be_seen_at_a_glance() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    modules = {folder: [path for path in folder.glob("*.py") if path.name != "__init__.py"] for folder in folders}
    assert not {str(folder): len(inside) for folder, inside in modules.items() if len(inside) > MODULES}


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("lookback", ("torch", "lightning", "hydra", "numpy")),
        ("lookback.common.configs", ("torch", "lightning", "hydra")),
        ("lookback.nn", ("lightning", "hydra", "datasets")),
        ("lookback.search", ("lightning", "hydra", "datasets")),
        ("lookback.runs", ("torch", "lightning", "hydra")),
        ("lookback.evaluation", ("torch", "lightning", "hydra", "pyarrow")),
        ("lookback.translation", ("lightning", "wandb")),
        ("lookback.report", ("torch", "lightning", "hydra")),
    ],
)
def test_importing_a_folder_does_not_load_what_it_must_not_know(module: str, absent: tuple[str, ...]) -> None:
    """As a user has it: in a process of its own, what the libraries themselves pull in included."""
    code = f"import sys, {module}; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
