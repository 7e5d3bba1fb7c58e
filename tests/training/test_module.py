"""What the module reports, counted again from outside."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import sacrebleu
import torch
from omegaconf import OmegaConf
from torch import Tensor

from lookback.common.special_tokens import PAD
from lookback.data import TranslationData
from lookback.nn import TokenLoss
from lookback.runs.checkpoint import read_checkpoint
from lookback.runs.directory import RunDirectory
from lookback.search import GreedySearch
from lookback.search.forced import score
from lookback.training.build import build_data, build_module
from lookback.training.module import TranslationModule
from support.running import Trained


@pytest.fixture(scope="module")
def last(finished: Path) -> tuple[TranslationModule, TranslationData]:
    """The module as it was at its last validation, and its data."""
    trained, run = Trained.load(finished), RunDirectory(finished)
    data = build_data(trained.config, None, trained.source_tokenizer, trained.target_tokenizer)
    data.setup()
    checkpoint = read_checkpoint(run.last)
    module = build_module(
        OmegaConf.create(checkpoint["config"]),
        trained.source_tokenizer,
        trained.target_tokenizer,
        "none",
    )
    module.load_state_dict(checkpoint["state_dict"])
    return module.eval(), data


def perplexity(module: TranslationModule, batches: object) -> float:
    """exp of the teacher-forced, unsmoothed negative log-likelihood a target token, in float64."""
    nll, tokens = 0.0, 0
    with torch.no_grad():
        for batch in batches:
            scores, _ = score(module.model, batch.source, batch.source_length, batch.target)
            nll -= float(scores.double().sum())
            tokens += int((batch.outputs != PAD).sum())
    return math.exp(nll / tokens)


def test_no_batch_has_its_words_counted_on_the_device(
    last: tuple[TranslationModule, TranslationData], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, data = last
    told = []

    def forward(
        source: Tensor, lengths: Tensor, target: Tensor, smoothing: float, tokens: int | None, *_: float
    ) -> TokenLoss:
        told.append((tokens, int((target[:, 1:] != PAD).sum())))
        return TokenLoss(torch.zeros(()), torch.zeros(()), 1, torch.zeros(()))

    monkeypatch.setattr(module.model, "forward", forward)
    monkeypatch.setattr(module, "_end_curve_point", lambda: None)  # of the training curve: nobody trains here
    for batch in data.train_dataloader():
        module.training_step(batch, 0)
    assert len(told) > 1
    assert all(tokens == real for tokens, real in told)


def test_perplexity_is_unsmoothed_and_per_token(
    finished: Path, last: tuple[TranslationModule, TranslationData], last_row: dict[str, str]
) -> None:
    """The run trains with label smoothing and dropout; its perplexity knows neither.

    It is validated in three batches, of unlike lengths: no mean over them is the mean over tokens.
    """
    module, data = last
    assert module.label_smoothing == 0.1
    batches = list(data.val_dataloader())
    expected = perplexity(module, batches)
    assert [len(batch) for batch in batches] == [5, 5, 2]
    of_batches = math.exp(sum(math.log(perplexity(module, [batch])) for batch in batches) / len(batches))
    assert of_batches != pytest.approx(expected, rel=1e-3), "the fixture cannot show the fault"
    assert float(last_row["validation/perplexity"]) == pytest.approx(expected, rel=1e-5)
    assert float(last_row["validation/loss"]) == pytest.approx(math.log(expected), rel=1e-5)


def test_validation_bleu_is_sacrebleus_of_a_fixed_sample(
    last: tuple[TranslationModule, TranslationData], last_row: dict[str, str]
) -> None:
    module, data = last
    hypotheses, rule = {}, module.search.rule
    search = GreedySearch(rule.limit_factor, rule.limit_extra)
    for batch in data.val_dataloader():
        found = search(module.model, batch.source, batch.source_length)
        for i, (best,) in zip(batch.ids.tolist(), found, strict=True):
            hypotheses[i] = module.target_tokenizer.decode(best.tokens)
    first = range(module.validation_sentences)
    references = [data.texts("validation")[i]["target"] for i in first]
    expected = sacrebleu.corpus_bleu([hypotheses[i] for i in first], [references], tokenize="none", force=True).score
    assert float(last_row["validation/bleu"]) == pytest.approx(expected, abs=1e-3)


def test_results_are_those_of_the_best_checkpoint(finished: Path) -> None:
    trained = Trained.load(finished)
    data = build_data(trained.config, None, trained.source_tokenizer, trained.target_tokenizer)
    data.setup("test")
    results = json.loads((finished / "test" / "results.json").read_text())
    assert len(list(data.test_dataloader())) == 5
    assert results["perplexity"] == pytest.approx(perplexity(trained.module, data.test_dataloader()), rel=1e-5)

    lines = [json.loads(line) for line in (finished / "test" / "predictions.jsonl").read_text().splitlines()]
    texts = data.texts("test")
    assert [line["id"] for line in lines] == list(range(len(texts)))
    assert [line["source"] for line in lines] == list(texts["source"])
    assert [line["reference"] for line in lines] == list(texts["target"])
    assert all(line["source_length"] == len(line["source"].split()) for line in lines)
    score = sacrebleu.corpus_bleu(
        [line["hypothesis"] for line in lines], [list(texts["target"])], tokenize="none", force=True
    )
    assert score.score > 0
    assert results["bleu"] == pytest.approx(score.score, rel=1e-9)
    assert results["truncated"] == sum(line["truncated"] for line in lines)


def test_a_sentence_served_twice_is_scored_once(last: tuple[TranslationModule, TranslationData]) -> None:
    """As a sampler does that shares a test set evenly among devices."""
    module, data = last
    module.trainer = SimpleNamespace(datamodule=data)  # type: ignore[assignment]
    module.on_test_epoch_start()
    batch = next(iter(data.test_dataloader()))
    with torch.no_grad():
        module.test_step(batch, 0)
        once = dict(module.predictions)
        module.test_step(batch, 1)
    assert module.predictions == once
    assert sorted(once) == sorted(batch.ids.tolist())


def test_label_smoothing_out_of_range_is_named(finished: Path) -> None:
    config = RunDirectory(finished).checkpoint()["config"]
    trained = Trained.load(finished)
    with pytest.raises(ValueError, match=r"label_smoothing=1\.5: expected a number, 0 up to 1"):
        build_module(
            OmegaConf.create({**config, "label_smoothing": 1.5}),
            trained.source_tokenizer,
            trained.target_tokenizer,
            "none",
        )
