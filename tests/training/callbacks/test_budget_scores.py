"""What a training scored on its way: test/budgets.npz."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning import Callback, Trainer
from sacrebleu.metrics import BLEU

from lookback.common.special_tokens import EOS
from lookback.runs.checkpoint import read_checkpoint
from lookback.runs.directory import RunDirectory
from lookback.search import GreedySearch
from lookback.training.build import build_data
from lookback.training.callbacks.alignment_snapshots import stratified_sample
from lookback.training.callbacks.budget_scores import SHARES, BudgetScores, scored_updates
from support.running import Trained, compose, run


def saved(directory: Path) -> dict[str, Any]:
    with np.load(directory / "test" / "budgets.npz") as arrays:
        return dict(arrays)


@given(st.integers(1, 100_000))
def test_moments_double_and_end_with_the_training(updates: int) -> None:
    due = scored_updates(updates)
    assert list(due) == sorted(due)
    assert list(due)[-1] == updates
    for at, share in due.items():
        assert at >= 1
        assert abs(at - share * updates) <= 0.5 or at == 1
    assert scored_updates(1250) == {156: 0.125, 313: 0.25, 625: 0.5, 1250: 1.0}
    assert scored_updates(3) == {1: 0.25, 2: 0.5, 3: 1.0}


def test_the_statistics_are_those_of_greedy_translations_by_the_last_weights(finished: Path) -> None:
    """Translated here one by one, from the last checkpoint, and counted by sacrebleu."""
    arrays = saved(finished)
    assert arrays["updates"].tolist() == [1, 2, 5, 9]
    assert arrays["shares"].tolist() == list(SHARES)
    trained, directory = Trained.load(finished), RunDirectory(finished)
    checkpoint = read_checkpoint(directory.last)
    assert checkpoint["global_step"] == 9
    trained.module.load_state_dict(checkpoint["state_dict"])
    data = build_data(trained.config, None, trained.source_tokenizer, trained.target_tokenizer)
    data.setup()
    texts = data.texts("test")
    lengths = [len(text.split()) for text in texts["source"]]
    assert arrays["ids"].tolist() == stratified_sample(lengths, 100)
    assert arrays["source_length"].tolist() == [lengths[row] for row in arrays["ids"]]
    rule = trained.module.search.rule
    search, metric = GreedySearch(rule.limit_factor, rule.limit_extra), BLEU(tokenize="none", effective_order=True)
    for row, counted in zip(arrays["ids"].tolist(), arrays["statistics"][-1].tolist(), strict=True):
        (ids,) = trained.source_tokenizer.encode([texts[row]["source"]])
        source = torch.tensor([[*ids, EOS]])
        ((best, *_),) = search(trained.module.model, source, torch.tensor([source.shape[1]]))
        hypothesis = trained.target_tokenizer.decode(best.tokens)
        expected = metric.sentence_score(hypothesis, [texts[row]["target"]])
        assert counted == [*expected.counts, *expected.totals, expected.sys_len, expected.ref_len]
    # earlier moments are of other weights
    assert not np.array_equal(arrays["statistics"][0], arrays["statistics"][-1])


def test_the_tokens_are_those_behind_each_moment(finished: Path, last_row: dict[str, str]) -> None:
    tokens = saved(finished)["target_tokens"].tolist()
    assert tokens == sorted(tokens)
    assert tokens[-1] == float(last_row["cost/target_tokens"])


def test_nothing_goes_back_into_the_training(tmp_path: Path, grammar_cache: str) -> None:
    options = (grammar_cache, "trainer.max_epochs=2", "encoder.dropout=0.2", "decoder.dropout=0.2", "optimizer.lr=0.02")
    run(tmp_path / "with", *options)
    run(tmp_path / "without", *options, "~callbacks.budgets")
    assert not (tmp_path / "without" / "test" / "budgets.npz").exists()
    for name in ("last", "best"):
        one, other = (
            read_checkpoint(tmp_path / kind / "checkpoints" / f"{name}.ckpt")["state_dict"]
            for kind in ("with", "without")
        )
        assert all(torch.equal(value, other[key]) for key, value in one.items())
    assert (tmp_path / "with" / "test" / "predictions.jsonl").read_bytes() == (
        tmp_path / "without" / "test" / "predictions.jsonl"
    ).read_bytes()


def test_its_seconds_are_no_training(tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every search is made to take as long as a clock says, which only the search moves."""
    import lookback.training.callbacks.cost as cost

    clock = [0.0]
    monkeypatch.setattr(cost, "time", type("Clock", (), {"perf_counter": staticmethod(lambda: clock[0])}))
    translated = BudgetScores._translated

    def slow(callback: BudgetScores, module: Any) -> list[str]:
        clock[0] += 100
        return translated(callback, module)

    monkeypatch.setattr(BudgetScores, "_translated", slow)
    record = run(tmp_path, grammar_cache, "trainer.max_epochs=2")
    assert clock[0] == 400
    assert record["cost"]["seconds"] == 0
    assert saved(tmp_path)["updates"].tolist() == [1, 2, 3, 6]


def test_a_training_that_ends_early_is_scored_where_it_ends(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stop(Callback):
        def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
            trainer.should_stop = trainer.global_step == 7

    from support import running

    monkeypatch.setattr(running, "Stop", Stop, raising=False)
    stop = "+callbacks.stop._target_=support.running.Stop"
    run(tmp_path, grammar_cache, "trainer.max_epochs=4", stop)  # as max_time does
    arrays = saved(tmp_path)
    assert arrays["updates"].tolist() == [2, 3, 6, 7]
    assert arrays["shares"].tolist() == pytest.approx([0.125, 0.25, 0.5, 7 / 12])


def test_a_longer_plan_keeps_the_moments_of_both(tmp_path: Path, grammar_cache: str) -> None:
    options = (grammar_cache, "scheduler=constant")
    run(tmp_path / "whole", *options, "trainer.max_epochs=8")
    run(tmp_path / "parts", *options, "trainer.max_epochs=4")
    assert saved(tmp_path / "parts")["updates"].tolist() == [2, 3, 6, 12]
    run(tmp_path / "parts", *options, "trainer.max_epochs=8")
    whole, parts = saved(tmp_path / "whole"), saved(tmp_path / "parts")
    assert parts["updates"].tolist() == [3, 6, 12, 24]
    for name, array in whole.items():
        assert np.array_equal(parts[name], array), name


def test_another_sample_begins_anew_where_a_training_goes_on(
    tmp_path: Path, grammar_cache: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (grammar_cache, "scheduler=constant")
    run(tmp_path, *options, "trainer.max_epochs=4")
    run(tmp_path, *options, "trainer.max_epochs=8", "callbacks.budgets.per_bucket=1")
    arrays = saved(tmp_path)
    assert arrays["updates"].tolist() == [24]
    assert arrays["statistics"].shape == (1, 2, 10)
    assert "callbacks.budgets.per_bucket has changed" in capsys.readouterr().out


def test_a_sample_has_at_most_so_many_of_each_length(tmp_path: Path, grammar_cache: str) -> None:
    run(tmp_path, grammar_cache, "callbacks.budgets.per_bucket=2")
    arrays = saved(tmp_path)
    assert arrays["statistics"].shape == (3, 4, 10)
    assert (np.searchsorted([10, 20], arrays["source_length"])).tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="per_bucket=0: expected a whole number, 1 or more"):
        BudgetScores(tmp_path / "budgets.npz", 0)
    assert compose(tmp_path).callbacks.budgets.per_bucket == 100
