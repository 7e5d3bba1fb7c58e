"""The speed benchmarks run as one command, on models of a few units and without peers."""

import argparse
import csv
import subprocess
import sys

import pytest
import start
import torch
import translate_file
import yaml
from cases import ATTENTIONS, LIMITED, LOOPS, OFFERED, SIZES, TRANSFORMER, Options
from lookback_model import Lookback, build
from products import limit as limit_of
from torch.utils.flop_counter import FlopCounterMode

from support.paths import BENCHMARKS
from support.running import CONF, TINY_DATA, TINY_MODEL, choices

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
def test_train_without_a_limit(tmp_path):
    """Where the products are not known, nothing is said of them."""
    rows = run("train.py", tmp_path, "--attentions", "coverage", TRANSFORMER, "--lengths", "4")["train"]
    names = [(row["attention"], row["system"]) for row in rows]
    assert names == [("coverage", "lookback"), ("coverage", "not fused")] + [
        (TRANSFORMER, name) for name in ("lookback", "not fused", "limit")
    ]
    assert [bool(row["of_limit"]) for row in rows] == [False, False, True, True, True]
    assert [int(row["parameters"] or 0) > 1000 for row in rows] == [True, True, True, True, False]


@pytest.mark.slow
def test_decode(tmp_path):
    length = ["--source", "4", "--steps", "6"]
    tables = run("decode.py", tmp_path, "--batches", "1", "3", "--beams", "1", "2", *length)
    tables = run(
        "decode.py", tmp_path, "--batches", "3", "--beams", "2", *length, "--attentions", "coverage", TRANSFORMER
    )
    ours = [row for row in tables["decode"] if row["system"] == "lookback"]
    assert [(row["attention"], row["batch"], row["beam"]) for row in ours] == [
        *(("bahdanau", batch, beam) for batch in "13" for beam in "12"),
        ("coverage", "3", "2"),
        (TRANSFORMER, "3", "2"),
    ]
    assert {row["same_outputs"] for row in ours} == {"1.0"}
    limits = [row["attention"] for row in tables["decode"] if row["system"] == "limit"]
    assert limits == ["bahdanau"] * 4 + [TRANSFORMER]


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


def without_input_feeding(name):
    return name.partition("-")[0]


def test_every_attention_has_a_row():
    kinds = [without_input_feeding(name) for name in ATTENTIONS]
    assert set(kinds) == {*choices("attention"), TRANSFORMER}
    assert all(set(names) < set(ATTENTIONS) for names in (*OFFERED.values(), LIMITED, LOOPS))


@pytest.mark.parametrize("name", [name for name in ATTENTIONS if name != TRANSFORMER])
def test_a_row_is_of_the_attention_of_the_configuration(name):
    """With the arguments that conf/attention gives it, and the state that asks."""
    sizes = SIZES["tiny"]
    decoder = build(sizes, name, fast=True).decoder
    config = yaml.safe_load((CONF / "attention" / f"{without_input_feeding(name)}.yaml").read_text(encoding="utf-8"))
    expected = dict(config["attention"])
    assert type(decoder.attention).__name__ == expected.pop("_target_").rpartition(".")[2]
    for argument, value in expected.items():
        if argument == "attention_size":
            continue
        if argument in ("filters", "width"):
            filters = decoder.attention.filters.weight
            assert (len(filters), filters.shape[2]) == (expected["filters"], expected["width"])
        elif argument == "positions":
            assert len(decoder.attention.from_query.weight) == value
        else:
            assert getattr(decoder.attention, argument) == value
    if name != "none":  # nobody asks
        assert decoder.query == config["query_state"]
    assert decoder.input_feeding == name.endswith("-feeding")
    assert decoder.is_written_out == (name in LOOPS)


def added_product(total, left, right, **_):
    """What the counter does not know, in shapes: a product that is added in place."""
    return 2 * left[0] * left[1] * right[1]


def attended(query, key, value, *_, **__):
    """And energies and contexts of all heads, which are taken at once."""
    batch, heads, queries, size = query
    return 2 * 2 * batch * heads * queries * key[2] * size


def attended_backward(d_context, query, key, value, *_, **__):
    """Of each of both products two gradients."""
    return 2 * attended(query, key, value)


UNKNOWN = {
    torch.ops.aten.addmm_: added_product,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: attended,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: attended_backward,
}


