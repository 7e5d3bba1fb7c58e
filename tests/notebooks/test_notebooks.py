"""Every notebook runs from top to bottom, in an empty directory, and finds what it says it finds."""

import ast
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
ALIGNMENT = NOTEBOOKS / "from_equations_to_alignment.ipynb"


@pytest.fixture(scope="module")
def alignment(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """The executed notebook, one thread, nothing read or left outside a fresh directory."""
    directory = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(ALIGNMENT, as_version=4)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HOME": str(directory / "cache")}
    NotebookClient(notebook, timeout=900, resources={"metadata": {"path": directory}}).execute(env=environment)
    return notebook


def cell(notebook: NotebookNode, tag: str) -> NotebookNode:
    (found,) = [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]
    return found


def value(notebook: NotebookNode, tag: str) -> Any:
    """What the last line of the tagged cell evaluates to, a plain container."""
    (result,) = [output for output in cell(notebook, tag).outputs if output.output_type == "execute_result"]
    return ast.literal_eval(result.data["text/plain"])


@pytest.mark.slow
def test_the_attention_finds_most_of_the_gold_links(alignment: NotebookNode) -> None:
    agreement = value(alignment, "agreement")
    assert agreement["bahdanau"] > 0.6
    assert agreement["bahdanau"] > 3 * max(agreement["none"], agreement["chance"])


@pytest.mark.slow
def test_the_attention_translates_and_the_fixed_context_lags(alignment: NotebookNode) -> None:
    bleu = value(alignment, "bleu")
    assert bleu["bahdanau"] > 80
    assert bleu["none"] < bleu["bahdanau"] - 20


@pytest.mark.slow
def test_the_three_heat_maps_are_drawn_without_a_browser(alignment: NotebookNode) -> None:
    (picture,) = [output.data for output in cell(alignment, "heat-maps").outputs if "data" in output]
    drawing = picture["image/svg+xml"]
    for title in ("bahdanau: found", "grammar: gold", "none: nothing to find"):
        assert title in drawing


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for each in notebook.cells:
        if each.cell_type == "code":
            assert not each.outputs
            assert each.execution_count is None
