"""Whole small trainings: what Lightning is asked for happens, and what a run leaves is what it says."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from hydra.errors import InstantiationException

from lookback.commands.launch import explain
from lookback.common.errors import InputError
from lookback.common.signals import Interrupted
from lookback.data import GrammarCorpus
from lookback.evaluation import rise_in_words
from lookback.runs.checkpoint import read_checkpoint
from lookback.runs.directory import RunDirectory
from lookback.training.build import build_data, build_module
from support.running import Trained, compose, numbers, run
from support.trainings import make_stream, metrics, timeless


def validations(directory: Path, name: str) -> list[float]:
    return [float(row[name]) for row in metrics(directory) if row[name]]


def first_weights(directory: Path, *overrides: str) -> dict[str, torch.Tensor]:
    """The weights that a run starts with."""
    config = compose(directory, *overrides)
    lightning.seed_everything(config.seed, verbose=False)
    data = build_data(config)
    data.setup()
    module = build_module(config, data.source_tokenizer, data.target_tokenizer, "none")
    return {name: value.clone() for name, value in module.state_dict().items()}


def test_a_run_directory_holds_what_the_design_says(finished: Path) -> None:
    expected = {
        ".lock",
        "checkpoints/best.ckpt",
        "checkpoints/last.ckpt",
        "length_curve.pdf",
        "length_curve.png",
        "length_curve.svg",
        "length_curve.vl.json",
        "metrics.csv",
        "report.html",
        "status.json",
        "test/alignments.npz",
        "test/budgets.npz",
        "test/config.yaml",
        "test/predictions.jsonl",
        "test/results.json",
        "test/segments.npz",
        "tokenizer/source.json",
        "tokenizer/target.json",
    }
    assert {path.relative_to(finished).as_posix() for path in finished.rglob("*") if path.is_file()} == expected
    assert json.loads((finished / "status.json").read_text())["status"] == "finished"
    bleu = json.loads((finished / "test" / "results.json").read_text())["bleu"]
    assert f"bahdanau scores {bleu:.1f} BLEU." in (finished / "report.html").read_text(encoding="utf-8")


def test_a_checkpoint_is_tensors_and_plain_containers(finished: Path, grammar_cache: str) -> None:
    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(type(key) in (str, int) and plain(part) for key, part in value.items())
        if isinstance(value, (list, tuple)):
            return all(map(plain, value))
        return value is None or type(value) in (bool, int, float, str)

    for name in ("best", "last"):
        checkpoint = torch.load(finished / "checkpoints" / f"{name}.ckpt", weights_only=True)
        config = checkpoint["config"]
        assert type(config) is dict
        assert plain(config)
        assert config["label_smoothing"] == 0.1
        assert config["names"] == {"arm": "bahdanau", "attention": "bahdanau", "data": "grammar"}


def test_a_run_that_validates_every_other_epoch(tmp_path: Path, grammar_cache: str) -> None:
    run(tmp_path, grammar_cache, "trainer.max_epochs=3", "trainer.check_val_every_n_epoch=2")
    assert len(validations(tmp_path, "validation/bleu")) == 1
    assert read_checkpoint(RunDirectory(tmp_path).last)["epoch"] == 2


@pytest.mark.parametrize(
    ("monitor", "mode", "rate"), [("validation/perplexity", "min", 0.3), ("validation/bleu", "max", 1.0)]
)
def test_best_is_the_best_of_what_is_monitored(
    tmp_path: Path, grammar_cache: str, monitor: str, mode: str, rate: float
) -> None:
    # so high a rate that the metric does not only improve
    run(
        tmp_path,
        grammar_cache,
        "trainer.max_epochs=6",
        "scheduler=constant",
        f"optimizer.lr={rate}",
        "trainer.gradient_clip_val=null",
        f"callbacks.checkpoint.monitor={monitor}",
        f"callbacks.checkpoint.mode={mode}",
    )
    values = validations(tmp_path, monitor)
    assert len(values) == 6
    best = values.index(min(values) if mode == "min" else max(values))
    assert RunDirectory(tmp_path).checkpoint()["epoch"] == best
    assert read_checkpoint(RunDirectory(tmp_path).last)["epoch"] == 5
    assert best < 5


def test_early_stopping_waits_for_its_patience(tmp_path: Path, grammar_cache: str) -> None:
    record = run(
        tmp_path,
        grammar_cache,
        "callbacks=early_stopping",
        "callbacks.early_stopping.patience=2",
        "optimizer.lr=1e-12",
        "trainer.max_epochs=10",
    )
    assert len(validations(tmp_path, "validation/bleu")) == 3
    assert record["cost"]["updates"] == 9


def test_gradients_are_clipped(tmp_path: Path, grammar_cache: str) -> None:
    """A step of plain gradient descent at rate 1 is as long as the clipped gradient."""
    options = (grammar_cache, "optimizer=sgd", "scheduler=constant", "trainer.max_steps=1")
    first = first_weights(tmp_path, *options)
    for name, clip in (("clipped", "0.001"), ("free", "null")):
        run(tmp_path / name, *options, f"trainer.gradient_clip_val={clip}")
    steps = {}
    for name in ("clipped", "free"):
        last = RunDirectory(tmp_path / name).checkpoint()["state_dict"]
        steps[name] = torch.cat([(last[key] - first[key]).double().flatten() for key in first])
    assert float(steps["clipped"].norm()) == pytest.approx(1e-3, rel=1e-2)
    assert float(steps["free"].norm()) > 2e-3
    assert torch.cosine_similarity(steps["clipped"], steps["free"], dim=0) == pytest.approx(1.0, abs=1e-3)


def test_bfloat16_trains_and_keeps_float32_weights(tmp_path: Path, grammar_cache: str) -> None:
    record = run(tmp_path / "half", grammar_cache, "trainer.precision=bf16-mixed", "trainer.max_epochs=2")
    full = run(tmp_path / "full", grammar_cache, "trainer.max_epochs=2")
    assert record["perplexity"] == pytest.approx(full["perplexity"], rel=0.05)
    assert record["perplexity"] != full["perplexity"]
    checkpoint = RunDirectory(tmp_path / "half").checkpoint()
    assert {tensor.dtype for tensor in checkpoint["state_dict"].values()} == {torch.float32}


def test_tied_embeddings_stay_one_matrix(tmp_path: Path, grammar_cache: str) -> None:
    tied = run(tmp_path / "tied", grammar_cache, "decoder.tie_embeddings=true")
    free = run(tmp_path / "free", grammar_cache)
    decoder = Trained.load(tmp_path / "tied").module.model.decoder
    assert decoder.vocabulary.weight is decoder.embedding.weight
    assert free["cost"]["parameters"] - tied["cost"]["parameters"] == decoder.embedding.weight.numel()


@pytest.mark.parametrize("optimizer", ["adam", "adadelta", "sgd"])
def test_the_rate_is_the_schedules(tmp_path: Path, grammar_cache: str, optimizer: str) -> None:
    options = (
        f"optimizer={optimizer}",
        "optimizer.lr=0.125",
        "scheduler=luong",
        "scheduler.start=0.5",
        "scheduler.halvings=3",
    )
    watch = "+callbacks.rate._target_=lightning.pytorch.callbacks.LearningRateMonitor"
    run(tmp_path, grammar_cache, *options, "trainer.max_epochs=4", watch)
    (name,) = {name for row in metrics(tmp_path) for name in row if name.startswith("lr-")}
    assert validations(tmp_path, name) == [0.125] * 6 + [0.0625] * 2 + [0.03125] * 2 + [0.015625] * 2


@pytest.mark.parametrize(
    ("validated", "validations"),
    [
        (["trainer.check_val_every_n_epoch=2"], 2),
        (["trainer.check_val_every_n_epoch=null", "trainer.val_check_interval=2"], 6),
    ],
)
def test_a_plateau_is_looked_at_once_a_validation(
    tmp_path: Path, grammar_cache: str, validated: list[str], validations: int
) -> None:
    """Steps so small that nothing improves behind the first validation: each later one halves the rate."""
    still = ("optimizer=sgd", "optimizer.lr=1.0", "trainer.gradient_clip_val=1e-12")
    plateau = ("scheduler=plateau", "scheduler.patience=0", "scheduler.monitor=validation/bleu", "scheduler.mode=max")
    run(tmp_path, grammar_cache, *still, *plateau, "trainer.max_epochs=4", *validated)
    (state,) = read_checkpoint(RunDirectory(tmp_path).last)["optimizer_states"]
    assert state["param_groups"][0]["lr"] == 0.5 ** (validations - 1)


def test_the_same_seed_gives_the_same_run_and_another_does_not(tmp_path: Path, grammar_cache: str) -> None:
    one, two, other = (
        run(tmp_path / name, grammar_cache, "encoder.dropout=0.2", f"seed={seed}")
        for name, seed in (("one", 5), ("two", 5), ("other", 6))
    )
    assert numbers(one) == numbers(two)
    assert timeless(tmp_path / "one") == timeless(tmp_path / "two")
    assert one["perplexity"] != other["perplexity"]
    assert one["data_fingerprint"] == other["data_fingerprint"]


def test_a_point_of_the_training_curve_is_the_mean_of_a_token_since_the_last_point(
    tmp_path: Path, grammar_cache: str
) -> None:
    """Every other update is logged, and the last, whichever it is; a run that stops between two points is no exception.

    Batches have unequal numbers of tokens, so that a mean over batches would be another number.
    """
    options = (grammar_cache, "trainer.max_epochs=3", "trainer.max_steps=5", "label_smoothing=0.1")
    run(tmp_path / "each", *options)
    some = (*options, "trainer.log_every_n_steps=2", "callbacks.last.minutes=0")
    run(tmp_path / "some", *some)
    with pytest.raises(Interrupted):
        run(tmp_path / "parts", *some, "+callbacks.interrupt={_target_: support.running.Interrupt, update: 1}")
    run(tmp_path / "parts", *some)

    each = {int(row["step"]): row for row in metrics(tmp_path / "each") if row["train/loss"]}
    assert list(each) == [0, 1, 2, 3, 4]
    seen = [0.0, *(float(each[step]["cost/target_tokens"]) for step in each)]
    tokens = [after - before for before, after in pairwise(seen)]
    assert len(set(tokens)) > 2
    nats = [tokens[step] * float(each[step]["train/loss"]) for step in each]
    for kind in ("some", "parts"):
        points = {int(row["step"]): float(row["train/loss"]) for row in metrics(tmp_path / kind) if row["train/loss"]}
        expected = {1: (0, 1), 3: (2, 3), 4: (4,)}
        assert points == {
            last: pytest.approx(sum(nats[i] for i in steps) / sum(tokens[i] for i in steps), rel=1e-5)
            for last, steps in expected.items()
        }, kind


def test_rate_and_gradient_are_those_of_the_update(tmp_path: Path, grammar_cache: str) -> None:
    """With plain gradient descent, an unclipped step is rate times gradient."""
    options = (
        grammar_cache,
        "optimizer=sgd",
        "optimizer.lr=0.25",
        "scheduler=luong",
        "scheduler.start=0.5",
        "trainer.max_steps=1",
    )
    first = first_weights(tmp_path, *options)
    run(tmp_path / "run", *options, "trainer.gradient_clip_val=null")
    (row,) = [row for row in metrics(tmp_path / "run") if row["train/gradient_norm"]]
    last = RunDirectory(tmp_path / "run").checkpoint()["state_dict"]
    step = torch.cat([(last[key] - first[key]).double().flatten() for key in first]).norm()
    assert float(row["train/learning_rate"]) == 0.25
    assert float(step) == pytest.approx(0.25 * float(row["train/gradient_norm"]), rel=1e-4)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["trainer.max_epochs=10"], list(range(2, 30, 3))),
        (["trainer.max_steps=23", "trainer.max_epochs=-1"], [*range(1, 22, 2), 22]),
        (["trainer.max_epochs=1"], [0, 1, 2]),
        (["trainer.max_epochs=20", "trainer.limit_train_batches=2"], list(range(3, 40, 4))),
        (["trainer.max_epochs=20", "trainer.accumulate_grad_batches=2"], list(range(3, 40, 4))),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_a_training_is_validated_about_ten_times_and_at_its_end(
    tmp_path: Path, grammar_cache: str, options: list[str], expected: list[int]
) -> None:
    run(tmp_path, grammar_cache, "trainer.check_val_every_n_epoch=null", *options)
    assert [int(row["step"]) for row in metrics(tmp_path) if row["validation/bleu"]] == expected


def test_a_stream_trains_until_max_steps_and_validates_on_the_way(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_stream(monkeypatch)
    record = run(tmp_path / "run", grammar_cache, "trainer.max_steps=20", "batch.shuffle_buffer=20")
    assert record["cost"]["updates"] == 20
    steps = [int(row["step"]) for row in metrics(tmp_path / "run") if row["validation/bleu"]]
    assert len(steps) == 10
    unknown = {"pairs", "overlap", "padding_waste"}
    assert {record["training_data"][name] for name in unknown} == {None}
    assert record["training_data"]["dropped"] == {"a side without words": 9}, "of 48 pairs, read seven times"
    assert "training pairs: 39 of 48 (dropped: 9 a side without words)\n" in capsys.readouterr().err
    again = run(tmp_path / "run", grammar_cache, "trainer.max_steps=20", "batch.shuffle_buffer=20")
    assert numbers(again) == numbers(record), "it is over, and nothing is read"
    assert record["training_data"]["source_vocabulary"] > 4
    with pytest.raises(InputError, match=r"trainer\.max_steps=-1: expected 1 or more, as nobody knows how long"):
        run(tmp_path / "endless", grammar_cache)
    with pytest.raises(InputError, match=r"trainer\.val_check_interval=0\.5: expected a number of batches"):
        run(tmp_path / "share", grammar_cache, "trainer.max_steps=2", "trainer.val_check_interval=0.5")


def test_what_was_trained_on_is_in_the_results(finished: Path) -> None:
    found = json.loads((finished / "test" / "results.json").read_text())
    known = found["training_data"]
    assert known["pairs"] == 48
    assert known["dropped"] == {}
    assert known["overlap"] == {"pairs": 0, "sources": 0}
    assert known["target_tokens"] == found["cost"]["target_tokens"] / 3
    assert 0 < known["padding_waste"] < 0.5


def test_whether_it_had_stopped_improving_is_in_the_results(finished: Path) -> None:
    """Taken from metrics.csv by hand: validations behind updates 3, 6 and 9; four fifths of 9 are 7."""
    found = json.loads((finished / "test" / "results.json").read_text())["convergence"]
    bleu, perplexity = validations(finished, "validation/bleu"), validations(finished, "validation/perplexity")
    assert len(bleu) == 3
    assert (found["since_update"], found["updates"]) == (7, 9)
    assert found["validation_bleu"] == pytest.approx(bleu[2])
    assert found["rise"] == pytest.approx(bleu[2] - (bleu[1] + (bleu[2] - bleu[1]) / 3))
    assert found["validation_perplexity"] == pytest.approx(min(perplexity))


def test_a_training_says_how_much_its_last_fifth_gained(
    tmp_path: Path, grammar_cache: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = r"validation BLEU (rose by [\d.]+|fell by [\d.]+|stayed the same) in the last fifth of the training\n"
    record = run(tmp_path / "three", grammar_cache, "trainer.max_epochs=3")
    said = re.search(line, capsys.readouterr().out)
    assert said
    assert said[1] == rise_in_words(record["convergence"]["rise"])
    record = run(tmp_path / "one", grammar_cache)
    assert record["convergence"]["rise"] is None, "its one validation is its last"
    assert not re.search(line, capsys.readouterr().out)


def test_a_run_that_max_steps_ends_inside_an_epoch_is_validated_there(tmp_path: Path, grammar_cache: str) -> None:
    run(tmp_path, grammar_cache, "trainer.max_epochs=5", "trainer.max_steps=4")
    assert [row["step"] for row in metrics(tmp_path) if row["validation/bleu"]] == ["2", "3"]
    found = RunDirectory(tmp_path)
    assert read_checkpoint(found.last)["global_step"] == 4
    assert found.checkpoint()["global_step"] in (3, 4)


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("unknown_words=copyy", r"unknown_words=copyy: no such file"),
        ("trainer.max_steps=-1", r"trainer\.max_steps=-1: expected 1 or more, as nobody knows how long a stream is"),
        ("trainer.val_check_interval=0.5", r"trainer\.val_check_interval=0\.5: expected a number of batches"),
        ("decoder.embedding_size=10", r"encoder\.embedding_size=8 and decoder\.embedding_size=10"),
        ("label_smoothing=-1", r"label_smoothing=-1: expected"),
        (
            "loss.normalize=sentence",
            r"^loss\.normalize=sentence: expected one of .*; did you mean sentences\?$",
        ),
        ("search.beam_size=0", r"^search\.beam_size=0"),
        ("optimizer.lr=-1", r"^optimizer\.lr=-1: expected a number over 0"),
        ("learning_rate=fast", r"^learning_rate=fast: expected a number over 0"),
        ("learning_rate=0", r"^learning_rate=0: expected a number over 0"),
        ("learning_rate=nan", r"^learning_rate=nan: expected a number over 0"),
        ("scheduler.warmup_updates=-1", r"^scheduler\.warmup_updates=-1: expected a whole number, 0 or more"),
    ],
)
def test_a_setting_is_refused_before_the_text_is_read(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch, override: str, named: str
) -> None:
    def read(corpus: GrammarCorpus, split: str) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(GrammarCorpus, "load", read)
    monkeypatch.setattr(GrammarCorpus, "streaming", True)
    options = (grammar_cache, "tokenizer.joint=true", "trainer.max_steps=8")
    with pytest.raises(AssertionError, match="read"):
        run(tmp_path, *options)
    with pytest.raises((InputError, InstantiationException)) as caught:
        run(tmp_path, *options, override)
    assert re.search(named, explain(caught.value) or "")
    assert "failed" in (tmp_path / "status.json").read_text()


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("batch.unit=words", r"^batch\.unit=words: expected one of sentences, tokens"),
        ("optimizer.weight_decay=-1", r"^optimizer\.weight_decay=-1: expected a number, 0 to 1,000"),
        ("label_smoothing=-1", r"label_smoothing=-1: expected"),
        ("seed=one", r"seed=one: expected a whole number"),
        ("seed=-1", r"seed=-1: expected a whole number"),
        ("trainer.max_epochs=-1", r"trainer\.max_epochs=-1: expected an end of the training"),
        ("matmul_precision=low", r"^matmul_precision=low: expected one of highest, high, medium"),
        ("trainer.precision=bf16-true", r"^trainer\.precision=bf16-true: expected one of 32-true, bf16-mixed"),
        ("initialization.deviation=-1", r"initialization"),
        ("tokenizer.vocabulary_size=4", r"vocabulary_size=4: expected a whole number, more"),
        ("validation_sentences=0", r"validation_sentences=0: expected a whole number, 1 or more"),
        ("batch.size=1.5", r"^batch\.size=1\.5: expected a whole number"),
        ("batch.size=true", r"^batch\.size=true: expected a whole number, 1 or more"),
        ("batch.evaluation_size=0", r"^batch\.evaluation_size=0: expected a whole number, 1 or more"),
        ("batch.shuffle_buffer=null", r"^batch\.shuffle_buffer=null: expected a whole number, 1 or more"),
        ("trainer.devices=0", r"^trainer\.devices=0: expected a whole number, 1 or more"),
        ("trainer.max_epochs=0", r"^trainer\.max_epochs=0: expected a whole number, 1 or more"),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_recorded(
    tmp_path: Path, grammar_cache: str, override: str, named: str
) -> None:
    with pytest.raises((InputError, InstantiationException)) as caught:
        run(tmp_path, grammar_cache, override)
    assert re.search(named, explain(caught.value) or "")
    status = json.loads((tmp_path / "status.json").read_text())
    assert status["status"] == "failed"
    assert "\n" not in status["reason"]