@pytest.mark.parametrize(("sizes", "attention"), [*(("small", attention) for attention in LIMITED), MAXOUT])
def test_the_limit_is_the_products_of_our_step(sizes, attention):
    options = Options("lookback", "train", sizes, attention, "float32", "cpu", [0], fast=False)
    looks_count = attention in ("multihead", TRANSFORMER)
    source, target = (torch.randint(4, 100, (2, length)) for length in ((30, 20) if looks_count else (8, 8)))
    limit = limit_of(options)
    limit.train(source, target)
    with FlopCounterMode(display=False, custom_mapping=UNKNOWN) as counter:
        Lookback(options).train(source, target)
    products = counter.get_flop_counts()["Global"]
    ours = sum(count for name, count in products.items() if looks_count or "bmm" not in str(name))
    assert limit.operations == pytest.approx(ours, rel=0.001 if looks_count else 0.05)


@pytest.mark.parametrize("beam", [1, 3])
def test_the_limit_is_the_products_of_a_search(beam):
    """With keys and values kept, and the source's shared by the hypotheses of a sentence."""
    options = Options("lookback", "decode", "small", TRANSFORMER, "float32", "cpu", [0])
    source = torch.randint(4, 100, (2, 9))
    ours, limit = Lookback(options), limit_of(options)
    limit.search(source, beam, 7)
    with FlopCounterMode(display=False, custom_mapping=UNKNOWN) as counter:
        ours.search(source, beam, 7)
    assert limit.operations == pytest.approx(counter.get_total_flops(), rel=0.05)


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


def written(cpu, line):
    return translate_file.Taken(cpu, 2 * cpu, [line] * 100)


def test_a_file_is_translated_in_turn(tmp_path, monkeypatch):
    """The whole file and its first line, of each system and each search, in every round."""
    source, calls = tmp_path / "source", []
    source.write_text("a b\nc\n")

    def taken(arguments, system, search, file, folder):
        calls.append((system, search, file.read_text()))
        return written(4.0 if file == source else 1.0, "x y")

    monkeypatch.setattr(translate_file, "_taken", taken)
    peers = ["--joeynmt", "python", "models", "--opennmt", "python", "model"]
    options = ["--run", "run", *peers, "--rounds", "2", "--results", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["translate_file.py", str(source), *options])
    translate_file.main()
    systems = ("lookback", "joeynmt", "opennmt")
    warm = [(system, search, "a b\n") for system in systems for search in ("greedy", "beam")]
    text = ("a b\nc\n", "a b\n")
    turn = [(system, search, of) for search in ("greedy", "beam") for system in systems for of in text]
    assert calls == warm + 2 * turn


def test_rates_with_and_without_the_start():
    """A ratio is to the peer that is faster there: with the start it may be another."""
    found = {
        "lookback": [(written(4.0, "a b c"), written(2.0, "a"))],
        "joeynmt": [(written(8.0, "a b"), written(1.0, "a"))],
        "opennmt": [(written(10.0, "a"), written(6.0, "a"))],
    }
    ours, joeynmt, opennmt = translate_file._rows("greedy", found)
    assert (ours["sentences_per_second"], ours["sentences_per_second_without_start"]) == (25.0, 50.0)
    assert (ours["words_per_second"], ours["words_per_second_without_start"]) == (75, 150)
    assert (ours["sentences_against_peers"], ours["sentences_against_peers_without_start"]) == (2.0, 2.0)
    assert (joeynmt["sentences_against_peers"], opennmt["sentences_against_peers_without_start"]) == (1.0, 1.0)
    assert ours["words_against_peers_without_start"] == pytest.approx(150 / 29, abs=0.01)


@pytest.mark.parametrize(("search", "beam"), [("greedy", "1"), ("beam", "5")])
def test_commands_are_those_that_a_user_types(tmp_path, search, beam):
    arguments = argparse.Namespace(
        run=tmp_path / "run", joeynmt=["/j/bin/python", "/m"], opennmt=["/o/bin/python", "/m/model.pt"], before=None
    )
    source, file = tmp_path / "source", tmp_path / "written"
    ours, root, _ = translate_file._command(arguments, "lookback", search, source, file)
    assert ours[1:] == ["translate.py", f"run={tmp_path}/run", f"input={source}", f"search={search}"]
    assert root == BENCHMARKS.parent
    joeynmt, _, _ = translate_file._command(arguments, "joeynmt", search, source, file)
    config = {"greedy": "/m/greedy.yaml", "beam": "/m/beam5.yaml"}[search]
    assert joeynmt == ["/j/bin/python", "-m", "joeynmt", "translate", config]
    opennmt, _, output = translate_file._command(arguments, "opennmt", search, source, file)
    assert opennmt[0] == "/o/bin/onmt_translate"
    assert opennmt[opennmt.index("-beam_size") + 1] == beam
    assert output == file
