"""evaluate.py, inside the test process."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import hydra
import pytest
import torch
from omegaconf import DictConfig
from rich.console import Console

from lookback.commands.evaluate import evaluate
from lookback.common.errors import InputError
from lookback.common.files import write_json
from lookback.common.special_tokens import BOS, EOS
from lookback.report import compare
from lookback.runs import read_run, read_runs
from lookback.search import force
from support.running import CONF, Trained, run


def config(directory: Path, *overrides: str) -> DictConfig:
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return hydra.compose("evaluate", [f"run='{directory}'", "accelerator=cpu", *overrides])


def results(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "test" / "results.json").read_text())


def test_the_same_test_set_gives_the_same_numbers(finished: Path, tmp_path: Path) -> None:
    before = (finished / "test" / "results.json").read_bytes()
    again = evaluate(config(finished, f"out='{tmp_path / 'again'}'"))
    assert {**again, "git": None} == {**results(finished), "git": None}
    for name in ("predictions.jsonl", "segments.npz"):
        assert (tmp_path / "again" / name).read_bytes() == (finished / "test" / name).read_bytes()
    assert (finished / "test" / "results.json").read_bytes() == before


def test_its_own_test_set_keeps_its_own_tokenizer(finished: Path) -> None:
    with pytest.raises(InputError, match=r"data\.bleu_tokenize=13a: expected data\.test\.source, too"):
        evaluate(config(finished, "data.bleu_tokenize=13a"))


def test_gold_alignments_of_other_text(finished: Path, tmp_path: Path) -> None:
    source, target, gold = tmp_path / "a.en", tmp_path / "a.fr", tmp_path / "a.talp"
    source.write_text("the dog sees .\nthe man sleeps near the house .\n")
    target.write_text("le chien voit .\nl' homme dort .\n")
    others = "1-1 2-2 3-3 6p3 7-4\n"
    gold.write_text(f"1-1 2-2 3p3 4-5\n{others}")
    files = (f"data.test.source='{source}'", f"data.test.target='{target}'", f"data.test.alignment='{gold}'")
    with pytest.raises(InputError, match=r"a.talp:1: 4-5 names source word 4 of 4, expected 0 to 3"):
        evaluate(config(finished, *files))
    with pytest.raises(InputError, match=r"a.talp:1: 4-5 names target word 5 of 4, expected 1 to 4"):
        evaluate(config(finished, *files, "data.alignment_base=1"))
    gold.write_text(f"1-1 2-2 3p3 4-4\n{others}")
    record = evaluate(config(finished, *files, "data.alignment_base=1", f"out='{tmp_path / 'out'}'"))
    assert record["data"] == "text"

    trained = Trained.load(finished)
    sides = [path.read_text().splitlines() for path in (source, target)]
    tokenizers = (trained.source_tokenizer, trained.target_tokenizer)
    forced = []
    for ids, outputs in zip(
        *(tokenizer.encode(texts) for tokenizer, texts in zip(tokenizers, sides, strict=True)), strict=True
    ):
        given = torch.tensor([[*ids, EOS]]), torch.tensor([len(ids) + 1]), torch.tensor([[BOS, *outputs, EOS]])
        forced += force(trained.module.model, *given)
    # (sentence, source word, target word): links are summed over both sentences, which have unlike numbers of them
    sure = {(0, 0, 0), (0, 1, 1), (0, 3, 3), (1, 0, 0), (1, 1, 1), (1, 2, 2), (1, 6, 3)}
    possible = sure | {(0, 2, 2), (1, 5, 2)}
    for shift, rows in (("shift_0", slice(0, -1)), ("shift_-1", slice(1, None))):
        looked = [each.alignment[rows, :-1].argmax(1).tolist() for each in forced]
        found = {(number, word, place) for number, words in enumerate(looked) for place, word in enumerate(words)}
        assert len(found) == 8
        assert record["aer"][shift] == pytest.approx(
            {
                "aer": 1 - (len(found & sure) + len(found & possible)) / (8 + 7),
                "precision": len(found & possible) / 8,
                "recall": len(found & sure) / 7,
            }
        )
    assert record["aer"]["sentences"] == 2
    with pytest.raises(InputError, match=r"data\.test\.alignment=.*: expected data\.test\.source, too"):
        evaluate(config(finished, f"data.test.alignment='{gold}'"))


def test_by_default_each_evaluation_has_a_directory_of_its_own(tmp_path: Path, grammar_cache: str) -> None:
    run(tmp_path, grammar_cache)
    records = [evaluate(config(tmp_path))]
    # as a longer training leaves it: what it has cost so far is not what test/results.json says
    write_json(tmp_path / "status.json", {"status": "interrupted", "reason": "SIGTERM"})
    records.append(evaluate(config(tmp_path)))
    assert len(list((tmp_path / "evaluations").glob("*/results.json"))) == 2
    assert [record["cost"]["updates"] for record in records] == [3, None]


def test_other_text_without_the_training_text(tmp_path: Path, text_files: list[str], finished: Path) -> None:
    """Files that the run never saw, in another tokenizer; its own corpus may be gone."""
    source, target = tmp_path / "other.en", tmp_path / "other.fr"
    source.write_text("the man sees the dog .\nA house!\n\n", encoding="utf-8")
    target.write_text("l' homme voit le chien .\nUne maison !\nrien\n", encoding="utf-8")
    options = (f"data.test.source='{source}'", f"data.test.target='{target}'", f"out='{tmp_path / 'out'}'")
    record = evaluate(config(finished, *options))
    own = results(finished)
    assert record["data"] == "text"
    assert "tok:13a" in record["signature"]
    assert record["data_fingerprint"] != own["data_fingerprint"]
    assert (record["attention"], record["seed"], record["cost"]) == (own["attention"], own["seed"], own["cost"])
    lines = [json.loads(line) for line in (tmp_path / "out" / "predictions.jsonl").read_text().splitlines()]
    assert [line["source_length"] for line in lines] == [6, 2, 0]


def test_another_search(finished: Path, tmp_path: Path) -> None:
    greedy = evaluate(config(finished, "search=greedy", f"out='{tmp_path / 'greedy'}'"))
    assert greedy["perplexity"] == results(finished)["perplexity"]
    assert (tmp_path / "greedy" / "predictions.jsonl").read_bytes() != (
        finished / "test" / "predictions.jsonl"
    ).read_bytes()


def test_evaluations_of_runs_on_other_text_are_compared(finished: Path, tmp_path: Path, grammar_cache: str) -> None:
    source, target = tmp_path / "other.en", tmp_path / "other.fr"
    pairs = [("the man sees the dog .", "l' homme voit le chien ."), ("a house .", "une maison .")]
    pairs.append((" ".join(["the dog sees"] * 5), " ".join(["le chien voit"] * 5)))
    for path, lines in zip((source, target), zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    run(tmp_path / "runs" / "none", grammar_cache, "attention=none")
    files = (f"data.test.source='{source}'", f"data.test.target='{target}'", "data.bleu_tokenize=none")
    shutil.copytree(finished, tmp_path / "runs" / "bahdanau")
    trained = {name: tmp_path / "runs" / name for name in ("none", "bahdanau")}
    for name, directory in trained.items():  # as the command leaves it
        (directory / ".hydra").mkdir(exist_ok=True)
        shutil.copy(directory / "test" / "config.yaml", directory / ".hydra")
        write_json(directory / ".hydra" / "hydra.yaml", {"hydra": {"runtime": {"choices": {"model": f"my_{name}"}}}})
    scored = {
        name: evaluate(config(directory, *files, "search=greedy", f"out='{tmp_path / 'scores' / name}'"))
        for name, directory in trained.items()
    }
    evaluate(config(trained["none"]))  # into the run: no run of a sweep
    assert len(read_runs([tmp_path / "runs"])) == 2
    assert len(read_runs([tmp_path / "scores" / "none"])) == 1

    found = read_runs([tmp_path / "scores"])
    compare(found, tmp_path / "out", Console(file=io.StringIO()))
    with (tmp_path / "out" / "comparison.csv").open(newline="") as file:
        table = {row["arm"]: row for row in csv.DictReader(file)}
    assert {name: float(row["bleu"]) for name, row in table.items()} == {
        name: record["bleu"] for name, record in scored.items()
    }
    assert [table["none"][f"n {bucket}"] for bucket in ("1-10", "11-20")] == ["2", "1"]
    assert (tmp_path / "out" / "differences.csv").is_file()  # counted, sentence by sentence
    for each, (name, directory) in zip(found, sorted(trained.items()), strict=True):
        before = read_run(directory)
        assert (each.arm, each.seed, each.status) == (name, before.seed, "finished")
        assert each.recipe == before.recipe == f"my_{name}"
        changed = {key for key in before.settings if each.settings.get(key) != before.settings[key]}
        assert changed <= {key for key in before.settings if key.startswith("search.")}
        assert each.settings["search._target_"] == "lookback.search.GreedySearch"


def test_an_evaluation_that_was_cut_short_is_said_and_made_again(finished: Path, tmp_path: Path) -> None:
    evaluate(config(finished, f"out='{tmp_path / 'scores' / 'whole'}'"))
    shutil.copytree(tmp_path / "scores" / "whole", tmp_path / "scores" / "half")
    (tmp_path / "scores" / "half" / "results.json").unlink()
    with pytest.raises(InputError, match=r"half: no results.json beside evaluation.yaml"):
        read_runs([tmp_path / "scores"])
    evaluate(config(finished, f"out='{tmp_path / 'scores' / 'half'}'"))
    assert len(read_runs([tmp_path / "scores"])) == 2


def test_a_run_whose_config_is_broken_is_refused_before_it_is_tested(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run" / "test" / "config.yaml").write_text("")
    with pytest.raises(InputError, match=r"test/config\.yaml"):
        evaluate(config(tmp_path / "run", f"out='{tmp_path / 'out'}'"))
    assert not (tmp_path / "out").exists()


def test_half_a_pair_of_files_is_refused(finished: Path) -> None:
    with pytest.raises(InputError, match=r"data\.test\.target=null: expected both"):
        evaluate(config(finished, "data.test.source=a.txt"))


def test_an_unknown_bleu_tokenizer_is_refused(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    (tmp_path / "b").write_text("y\n")
    files = (f"data.test.source='{tmp_path / 'a'}'", f"data.test.target='{tmp_path / 'b'}'")
    with pytest.raises(InputError, match="bleu_tokenize"):
        evaluate(config(finished, *files, "data.bleu_tokenize=14b"))


def test_results_are_never_overwritten(finished: Path) -> None:
    with pytest.raises(InputError, match="holds results already"):
        evaluate(config(finished, f"out='{finished / 'test'}'"))
