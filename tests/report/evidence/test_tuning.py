"""The learning rate that validation chooses, and where there is nothing to choose."""

import csv
import io

import pytest
from rich.console import Console

from lookback.report import compare
from lookback.report.evidence.tuning import tuned, tuned_in_words
from lookback.runs import read_run


def perplexity(value):
    about = {"validation_bleu": 1.0, "rise": None, "since_update": 8, "updates": 10}
    return {**about, "validation_perplexity": value}


@pytest.fixture
def make(make_run):
    """`make(attention, rate, perplexity, seed)` is a run."""

    def made(attention, rate, value, seed=1, **options):
        name = f"{attention}-{rate}-{seed}-{len(options)}"
        convergence = None if value is None else perplexity(value)
        return read_run(make_run(name, attention, seed, rate=rate, convergence=convergence, lengths=[5] * 9, **options))

    return made


def test_the_lowest_perplexity_wins(make):
    grid = {0.002: 1.80, 0.004: 1.71, 0.008: 1.75}
    runs = [make("none", rate, value) for rate, value in grid.items()]
    runs += [make("dot", rate, value) for rate, value in {0.002: 1.2, 0.004: 1.3}.items()]
    runs += [make("general", 0.002, 1.1)]
    dot, none = tuned(runs)
    assert (dot.attention, dot.rate, dot.at_edge) == ("dot", 0.002, True)
    assert (none.attention, none.rate, none.at_edge) == ("none", 0.004, False)
    assert none.perplexities == grid
    assert tuned_in_words([none, dot]) == (
        "learning rate chosen on validation: none 0.004 (perplexity 1.710; 0.002: 1.800, 0.008: 1.750) · "
        "dot 0.002 (perplexity 1.200; 0.004: 1.300; the edge of its grid)"
    )


def test_rates_are_compared_on_the_seeds_that_all_of_them_have(make):
    runs = [make("dot", 0.1, 2.0, 1), make("dot", 0.1, 4.0, 2), make("dot", 0.2, 3.5, 2), make("dot", 0.2, 2.4, 1)]
    runs.append(make("dot", 0.1, 1.0, 3))  # of a third one, the other rate knows nothing
    (found,) = tuned(runs)
    assert found.seeds == (1, 2)
    assert found.perplexities == pytest.approx({0.1: 3.0, 0.2: 2.95})
    assert found.rate == 0.2
    assert tuned([make("general", 0.1, 2.0, 1), make("general", 0.2, 2.0, 2)]) == []


def test_the_optimizers_own_rate_is_a_grid_too(make):
    runs = []
    for rate, value in {0.5: 2.0, 1.0: 1.5}.items():
        path = make("dot", rate, value).directory / ".hydra" / "config.yaml"
        text = path.read_text().replace("${learning_rate}", str(rate)).replace(f"learning_rate: {rate}", "fixed: true")
        path.write_text(text)
        runs.append(read_run(path.parent.parent))
    (found,) = tuned(runs)
    assert found.perplexities == {0.5: 2.0, 1.0: 1.5}


def test_runs_that_differ_in_more_are_no_grid(make):
    runs = [make("dot", 0.1, 2.0), make("dot", 0.2, 1.0, cell="lstm")]
    assert tuned(runs) == []
    assert tuned([make("none", 0.1, 2.0), make("none", 0.2, None)]) == []
    # the rest of a comparison does not matter: what another attention brings along least of all
    (found,) = tuned([*runs, make("general", 0.1, 2.0), make("general", 0.3, 1.0)])
    assert found.attention == "general"


def test_a_comparison_says_and_writes_it(make, tmp_path):
    runs = [make("none", 0.002, 1.8), make("none", 0.004, 1.7), make("dot", 0.002, 1.2)]
    console = Console(width=200, file=io.StringIO())
    assert "tuning.csv" in [path.name for path in compare(runs, tmp_path / "out", console)]
    assert "learning rate chosen on validation: none 0.004 (perplexity 1.700;" in console.file.getvalue()
    with (tmp_path / "out" / "tuning.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["attention"], row["learning_rate"], row["chosen"]) for row in rows] == [
        ("none", "0.002", "False"),
        ("none", "0.004", "True"),
    ]
    assert rows[0] == rows[0] | {"group": "1", "seeds": "1", "validation_perplexity": "1.8"}
    for run in runs[:2]:
        (run.directory / "test" / "results.json").unlink()
    compare([read_run(run.directory) for run in runs], tmp_path / "out", Console(file=io.StringIO()))
    assert not (tmp_path / "out" / "tuning.csv").exists()
