"""A corpus that names the words that agree has their accuracy in results.json; another has null."""

from pathlib import Path

from lookback.data import GrammarCorpus
from lookback.evaluation import agreement
from lookback.runs import read_predictions, read_results
from support.running import compose, run


def test_agreement_is_that_of_the_predictions_and_the_corpus(tmp_path: Path, grammar_cache: str) -> None:
    record = run(tmp_path, grammar_cache, "data.dependencies=long")
    assert read_results(tmp_path / "test" / "results.json") == record
    arguments = {key: value for key, value in compose(tmp_path, grammar_cache).data.items() if key != "_target_"}
    rows = GrammarCorpus(**(arguments | {"dependencies": "long"})).load("test")
    predictions = read_predictions(tmp_path / "test" / "predictions.jsonl")
    assert record["agreement"] == agreement(predictions, rows["agreement"])
    # whatever a model wrote, what is judged is decided by the references
    assert sum(bucket["missing"] is not None for bucket in record["agreement"]) >= 2


def test_it_is_null_for_the_default_corpus(tmp_path: Path, grammar_cache: str) -> None:
    assert run(tmp_path, grammar_cache)["agreement"] is None
