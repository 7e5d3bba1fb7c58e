"""Metrics as curves: read whole or refused, costs found for every row, means where all are, and thinned in shape."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.errors import InputError
from lookback.report.evidence.learning import learning_curve, mean_curve, read_metrics, thinned
from lookback.runs import read_run

HEAD = "step,epoch,attention/aer,cost/seconds,cost/target_tokens,train/loss,validation/bleu\n"


@pytest.fixture
def run(make_run):
    def with_metrics(text):
        directory = make_run("a", scored=False)
        (directory / "metrics.csv").write_text(text)
        return read_run(directory)

    return with_metrics


def test_columns_are_numbers_and_gaps(run):
    columns = read_metrics(run(HEAD + "10,0.1,,2.5,100,4.5,\n20,0.2,0.9,,,,\n").directory / "metrics.csv")
    assert columns["step"].tolist() == [10, 20]
    np.testing.assert_array_equal(columns["attention/aer"], [np.nan, 0.9])
    np.testing.assert_array_equal(columns["validation/bleu"], [np.nan, np.nan])


def test_a_curve_over_each_axis_has_the_cost_of_its_update(run):
    logged = run(HEAD + "5,0,1.0,,,,\n10,0,,2,100,4.5,\n15,0,0.5,,,,\n20,0,,6,200,nan,10\n25,0,0.25,,,,\n")
    assert learning_curve(logged, "aer").tolist() == [[5, 1], [15, 0.5], [25, 0.25]]
    # half way between the rows that know it, from 0 at update 0; behind the last of them nothing is known
    assert learning_curve(logged, "aer", "seconds").tolist() == [[1, 1], [4, 0.5]]
    assert learning_curve(logged, "aer", "target_tokens").tolist() == [[50, 1], [150, 0.5]]
    assert learning_curve(logged, "bleu", "seconds").tolist() == [[6, 10]]
    assert learning_curve(logged, "train_loss").tolist() == [[10, 4.5]]  # a loss that is no number is left out


def test_what_was_not_logged_is_none_and_older_files_have_updates_alone(run, make_run):
    older = run("step,epoch,train/loss,validation/bleu\n10,0,4.5,\n20,0,,7\n")
    assert learning_curve(older, "train_loss").tolist() == [[10, 4.5]]
    assert learning_curve(older, "train_loss", "seconds") is None
    assert learning_curve(older, "aer") is None
    assert learning_curve(read_run(make_run("b", scored=False)), "train_loss") is None  # no file at all
    (older.directory / "metrics.csv").write_text("step,epoch,train/loss\n")
    assert learning_curve(older, "train_loss") is None  # no row yet


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "metrics.csv: no column 'step'"),
        ("a,b\n1,2\n", "metrics.csv: no column 'step'"),
        ("step,train/loss\n10,4.5\n20\n", "metrics.csv:3: 1 cells, expected 2"),
        ("step,train/loss\n10,4.5,3\n", "metrics.csv:2: 3 cells, expected 2"),
        ("step,train/loss\n10,high\n", "metrics.csv:2: train/loss='high', expected a number"),
        ("step,train/loss\n10,4\n10,4\n", "metrics.csv:3: step=10, expected steps that rise"),
        ("step,train/loss\n,4\n", "metrics.csv:2: step=, expected steps that rise"),
        (b"step,\xff\n", "metrics.csv: .*expected a metrics.csv"),
    ],
)
def test_broken_files_are_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "metrics.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=message) as refused:
        read_metrics(path)
    assert "\n" not in str(refused.value)


def test_the_mean_stands_where_every_run_has_been():
    first = np.array([[0.0, 0], [10, 10], [20, 10]])
    second = np.array([[5.0, 1], [15, 3], [40, 0]])
    assert mean_curve([first, second]).tolist() == [[5, 3], [10, 6], [15, 6.5], [20, 6.2]]
    assert mean_curve([first]).tolist() == first.tolist()
    assert mean_curve([first, np.array([[30.0, 1]])]) is None


@given(st.integers(3, 200), st.integers(3, 80), st.integers(0, 2**16))
def test_thinned_keeps_the_first_the_last_and_only_points_of_its_own(size, points, seed):
    chance = np.random.default_rng(seed)
    curve = np.stack([np.cumsum(chance.uniform(0.1, 2, size)), chance.normal(size=size)], axis=1)
    kept = thinned(curve, points)
    assert len(kept) == min(size, points)
    assert kept[0].tolist() == curve[0].tolist()
    assert kept[-1].tolist() == curve[-1].tolist()
    assert (np.diff(kept[:, 0]) > 0).all()
    assert {tuple(point) for point in kept} <= {tuple(point) for point in curve}


def test_thinned_keeps_the_shape():
    x = np.arange(2000.0)
    peak = 5 / x.clip(1) + 2.0 * (x == 777)
    kept = thinned(np.stack([x, peak], axis=1))
    assert peak[777] in kept[:, 1]  # one odd point of two thousand
    smooth = 5 * np.exp(-x / 100)
    kept = thinned(np.stack([x, smooth], axis=1))
    assert np.abs(np.interp(x, *kept.T) - smooth).max() < 0.12
    with pytest.raises(ValueError, match="points=2"):
        thinned(kept, 2)
