import hashlib
import inspect
import os
from collections import Counter
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest
from datasets import Dataset
from omegaconf import OmegaConf

from lookback.common.errors import InputError
from lookback.data import SPLITS, GrammarCorpus
from lookback.data.grammar import Deriver, Pair
from lookback.data.grammar.__main__ import make_ready
from lookback.data.grammar.corpus import READY
from lookback.data.grammar.drawing import Drawing
from support.paths import PROJECT

SMALL = {
    "train_pairs": 300,
    "validation_pairs": 60,
    "test_pairs": 60,
    "min_length": 5,
    "max_length": 24,
    "lexicon": "small",
}


REMAKE = "the grammar's source has changed: run python -m lookback.data.grammar, and commit what it made"


def _load(corpus: GrammarCorpus) -> dict[str, Dataset]:
    return {split: corpus.load(split) for split in SPLITS}


def test_splits(tmp_path: Path) -> None:
    corpus = GrammarCorpus(**SMALL, cache=str(tmp_path))
    splits = _load(corpus)
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 300, "validation": 60, "test": 60}
    sources = {split: set(rows["source"]) for split, rows in splits.items()}
    assert not sources["train"] & (sources["validation"] | sources["test"])
    assert not sources["validation"] & sources["test"]
    assert len(sources["test"]) == len(sources["validation"]) == 60
    for rows in splits.values():
        counts = Counter(len(source.split()) for source in rows["source"])
        assert set(counts) == set(range(5, 25))
        assert max(counts.values()) - min(counts.values()) <= 1
        for row in rows:
            n, m = len(row["source"].split()), len(row["target"].split())
            assert all(0 <= i < n and 0 <= j < m for i, j in row["alignment"])
    features = splits["train"].features
    assert [features["source"].dtype, features["target"].dtype] == ["string", "string"]
    assert features["alignment"].feature.feature.dtype == "int32"


def test_second_load_reads_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _load(GrammarCorpus(**SMALL, cache=str(tmp_path)))
    monkeypatch.setattr(GrammarCorpus, "generate", lambda self: pytest.fail("generated again"))
    second = _load(GrammarCorpus(**SMALL, cache=str(tmp_path)))
    for split in first:
        assert first[split].to_dict() == second[split].to_dict()
        assert second[split].cache_files  # memory-mapped


def test_default_cache_is_that_of_datasets(datasets_cache: Path) -> None:
    GrammarCorpus(**SMALL).load("test")
    assert [path.is_dir() for path in (datasets_cache / "lookback" / "grammar").iterdir()].count(True) == 1


def test_generation_depends_on_the_seed_alone(tmp_path: Path) -> None:
    one = GrammarCorpus(**SMALL).generate()
    assert one == GrammarCorpus(**SMALL).generate()
    other = GrammarCorpus(**SMALL, seed=2).generate()
    assert all(one[split] != other[split] for split in one)


def test_the_same_everywhere() -> None:
    """Pinned, text and gold links of every split: another corpus would silently change published numbers."""
    pairs = GrammarCorpus(**SMALL).generate()
    assert hashlib.sha256(repr(pairs).encode()).hexdigest()[:16] == "a4b473e99a8b0d88"


def test_the_ready_corpus_is_what_the_grammar_gives(tmp_path: Path) -> None:
    """All of test and validation, and the first training pairs: all of them would take a minute."""

    class FirstPairs(Drawing):
        left = 0

        def _new(self, split: str, length: int, random: Random) -> Pair | None:
            self.left -= 1
            return super()._new(split, length, random) if self.left >= 0 else None

    corpus = GrammarCorpus(cache=str(tmp_path))
    assert [folder.name for folder in READY.iterdir()] == [corpus._key()], REMAKE
    drawing = FirstPairs(corpus.pairs, corpus.min_length, Deriver(corpus.lexicon), corpus.seed)
    for split, count in (("test", 3_000), ("validation", 1_000), ("train", 1_000)):
        ready = corpus.load(split)
        assert len(ready) == corpus.pairs[split]
        drawing.left = count
        for pair, row in zip(drawing.split(split, corpus.max_length)[:count], ready, strict=False):
            assert pair == (row["source"], row["target"], [tuple(link) for link in row["alignment"]])


def test_the_default_corpus_is_what_was_published() -> None:
    """Pinned, all of it: an option that is added must leave the corpus of the default arguments alone."""
    digest = hashlib.sha256()
    for split in SPLITS:
        for row in pq.read_table(GrammarCorpus().ready / f"{split}.parquet").to_pylist():
            digest.update(repr((row["source"], row["target"], row["alignment"])).encode())
    assert digest.hexdigest()[:16] == "cd910eaf7c7d7f09"


