"""The speed benchmarks run as one command, on models of a few units and without peers."""

import csv
import subprocess
import sys

import pytest
import start
import torch
from cases import ATTENTIONS, Options
from lookback_model import Lookback
from products import Limit
from torch.utils.flop_counter import FlopCounterMode

from support.paths import BENCHMARKS
from support.running import TINY_DATA, TINY_MODEL

MAXOUT = ("paper", "bahdanau")
STARTS = ["first batch, empty cache", "first batch", "one line translated", "train.py --help"]


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
    for first in range(0, len(rows), len(systems)):
        ours, not_fused, plain, limit = rows[first : first + len(systems)]
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


def started(folder):
    with (folder / "start.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_start(tmp_path):
    """Nothing else computes than what is asked for, and nothing is left."""
    tiny = [*TINY_DATA, *TINY_MODEL, "trainer.accelerator=cpu", "trainer.max_epochs=1"]
    tool = [sys.executable, str(BENCHMARKS / "start.py"), "--rounds", "1", "--results", str(tmp_path)]
    done = subprocess.run([*tool, *tiny], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = started(tmp_path)
    assert [(row["case"], row["version"]) for row in rows] == [
        ("import torch", ""),
        *((case, "now") for case in STARTS),
    ]
    seconds = {row["case"]: float(row["cpu_seconds"]) for row in rows}
    assert 0 < seconds["train.py --help"] < seconds["import torch"] < seconds["first batch"]
    assert not list(tmp_path.glob("*/"))


def test_two_versions_are_started_in_turn(tmp_path, monkeypatch):
    """The other one prepares its corpus first; only the case of an empty cache has one of its own."""
    calls, now, before = [], BENCHMARKS.parent, tmp_path / "before"
    (before / "src").mkdir(parents=True)

    def seconds(root, arguments, cache):
        calls.append((root, "import torch" in arguments, cache.name == "cache"))
        return (1.0 if root == before else 3.0), 4.0

    monkeypatch.setattr(start, "_seconds", seconds)
    monkeypatch.setattr(start.compileall, "compile_dir", lambda folder, quiet: None)
    monkeypatch.setattr("sys.argv", ["start.py", "--before", str(before), "--rounds", "2", "--results", str(tmp_path)])
    start.main()
    rows = started(tmp_path)
    found = [(row["case"], row["version"]) for row in rows]
    assert found == [("import torch", ""), *((case, name) for case in STARTS for name in ("before", "now"))]
    assert {(row["version"], float(row["cpu_seconds"])) for row in rows} == {("", 3), ("before", 1), ("now", 3)}
    assert {row["rounds"] for row in rows} == {"2"}
    turn = [(now, True, True)]
    turn += [(root, False, shared) for shared in (False, True, True, True) for root in (before, now)]
    assert calls == [(now, False, True), (before, False, True), *turn, *turn]


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
