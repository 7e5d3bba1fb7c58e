"""The doctor examines whole runs, on their own test set and on other text."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from lookback.common.configs import build
from lookback.common.errors import InputError
from lookback.search import Hypothesis, LengthRule
from lookback.translation import Translator
from lookback.translation.doctor import CHECKS, Finding, doctor
from lookback.translation.doctor.text import Pair, decoding, overlap, unknown_words

SENTENCES = 3


@pytest.fixture(scope="module")
def trained(finished: Path) -> Translator:
    return Translator.load(finished, "cpu")


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    found = {finding.check: finding for finding in findings}
    assert len(found) == len(findings)
    return found


def faults(findings: list[Finding]) -> set[str]:
    return {finding.check for finding in findings if finding.verdict == "fault"}


def changed(run: Path, copy: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A copy of a run with another checkpoint."""
    shutil.copytree(run, copy)
    path = copy / "checkpoints" / "best.ckpt"
    checkpoint = torch.load(path, weights_only=True)
    change(checkpoint)
    torch.save(checkpoint, path)
    return copy


def with_attention(run: Path, copy: Path, name: str) -> Path:
    return changed(run, copy, lambda found: found["config"]["attention"].update(_target_=f"support.faulty.{name}"))


def examined(run: Path, copy: Path, name: str) -> list[Finding]:
    """What is found of a copy of a run that has one of the faulty attentions, a class of the user's own."""
    return doctor(with_attention(run, copy, name), sentences=SENTENCES, trust=f"support.faulty.{name}")


