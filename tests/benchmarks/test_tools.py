"""The speed benchmarks run as one command, on models of a few units and without peers."""

import csv
import subprocess
import sys

import pytest
import torch
from cases import ATTENTIONS, Options
from lookback_model import Lookback
from products import Limit
from torch.utils.flop_counter import FlopCounterMode

from conftest import BENCHMARKS
from support.running import TINY_DATA, TINY_MODEL

MAXOUT = ("paper", "bahdanau")


def run(tool, folder, *options):
    command = [sys.executable, str(BENCHMARKS / tool), "--sizes", "tiny", "--rounds", "2", "--results", str(folder)]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tables = {}
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8") as file:
            tables[path.stem] = list(csv.DictReader(file))
    return tables


@pytest.mark.slow
def test_train(tmp_path):
    tables = run("train.py", tmp_path, "--attentions", "bahdanau", "--lengths", "3", "5", "8")
    rows = tables["train"]
    systems = ["lookback", "not fused", "plain", "limit"]
    assert [(int(row["length"]), row["system"]) for row in rows] == [(n, name) for n in (3, 5, 8) for name in systems]
    for start in range(0, len(rows), len(systems)):
        ours, not_fused, plain, limit = rows[start : start + len(systems)]
        assert 0 < float(limit["ms"]) < float(ours["ms"])
        # one model, one batch, as many steps: how it is computed changes no more than the last digits of the loss
        assert float(ours["loss"]) == pytest.approx(float(not_fused["loss"]), rel=1e-4)
        assert float(ours["loss"]) == pytest.approx(float(plain["loss"]), rel=1e-4)
    assert [row["system"] for row in tables["train_lengths"]] == systems


@pytest.mark.slow
def test_decode(tmp_path):
    tables = run("decode.py", tmp_path, "--batches", "1", "3", "--beams", "1", "2", "--source", "4", "--steps", "6")
    ours = [row for row in tables["decode"] if row["system"] == "lookback"]
    assert [(row["batch"], row["beam"]) for row in ours] == [("1", "1"), ("1", "2"), ("3", "1"), ("3", "2")]
    assert {row["same_outputs"] for row in ours} == {"1.0"}


@pytest.mark.slow
def test_start(tmp_path):
    """Beside itself: two versions are measured in turn, and nothing else computes than what is asked for."""
    tiny = [*TINY_DATA, *TINY_MODEL, "trainer.accelerator=cpu"]
    tool = [sys.executable, str(BENCHMARKS / "start.py"), "--before", str(BENCHMARKS.parent), "--rounds", "1"]
    done = subprocess.run([*tool, "--results", str(tmp_path), *tiny], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "start.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cases = ["first batch, empty cache", "first batch", "one line translated", "train.py --help"]
    found = [(row["case"], row["version"]) for row in rows]
    assert found == [("import torch", ""), *((case, name) for case in cases for name in ("before", "now"))]
    seconds = {pair: float(row["cpu_seconds"]) for pair, row in zip(found, rows, strict=True)}
    assert 0 < seconds["train.py --help", "now"] < seconds["import torch", ""] < seconds["first batch", "now"]
    assert not list(tmp_path.glob("*/"))


def added_product(total, left, right, **_):
    """What the counter does not know: a product that is added in place. In shapes."""
    return 2 * left[0] * left[1] * right[1]


@pytest.mark.parametrize(("sizes", "attention"), [*(("small", attention) for attention in ATTENTIONS), MAXOUT])
def test_the_limit_is_the_products_of_our_step(sizes, attention):
    options = Options("lookback", "train", sizes, attention, "float32", "cpu", [0], fast=False)
    words = torch.randint(4, 100, (2, 8))
    limit = Limit(options)
    limit.train(words, words)
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addmm_: added_product}) as counter:
        Lookback(options).train(words, words)
    products = counter.get_flop_counts()["Global"]
    ours = sum(count for name, count in products.items() if "bmm" not in str(name))  # but for the attention's own
    assert limit.operations == pytest.approx(ours, rel=0.05)


@pytest.mark.slow
def test_memory(tmp_path):
    """In a process of its own, because the caches have their sizes from the first product of a process."""
    tool = [sys.executable, str(BENCHMARKS / "memory.py"), "--updates", "60", "--results", str(tmp_path), *TINY_MODEL]
    done = subprocess.run(tool, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "memory.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["updates"]) for row in rows] == list(range(6, 61, 6))
    assert int(rows[-1]["shapes"]) > 50
    assert float(rows[-1]["peak_mb"]) < 1.1 * float(rows[1]["peak_mb"])
