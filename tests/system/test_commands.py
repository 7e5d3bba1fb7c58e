"""The commands as a user types them."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.running import PROJECT, TINY_DATA, TINY_MODEL, TINY_TRAINING, choices, numbers

TINY = [*TINY_DATA, *TINY_MODEL, *TINY_TRAINING]
LINES = "the man sees the dog .\n\nhe sleeps .\n"

Command = Start = Callable[..., Any]


def results(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "test" / "results.json").read_text())


def test_help_answers_without_torch(command: Command) -> None:
    started = time.perf_counter()
    done = command("train", "--help", PYTHONPROFILEIMPORTTIME="1")
    print(f"train.py --help: {time.perf_counter() - started:.2f} s, imports timed")
    assert done.status == 0
    assert f"attention: {', '.join(choices('attention'))}" in done.out
    imported = {line.rpartition("|")[2].strip() for line in done.err.splitlines()}
    assert "hydra" in imported
    assert not imported & {"torch", "lightning", "datasets", "numpy", "pandas", "wandb", "altair"}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("train", "seeed=3"), "seeed: Key 'seeed' is not in struct; did you mean seed?"),
        (("train", "attention=bahdanu"), "did you mean bahdanau?"),
        (("train", "decoder.hiden_size=3"), "did you mean hidden_size?"),
        (("train", "-m", "attention=none,bahdanu"), "did you mean bahdanau?"),
        (("train", "decoder.fast=flase"), "decoder.fast=flase: expected true or false"),
        (("train", "resume=nowhere"), "resume=nowhere: no .hydra there"),
        (("evaluate",), "run: Missing mandatory value: run"),
        (("evaluate", "run=nowhere"), "run=nowhere: no such directory"),
        (("evaluate", "run=.", "search=bean"), "did you mean beam?"),
        (("translate", "run=nowhere"), "run=nowhere: no such directory"),
        (("translate", "run=.", "alignment=true"), "did you mean alignments?"),
        (("align", "run=."), "source: Missing mandatory value: source"),
        (("align", "run=.", "source=nowhere", "target=nowhere"), "nowhere: no such file"),
        (("align", "run=.", "sorce=nowhere"), "did you mean source?"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(command: Command, typed: tuple[str, ...], said: str) -> None:
    done = command(*typed)
    assert done.status == 2
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith("error: ")
    assert said in done.err
    assert done.out == ""


def test_a_mistake_found_late_is_one_line_too(command: Command, grammar_cache: str, tmp_path: Path) -> None:
    done = command("train", *TINY, grammar_cache, "attention=dot", "decoder.hidden_size=10", "hydra.run.dir=run")
    assert done.status == 2
    errors = [line for line in done.err.splitlines() if not line.endswith(" …")]  # what was begun before
    assert len(errors) == 1, done.err
    assert "query_size=10" in errors[0]
    assert "memory_size=12" in errors[0]
    status = json.loads((tmp_path / "run" / "status.json").read_text())
    assert status["status"] == "failed"
    assert "query_size=10" in status["reason"]


def test_two_runs_at_once_have_two_directories(start: Start, tmp_path: Path, grammar_cache: str, trained: Path) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    line = ("train", *TINY, grammar_cache)
    with start(*line, **pipes) as one, start(*line, **pipes) as other:
        for process in (one, other):
            text = process.communicate()[0].decode()
            assert process.returncode == 0, text
    first, second = tmp_path.glob("outputs/*/*")
    assert numbers(results(first)) == numbers(results(second))


def test_evaluate_repeats_the_results(command: Command, trained: Path, tmp_path: Path) -> None:
    done = command("evaluate", f"run='{trained}'", f"out='{tmp_path / 'again'}'")
    assert done.status == 0, done.err
    again = json.loads((tmp_path / "again" / "results.json").read_text())
    own = results(trained)
    assert {**again, "git": None} == {**own, "git": None}


def test_evaluate_scores_files(command: Command, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("he sleeps .\nthe dog .\n")
    (tmp_path / "a.fr").write_text("il dort .\nle chien .\n")
    done = command("evaluate", f"run='{trained}'", "data.test.source=a.en", "data.test.target=a.fr", "out=scores")
    assert done.status == 0, done.err
    assert json.loads((tmp_path / "scores" / "results.json").read_text())["by_length"][0]["n"] == 2


def test_translate_keeps_lines_in_a_pipe(command: Command, trained: Path) -> None:
    done = command("translate", f"run='{trained}'", stdin=LINES)
    assert done.status == 0, done.err
    lines = done.out.split("\n")
    assert len(lines) == 4
    assert lines[0]
    assert (lines[1], lines[3]) == ("", "")
    assert done.err.startswith("warning: 1 of 6 words of line 1 are unknown to this model: ")
    assert done.err.count("\n") == 1
    assert command("translate", f"run='{trained}'", "warnings=false", stdin=LINES).err == ""
    nothing = command("translate", f"run='{trained}'", stdin="")
    assert (nothing.status, nothing.out, nothing.err) == (0, "", "")


def test_translate_refuses_what_is_not_utf_8(command: Command, trained: Path) -> None:
    done = command("translate", f"run='{trained}'", stdin=b"he sleeps .\nb\xffd\n")
    assert done.status == 2
    assert done.out.count("\n") == 1
    assert done.err == "error: standard input:2: not UTF-8 at byte 2 of the line\n"


def test_translate_answers_a_line_before_the_pipe_closes(start: Start, trained: Path) -> None:
    with start("translate", f"run='{trained}'", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for text in (b"he sleeps .\n", b"\n", b"the dog .\n"):
            process.stdin.write(text)
            process.stdin.flush()
            assert process.stdout.readline().endswith(b"\n")
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


def test_align_prints_links_and_scores_them_apart(command: Command, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("the dog sleeps .\n\nhe .\n")
    (tmp_path / "a.fr").write_text("le chien dort .\nrien\nil .\n")
    (tmp_path / "gold").write_text("0-0 1-1 2p2 3-3\n\n0-0 1-1\n")
    done = command("align", f"run='{trained}'", "source=a.en", "target=a.fr", "gold=gold")
    assert done.status == 0, done.err
    first, second, third, end = done.out.split("\n")
    assert sorted(link.split("-")[1] for link in first.split()) == ["0", "1", "2", "3"]
    assert (len(third.split()), second, end) == (2, "", "")
    assert [line.split()[:2] for line in done.err.splitlines()[:3]] == [["links", "shift"], ["run", "0"], ["run", "-1"]]
    assert done.err.splitlines()[3:] == ["2 sentence pairs with gold links"]


@pytest.mark.parametrize("script", ["align", "translate"])
def test_other_commands_help_without_torch(command: Command, script: str) -> None:
    done = command(script, "--help", PYTHONPROFILEIMPORTTIME="1")
    assert done.status == 0
    imported = {line.rpartition("|")[2].strip() for line in done.err.splitlines()}
    assert "hydra" in imported
    assert not imported & {"torch", "lightning", "datasets", "numpy"}


@pytest.mark.skipif(os.name == "nt", reason="pipes close otherwise on Windows")
def test_translate_ends_quietly_when_nobody_reads_on(start: Start, trained: Path) -> None:
    """As in `yes | python translate.py run=DIR | head -1`: the input has no end."""
    with subprocess.Popen(["yes", "he sleeps ."], stdout=subprocess.PIPE) as yes:
        pipes = {"stdin": yes.stdout, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with start("translate", f"run='{trained}'", "batch_size=4", **pipes) as process:
            assert process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait() == 1
        yes.kill()


def test_a_killed_run_goes_on_with_resume(command: Command, tmp_path: Path, grammar_cache: str) -> None:
    options = [*TINY, grammar_cache, "trainer.max_epochs=3", "encoder.dropout=0.2"]
    whole = command("train", *options, "hydra.run.dir=whole")
    assert whole.status == 0, whole.err
    tests = os.pathsep.join(filter(None, [str(PROJECT / "tests"), os.environ.get("PYTHONPATH")]))
    stop = "+callbacks.interrupt={_target_: support.running.Interrupt, update: 5}"
    stopped = command("train", *options, stop, "hydra.run.dir=parts", PYTHONPATH=tests)
    assert stopped.status == 130
    assert "Traceback" not in stopped.err
    typed = ("resume=parts", grammar_cache, "trust=support.running.Interrupt", "~callbacks.interrupt")
    resumed = command("train", *typed, PYTHONPATH=tests)
    assert resumed.status == 0, resumed.err
    assert "going on from" in resumed.out
    assert numbers(results(tmp_path / "parts")) == numbers(results(tmp_path / "whole"))


@pytest.mark.slow
def test_a_sweep_goes_on_past_a_failure_and_compares(command: Command, tmp_path: Path, grammar_cache: str) -> None:
    sweep = [*TINY, grammar_cache, "decoder.hidden_size=10", "hydra.sweep.dir=sweep"]
    done = command("train", "-m", *sweep, "attention=dot,none,bahdanau")
    assert done.status == 1
    assert "Traceback" not in done.err
    assert "query_size=10" in done.out + done.err
    table = (tmp_path / "sweep" / "comparison.csv").read_text().splitlines()
    assert len(table) == 4
    assert sum("failed" in row for row in table) == 1
    arms = {results(path.parents[1])["arm"]: path.parents[1] for path in tmp_path.glob("sweep/*/test/results.json")}
    assert set(arms) == {"none", "bahdanau"}
    for name in ("length_curve.svg", "length_curve.png", "length_curve.vl.json"):
        assert (tmp_path / "sweep" / name).stat().st_size > 0

    options = [*TINY, grammar_cache, "decoder.hidden_size=10", "attention=bahdanau"]
    alone = command("train", *options, "hydra.run.dir=alone")
    assert alone.status == 0, alone.err
    assert numbers(results(tmp_path / "alone")) == numbers(results(arms["bahdanau"]))


@pytest.mark.slow
def test_a_sweep_gives_every_job_its_own_tracking(command: Command, tmp_path: Path, grammar_cache: str) -> None:
    done = command("train", "-m", *TINY, grammar_cache, "logger=wandb", "hydra.sweep.dir=sweep", "seed=1,2")
    assert done.status == 0, done.err
    runs = [sorted(folder.glob("offline-run-*")) for folder in tmp_path.glob("sweep/*/wandb")]
    assert [len(found) for found in runs] == [1, 1]
    assert not list(tmp_path.glob("wandb"))


@pytest.mark.slow
def test_the_smoke_experiment(command: Command, tmp_path: Path, grammar_cache: str) -> None:
    done = command("train", "experiment=smoke", grammar_cache, "hydra.run.dir=smoke", WANDB_MODE="offline")
    assert done.status == 0, done.err
    record = results(tmp_path / "smoke")
    print(f"smoke: BLEU {record['bleu']:.2f}, perplexity {record['perplexity']:.2f}, {record['cost']}")
    assert record["perplexity"] < 60


def test_a_refused_resume_leaves_the_run_as_it_is(command: Command, grammar_cache: str, tmp_path: Path) -> None:
    assert command("train", *TINY, grammar_cache, "hydra.run.dir=run").status == 0
    run = tmp_path / "run"
    before = {path: path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file() and path.suffix != ".log"}
    done = command("train", "resume=run", grammar_cache, "tokenizer.vocabulary_size=20")
    assert done.status == 2
    assert "which cannot go on with tokenizer.vocabulary_size=20" in done.err
    after = {path: path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file() and path.suffix != ".log"}
    assert after == before