def test_long_dependencies_have_a_column_of_their_own(tmp_path: Path) -> None:
    rows = GrammarCorpus(**SMALL, dependencies="long", cache=str(tmp_path)).load("test")
    assert rows.column_names == ["source", "target", "alignment", "agreement"]
    assert "agreement" not in GrammarCorpus(**SMALL, cache=str(tmp_path)).load("test").column_names
    found = [(row["target"].split(), word) for row in rows for word in row["agreement"]]
    assert len(found) > 60
    for words, word in found:
        assert set(word) == {"target", "distance", "others"}
        assert words[word["target"]] not in word["others"]
        assert word["distance"] >= 0


def test_made_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr("lookback.data.grammar.corpus.READY", tmp_path / "ready")
    (tmp_path / "ready" / "former").mkdir(parents=True)
    generated = _load(GrammarCorpus(**SMALL, cache=str(tmp_path / "one")))
    made = make_ready(GrammarCorpus(**SMALL), tmp_path / "ready")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert list((tmp_path / "ready").iterdir()) == [made]
    monkeypatch.setattr(GrammarCorpus, "generate", lambda self: pytest.fail("generated again"))
    unpacked = _load(GrammarCorpus(**SMALL, cache=str(tmp_path / "other")))
    for split in SPLITS:
        assert unpacked[split].features == generated[split].features
        assert unpacked[split].to_dict() == generated[split].to_dict()
    said = capsys.readouterr().err.splitlines()
    titles = [f"{doing} the built-in corpus, once: 420 pairs …" for doing in ("Generating", "Unpacking")]
    assert [line for line in said if line in titles] == titles
    assert all(line.startswith(tuple(titles)) for line in said)  # on a slow machine the seconds so far follow


@pytest.mark.parametrize(
    "change",
    [
        {"train_pairs": 301},
        {"validation_pairs": 61},
        {"test_pairs": 61},
        {"min_length": 6},
        {"max_length": 25},
        {"train_max_length": 20},
        {"lexicon": "full"},
        {"dependencies": "long"},
        {"seed": 2},
    ],
)
def test_every_argument_has_its_own_cache(change: dict) -> None:
    assert GrammarCorpus(**SMALL)._key() != GrammarCorpus(**(SMALL | change))._key()


def test_train_max_length_leaves_the_test_split_alone() -> None:
    whole = GrammarCorpus(**SMALL)
    short = GrammarCorpus(**SMALL, train_max_length=12)
    assert (whole.train_max_length, short.train_max_length) == (24, 12)
    pairs, cut = whole.generate(), short.generate()
    assert pairs["test"] == cut["test"]
    for split in ("train", "validation"):
        assert {len(pair.source.split()) for pair in cut[split]} == set(range(5, 13))


def test_training_size_leaves_validation_and_test_alone() -> None:
    pairs = GrammarCorpus(**SMALL).generate()
    more = GrammarCorpus(**(SMALL | {"train_pairs": 400})).generate()
    assert pairs["test"] == more["test"]
    assert pairs["validation"] == more["validation"]


def test_killed_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    corpus = GrammarCorpus(**SMALL, cache=str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            corpus.load("test")
    assert len(corpus.load("train")) == 300


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train_pairs": 0}, "train_pairs=0"),
        ({"train_pairs": True}, "train_pairs=true"),
        ({"validation_pairs": -1}, "validation_pairs=-1"),
        ({"test_pairs": 0}, "test_pairs=0"),
        ({"min_length": 2}, "min_length=2: expected a whole number, 3 to 200"),
        ({"max_length": 4}, "max_length=4: expected 5"),
        ({"max_length": 201}, "max_length=201"),
        ({"train_max_length": 3}, "train_max_length=3"),
        ({"train_max_length": 25}, "train_max_length=25.* 24"),
        ({"dependencies": "far"}, "dependencies=far: expected one of local, long"),
        ({"lexicon": "huge"}, "lexicon=huge: expected one of small, medium, full"),
    ],
)
def test_refused(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GrammarCorpus(**(SMALL | change))


def test_too_few_short_sentences() -> None:
    corpus = GrammarCorpus(
        train_pairs=1, validation_pairs=1, test_pairs=900, min_length=3, max_length=3, lexicon="small"
    )
    with pytest.raises(InputError, match="test_pairs=900: no new sentence of 3 words"):
        corpus.generate()


def test_config_names_every_argument() -> None:
    path = PROJECT / "conf" / "data" / "grammar.yaml"
    config = OmegaConf.to_container(OmegaConf.load(path))
    assert isinstance(config, dict)
    assert config.pop("_target_") == "lookback.data.GrammarCorpus"
    parameters = inspect.signature(GrammarCorpus).parameters
    assert config == {name: parameter.default for name, parameter in parameters.items()}