def files(folder: Path, sources: list[str], targets: list[str]) -> tuple[Path, Path]:
    paths = folder / "text.source", folder / "text.target"
    for path, lines in zip(paths, (sources, targets), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths


def test_a_sound_run_has_no_fault(finished: Path) -> None:
    findings = doctor(finished, sentences=SENTENCES)
    found = by_name(findings)
    assert faults(findings) == set()
    assert "skipped" not in {finding.verdict for finding in findings}
    assert found["loading"].measured == found["same as in its test"].measured == 0
    assert {found[name].limit for name in ("padding", "steps", "forced scores")} == {1e-8}
    assert found.keys() > CHECKS.keys()


def test_a_part_that_is_not_saved_is_found(finished: Path, tmp_path: Path) -> None:
    found = examined(finished, tmp_path / "run", "Unsaved")
    assert faults(found) == {"loading", "same as in its test"}


def test_another_model_than_the_one_of_the_test_is_found(finished: Path, tmp_path: Path) -> None:
    def negate(checkpoint: dict[str, Any]) -> None:
        checkpoint["state_dict"]["model.decoder.vocabulary.bias"].neg_().mul_(3)

    assert faults(doctor(changed(finished, tmp_path / "run", negate), sentences=SENTENCES)) == {"same as in its test"}


def test_an_attention_that_does_nothing_is_a_warning(finished: Path, tmp_path: Path) -> None:
    found = by_name(examined(finished, tmp_path / "run", "Collapsed"))
    assert found["attention on one word"].verdict == "warning"
    assert found["attention on one word"].measured == 1


def test_a_class_of_the_users_own_that_raises_is_a_fault(finished: Path, tmp_path: Path) -> None:
    found = examined(finished, tmp_path / "run", "Raising")
    assert faults(found) >= {"batch size", "search in batches"}
    assert any("the model raised" in finding.explanation for finding in found)


def test_a_network_that_refuses_float64_is_examined_in_float32(finished: Path, tmp_path: Path) -> None:
    found = examined(finished, tmp_path / "run", "InFloat32")
    assert faults(found) == set()
    assert by_name(found)["steps"].limit == 1e-3


def test_without_attention_its_health_is_not_asked(finished: Path, tmp_path: Path) -> None:
    def forget(checkpoint: dict[str, Any]) -> None:
        checkpoint["config"]["attention"] = {"_target_": "lookback.nn.FixedContext"}
        checkpoint["config"]["names"]["attention"] = "none"
        for name in [name for name in checkpoint["state_dict"] if ".attention." in name]:
            del checkpoint["state_dict"][name]

    found = doctor(changed(finished, tmp_path / "run", forget), sentences=SENTENCES)
    skipped = [finding for finding in found if finding.verdict == "skipped"]
    assert len(skipped) == 4
    assert all("attention=none, which looks at the source as a whole" in finding.explanation for finding in skipped)
    assert faults(found) == {"same as in its test"}  # this one was trained with an attention


def test_a_test_set_that_was_trained_on_is_found(trained: Translator) -> None:
    train = build(trained.config.data).load("train")
    pairs = [Pair(row["source"], row["target"]) for row in train.select(range(20))]
    both, sources = overlap(trained, pairs)
    assert (both.verdict, both.measured, sources.measured) == ("fault", 1, 1)
    both, sources = overlap(trained, [pair._replace(target="le chien dort .") for pair in pairs])
    assert (both.verdict, both.measured, sources.verdict) == ("ok", 0, "warning")
    both, _ = overlap(trained, [*pairs[:2], *(Pair(f"no {number}", "non") for number in range(8))])
    assert (both.verdict, both.measured) == ("warning", 0.2)


def test_a_training_split_that_cannot_be_read_is_said(trained: Translator, tmp_path: Path) -> None:
    split = {"source": str(tmp_path / "gone.en"), "target": str(tmp_path / "gone.fr")}
    text = {
        "_target_": "lookback.data.TextCorpus",
        **dict.fromkeys(("train", "validation", "test"), split),
        "train_max_length": None,
        "bleu_tokenize": "none",
        "limit": None,
    }
    for corpus, said in ((text, "gone.en: no such file"), ({**text, "renamed": 1}, "renamed")):  # an earlier version's
        elsewhere = SimpleNamespace(config=OmegaConf.create({"data": corpus}))
        for finding in overlap(elsewhere, [Pair("a", "b")]):
            assert finding.verdict == "skipped"
            assert said in finding.explanation


def test_words_that_the_model_does_not_know_are_a_warning(trained: Translator) -> None:
    found = unknown_words("source", trained.source_tokenizer, ["xyzzy plugh the dog .", "plover sleeps ."])
    assert found.verdict == "warning"
    assert (found.measured, found.limit) == (3 / 8, 0.1)
    assert "3 of 8 source words are unknown to this model (xyzzy, plugh, plover)" in found.explanation
    assert unknown_words("source", trained.source_tokenizer, ["the dog sleeps ."]).verdict == "ok"


class Fixed:
    """A search that finds what it is told: of every second sentence nothing, of the others what the limit cut off."""

    n_best, rule = 1, LengthRule()

    def __call__(self, network: Any, source: torch.Tensor, lengths: torch.Tensor) -> list[list[Hypothesis]]:
        tokens = [[4, 5] if row % 2 else [] for row in range(len(source))]
        return [[Hypothesis(ids, -1.0, -1.0, torch.ones(len(ids), 1), truncated=bool(ids))] for ids in tokens]


def test_translations_without_end_or_words_are_a_warning(trained: Translator) -> None:
    endless, empty = decoding(trained, Fixed(), [Pair("the dog sleeps .", "le chien dort .")] * 10)
    assert (endless.verdict, endless.measured) == (empty.verdict, empty.measured) == ("warning", 0.5)


def test_bad_input_is_one_line(finished: Path, tmp_path: Path) -> None:
    source, target = files(tmp_path, ["", " "], ["x", "y"])
    with pytest.raises(InputError, match="target=null: expected both source and target"):
        doctor(finished, source)
    with pytest.raises(InputError, match=r"text.source: no pair of it has words on both sides"):
        doctor(finished, source, target)
    with pytest.raises(ValueError, match="sentences=0: expected a whole number, 1 or more"):
        doctor(finished, sentences=0)
    copy = shutil.copytree(finished, tmp_path / "run")
    (copy / "test" / "predictions.jsonl").unlink()
    with pytest.raises(InputError, match=r"source=null: expected source and target, because .* has no"):
        doctor(copy)
