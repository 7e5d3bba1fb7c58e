"""How much validation BLEU rose at last is a mean over seeds, and unknown where any run did not log it."""

from pathlib import Path

import pytest

from lookback.report.evidence.convergence import mean_rise
from lookback.runs import Run


def run(attention="dot", seed=1, **results):
    return Run(Path(f"{attention}{seed}"), attention, attention, seed, "finished", None, results, {})


def logged(rise):
    return {"validation_bleu": 50.0, "rise": rise, "since_update": 1000, "updates": 1250}


def test_the_mean_over_seeds_of_an_arm():
    assert mean_rise([run(convergence=logged(5.0)), run(seed=2, convergence=logged(7.2))]) == pytest.approx(6.1)


@pytest.mark.parametrize("unknown", [run(), run(convergence=None), run(convergence=logged(None))])
def test_unknown_of_one_is_unknown_of_the_arm(unknown):
    assert mean_rise([run(convergence=logged(3.0)), unknown]) is None
    assert mean_rise([]) is None
    assert mean_rise([Run(Path("x"), "dot", "dot", 1, "failed", None, None, {})]) is None
