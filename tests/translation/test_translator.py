"""A trained run from Python: the same translations, scores and links as the commands give."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import lookback
from lookback.common.errors import InputError
from lookback.common.special_tokens import BOS, EOS
from lookback.runs import read_predictions
from lookback.search import BeamSearch
from lookback.translation import Translator
from support.running import run, translated

LINES = ["the man sees the dog .", "", "he sleeps .", "   ", "a zebra quacks", "the old man often sees the small dog ."]


@pytest.fixture(scope="module")
def model(finished: Path) -> Translator:
    return lookback.load(finished, device="cpu")


def test_it_writes_what_the_command_writes(
    model: Translator, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "input.txt"
    path.write_text("\n".join(LINES) + "\n")
    options = ["search.n_best=3", "scores=true", "alignments=true", "warnings=false"]
    printed = translated(capsys, finished, path, *options)
    found = [
        f"{number} ||| {one.text} ||| {one.score:.4f} ||| {' '.join(f'{i}-{j}' for i, j in one.links)}"
        for number, several in enumerate(model.n_best(LINES, n_best=3))
        for one in several
    ]
    assert found == printed
    assert [one.text for one in model.translate(LINES)] == [several[0].text for several in model.n_best(LINES)]


def test_a_translation_says_what_it_was_made_of(model: Translator) -> None:
    for line, found in zip(LINES, model.translate(LINES), strict=True):
        assert found.source == line
        assert found.weights.shape == (len(found.target_tokens), len(found.source_tokens))
        if not line.split():
            assert (found.text, found.source_tokens, found.links) == ("", [], [])
            continue
        np.testing.assert_allclose(found.weights.sum(1), 1, atol=1e-5)
        assert found.source_tokens[-1] == "</s>"
        assert (found.target_tokens[-1] == "</s>") != found.truncated
        assert found.log_probability == pytest.approx(found.score * len(found.target_tokens), rel=1e-6)


def test_a_score_is_the_mean_log_probability_of_the_words_taken_one_by_one(model: Translator) -> None:
    sources = ["the man sees the dog .", "he sleeps .", "a zebra quacks"]
    targets = ["l' homme voit le chien .", "il dort .", "il ne dort pas ."]
    network = model.model
    for source, target, score in zip(sources, targets, model.score(sources, targets), strict=True):
        ids = torch.tensor([[*model.source_tokenizer.encode([source])[0], EOS]])
        state, word, total = network.start(network.encode(ids, torch.tensor([ids.shape[1]]))), BOS, 0.0
        following = [*model.target_tokenizer.encode([target])[0], EOS]
        for token in following:
            state, vector, _ = network.step(state, torch.tensor([[word]]))
            total += torch.log_softmax(network.logits(vector)[0, 0].double(), dim=-1)[token].item()
            word = token
        assert score == pytest.approx(total / len(following), abs=1e-5)


def test_a_pair_with_a_side_without_words_has_no_score_and_no_links(model: Translator) -> None:
    sources, targets = ["he sleeps .", "", "he sleeps ."], ["il dort .", "il dort .", " "]
    (score, *none), (links, *empty) = model.score(sources, targets), model.align(sources, targets)
    assert score is not None
    assert none == [None, None]
    assert sorted(target for _, target in links) == [0, 1, 2]
    assert empty == [[], []]


def test_how_many_are_asked_for_at_once_changes_nothing(model: Translator, finished: Path) -> None:
    predictions = read_predictions(finished / "test" / "predictions.jsonl")
    sources, targets = [one.source for one in predictions] * 4, [one.reference for one in predictions] * 4
    assert len(sources) > 64  # more than are translated together
    together = model.score(sources, targets)
    assert together == pytest.approx(
        [model.score([s], [t])[0] for s, t in zip(sources, targets, strict=True)], abs=1e-5
    )
    links = model.align(sources, targets)
    assert links[: len(predictions)] == links[len(predictions) : 2 * len(predictions)]
    found = model.search(sources, BeamSearch(beam_size=2))
    assert [one[0].tokens for one in found] == [one[0].tokens for one in found[: len(predictions)]] * 4


def test_nothing_gives_nothing(model: Translator) -> None:
    assert model.translate([]) == model.score([], []) == model.align([], []) == []


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda model: model.translate("he sleeps ."), r"texts='he sleeps \.': expected a list of texts"),
        (lambda model: model.translate(["he sleeps .", None]), r"texts\[1\]=None: expected a text"),
        (lambda model: model.score(["a", "b"], ["c"]), r"len\(targets\)=1: expected 2, one for each source"),
        (lambda model: model.align("a", ["c"]), "sources='a': expected a list of texts"),
        (lambda model: model.translate(["a"], beam_size=0), "beam_size=0: expected a whole number, 1 to 2,000"),
        (lambda model: model.n_best(["a"], beam_size=2, n_best=3), "n_best=3: expected 1 to beam_size=2"),
    ],
)
def test_what_cannot_be_is_refused_by_name(model: Translator, ask, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ask(model)


def test_a_heat_map_has_a_cell_a_token(model: Translator, tmp_path: Path) -> None:
    (found,) = model.translate(["he sleeps ."])
    found.plot().save(tmp_path / "look.svg")
    picture = (tmp_path / "look.svg").read_text()
    for token in ("he", "sleeps"):
        assert f">{token}<" in picture


def test_a_model_that_looks_nowhere_has_no_links(tmp_path: Path, grammar_cache: str) -> None:
    run(tmp_path, grammar_cache, "attention=none")
    model = lookback.load(tmp_path, device="cpu")
    assert not model.looks_back
    with pytest.raises(InputError, match="attention=none, which looks at the source as a whole and has no alignment"):
        model.align(["he sleeps ."], ["il dort ."])
    assert model.translate(["he sleeps ."])[0].weights.shape[1] == 4


def damaged(finished: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    path = run / "checkpoints" / "best.ckpt"
    checkpoint = torch.load(path, weights_only=True)
    changed = change(checkpoint)
    torch.save(checkpoint if changed is None else changed, path)
    return run


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: [1, 2], "no config in it; expected a checkpoint that a training of lookback wrote"),
        (lambda found: (found.pop("state_dict"), found)[1], "no state_dict in it"),
        (lambda found: (found["state_dict"].pop("model.decoder.vocabulary.bias"), None)[1], "not those of its config"),
        (
            lambda found: (found["state_dict"]["model.decoder.vocabulary.bias"].fill_(float("nan")), None)[1],
            "decoder.vocabulary.bias holds values that are not finite: this training diverged",
        ),
    ],
)
def test_a_checkpoint_that_cannot_translate_is_refused_in_one_line(
    finished: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    """A search of weights that are NaN finds nothing, and would lose every line in silence."""
    with pytest.raises(InputError, match=said) as caught:
        lookback.load(damaged(finished, tmp_path, change), device="cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("precision", ["bf16", "16-mixed", None])
def test_an_unknown_precision_is_refused(finished: Path, precision: Any) -> None:
    """It would search in float32 without a word."""
    with pytest.raises(ValueError, match=r"precision=.*: expected 32-true or bf16-mixed"):
        Translator.load(finished, device="cpu", precision=precision)


def test_a_search_in_bfloat16_keeps_few_compiled_products(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
    for name in names:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    Translator.load(finished, device="cpu")
    assert not set(names) & os.environ.keys()
    Translator.load(finished, device="cpu", precision="bf16-mixed")
    assert {os.environ[name] for name in names} == {"64"}
