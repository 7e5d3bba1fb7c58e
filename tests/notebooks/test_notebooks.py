"""Every notebook runs from top to bottom, in an empty directory, and finds what it says it finds."""

import ast
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from support.paths import PROJECT

NOTEBOOKS = PROJECT / "notebooks"


def executed(name: str, directory: Path) -> NotebookNode:
    """The executed notebook, one thread, nothing read or left outside `directory`."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    environment = {key: value for key, value in os.environ.items() if key not in ("SWEEP", "HF_DATASETS_CACHE")}
    environment |= {"OMP_NUM_THREADS": "1", "HF_HOME": str(directory / "cache")}
    NotebookClient(notebook, timeout=900, resources={"metadata": {"path": directory}}).execute(env=environment)
    return notebook


def cell(notebook: NotebookNode, tag: str) -> NotebookNode:
    (found,) = [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]
    return found


def value(notebook: NotebookNode, tag: str) -> Any:
    """What the last line of the tagged cell evaluates to, a plain container."""
    (result,) = [output for output in cell(notebook, tag).outputs if output.output_type == "execute_result"]
    return ast.literal_eval(result.data["text/plain"])


def drawing(notebook: NotebookNode, tag: str) -> str:
    """The tagged cell's chart, which was drawn without a browser."""
    (picture,) = [output.data for output in cell(notebook, tag).outputs if "data" in output]
    return picture["image/svg+xml"]


# a test a notebook: where tests are shared among processes, none is executed twice


@pytest.mark.slow
def test_from_equations_to_an_alignment(tmp_path: Path) -> None:
    notebook = executed("from_equations_to_alignment", tmp_path)

    # the attention finds most of the gold links
    agreement = value(notebook, "agreement")
    assert agreement["bahdanau"] > 0.55
    assert agreement["bahdanau"] > 3 * max(agreement["none"], agreement["chance"])

    # it translates, and the fixed context lags
    bleu = value(notebook, "bleu")
    assert bleu["bahdanau"] > 70
    assert bleu["none"] < bleu["bahdanau"] - 25

    for title in ("bahdanau: found", "grammar: gold", "none: nothing to find"):
        assert title in drawing(notebook, "heat-maps")


@pytest.mark.slow
def test_what_a_sweep_says(tmp_path: Path) -> None:
    notebook = executed("what_a_sweep_says", tmp_path)

    # two attentions, two seeds, all of them finished
    assert sorted(value(notebook, "sweep")) == [
        (attention, seed, "finished") for attention in ("dot", "none") for seed in (1, 2)
    ]
    scores = value(notebook, "scores")
    assert min(scores["dot 1"], scores["dot 2"]) > max(scores["none 1"], scores["none 2"]) + 20

    # a thousand draws by hand give the library's interval
    by_hand = value(notebook, "by-hand")
    assert by_hand["by hand"] == pytest.approx(by_hand["library"], abs=1)
    assert by_hand["library"][0] > 0
    assert all(bucket["difference"] > 0 and bucket["p"] < 0.05 for bucket in value(notebook, "p-values").values())

    # what length does: the fixed context keeps less
    summary = value(notebook, "summary")
    assert summary["none"]["retention"] < 0.6 < summary["dot"]["retention"]
    for about in summary.values():
        assert about["retention_ci"][0] <= about["retention"] <= about["retention_ci"][1]
    assert 5 < summary["none"]["half_length"] < 24

    # the alignment emerges
    emergence = value(notebook, "emergence")
    assert set(emergence) == {"dot 1", "dot 2"}
    for curve in emergence.values():
        assert curve["last"] < 0.35 < 0.8 < curve["first"]
        assert 0 < curve["updates until under 0.5"] < 180

    # a bucket's score from the file, from the counts, and from the texts
    recomputed = value(notebook, "recomputed")
    assert recomputed["counts"] == pytest.approx(recomputed["results.json"], abs=1e-9)
    assert recomputed["sacrebleu"] == pytest.approx(recomputed["results.json"], abs=1e-9)

    for tag, words in {
        "curve": "BLEU against source length",
        "difference": "BLEU gained over none",
        "loss": "Training loss while training",
        "aer": "Alignment error rate while training",
        "diagnostics": "Entropy of the attention",
        "forming": "3.00 epochs",
    }.items():
        assert words in drawing(notebook, tag)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for each in notebook.cells:
        if each.cell_type == "code":
            assert not each.outputs
            assert each.execution_count is None
