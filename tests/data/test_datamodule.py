from collections import Counter
from pathlib import Path

import datasets
import lightning
import numpy as np
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from lookback.common.errors import InputError
from lookback.common.special_tokens import BOS, EOS, PAD, UNK
from lookback.data import Batch, TextCorpus, Tokenizer, TranslationData, WordTokenization, evaluation_loader


class MemoryCorpus:
    """A corpus of numbered sentences; targets are sources doubled."""

    bleu_tokenize = "none"
    max_length_ratio = None
    streaming = False

    def __init__(self, train: list[str], validation: list[str], test: list[str], train_max_length: int | None) -> None:
        self.train_max_length = train_max_length
        self._splits = {"train": train, "validation": validation, "test": test}

    def load(self, split: str) -> datasets.Dataset:
        texts = self._splits[split]
        return datasets.Dataset.from_dict(
            {
                "source": texts,
                "target": [f"{text} {text}".strip() for text in texts],
                "alignment": [[[i, i] for i in range(len(text.split()))] for text in texts],
            }
        )


def numbered(count: int) -> list[str]:
    return [" ".join(f"w{(i * j) % 23}" for j in range(1 + i * 7 % 11)) for i in range(count)]


def data(
    train: list[str] | None = None,
    validation: list[str] | None = None,
    test: list[str] | None = None,
    train_max_length: int | None = None,
    vocabulary_size: int = 100,
    **changes,
) -> TranslationData:
    corpus = MemoryCorpus(
        train or numbered(101),
        numbered(30) if validation is None else validation,
        numbered(41) if test is None else test,
        train_max_length,
    )
    settings = {
        "tokenization": WordTokenization(vocabulary_size),
        "batch_size": 8,
        "batch_unit": "sentences",
        "evaluation_batch_size": 10,
        "shuffle_buffer": 30,
        "seed": 1,
    }
    module = TranslationData(corpus, **(settings | changes))
    module.setup()
    return module


def check_batch(batch: Batch, module: TranslationData, split: str) -> None:
    """Each row of a batch is its text with special tokens and padding."""
    texts = module.texts(split)
    assert batch.source.dtype == batch.target.dtype == batch.ids.dtype == batch.source_length.dtype == torch.int64
    for i, row in enumerate(batch.ids.tolist()):
        length = int(batch.source_length[i])
        source, target = batch.source[i].tolist(), batch.target[i].tolist()
        assert source[length - 1] == EOS
        assert set(source[length:]) <= {PAD}
        assert PAD not in source[:length]
        assert module.source_tokenizer.decode(source) == texts[row]["source"]
        assert target[0] == BOS
        end = target.index(EOS)
        assert set(target[end + 1 :]) <= {PAD}
        assert module.target_tokenizer.decode(target[1:end]) == texts[row]["target"]


@pytest.mark.parametrize("unit", ["sentences", "tokens"])
def test_batches_are_the_text(unit: str) -> None:
    module = data(batch_unit=unit, batch_size=8 if unit == "sentences" else 60)
    for split, loader in [
        ("train", module.train_dataloader()),
        ("validation", module.val_dataloader()),
        ("test", module.test_dataloader()),
    ]:
        batches = list(loader)
        assert len(batches) == len(loader)
        for batch in batches:
            check_batch(batch, module, split)
        rows = Counter(row for batch in batches for row in batch.ids.tolist())
        assert rows == Counter(range(len(module.texts(split))))
    assert (
        sum(batch.target_tokens for batch in module.train_dataloader()) == module.describe()["train"]["target_tokens"]
    )


def test_blank_and_long_pairs_leave_training_counted_but_never_a_test_set(capsys: pytest.CaptureFixture[str]) -> None:
    train = ["a", "", " \u2028 ", "a b c d", "b a", "c b a"]
    module = data(train=train, test=["a", "", "a b c d e f"], train_max_length=3)
    assert module.texts("train")["source"][:] == ["a", "b a", "c b a"]
    assert module.describe()["dropped"] == {"a side without words": 2, "source over 3 words": 1}
    expected = "training pairs: 3 of 6 (dropped: 2 a side without words, 1 source over 3 words)"
    assert expected in capsys.readouterr().err.splitlines()

    assert module.texts("test")["source"][:] == ["a", "", "a b c d e f"]
    (batch,) = module.test_dataloader()
    blank = batch.ids.tolist().index(1)
    assert batch.source[blank, 0] == EOS
    assert batch.source_length[blank] == 1
    assert batch.target[blank, :2].tolist() == [BOS, EOS]


@pytest.mark.parametrize("split", ["validation", "test"])
def test_a_split_without_a_word_is_refused_before_anything_is_trained(split: str) -> None:
    with pytest.raises(InputError, match=rf"^data\.{split}: no source has a word; expected text"):
        data(**{split: ["", " ", "\u2028"]})


def test_texts_keep_the_alignment_column() -> None:
    row = data().texts("test")[3]
    assert set(row) == {"source", "target", "alignment"}
    assert row["alignment"] == [[i, i] for i in range(len(row["source"].split()))]


def test_describe() -> None:
    module = data(train=["a a a b", "a b c"], test=["a x", "y z"], vocabulary_size=6)
    described = module.describe()
    assert described["train"] == {
        "pairs": 2,
        "source_tokens": 9,  # seven words, two end marks
        "target_tokens": 16,
        "source_unknown": 1 / 7,
        "target_unknown": 1 / 7,
    }
    assert described["test"]["source_unknown"] == 3 / 4
    assert described["source_vocabulary"] == described["target_vocabulary"] == 6
    assert described["dropped"] == {}
    assert described["padding_waste"] == pytest.approx(1 - 25 / 28)


def test_given_tokenizers_are_used_and_saved_ones_come_back(tmp_path: Path) -> None:
    module = data()
    module.save_tokenizers(tmp_path)
    source, target = Tokenizer.load(tmp_path / "source.json"), Tokenizer.load(tmp_path / "target.json")
    other = data(train=["new words only"] * 3, source_tokenizer=source, target_tokenizer=target)
    assert other.source_tokenizer is source
    assert other.describe()["train"]["source_unknown"] == 1
    assert (next(iter(other.train_dataloader())).source[0] == torch.tensor([UNK, UNK, UNK, EOS])).all()


def test_evaluation_loader_gives_other_text_with_the_same_tokenizers() -> None:
    module = data()
    texts = datasets.Dataset.from_dict({"source": ["w1", "new w2 w3", ""], "target": ["w1", "w4", "w5"]})
    (batch,) = evaluation_loader(texts, module.source_tokenizer, module.target_tokenizer, 4)
    assert batch.ids.tolist() == [1, 0, 2], "longest source first"
    assert [module.target_tokenizer.decode(row) for row in batch.target.tolist()] == ["w4", "w1", "w5"]
    assert module.source_tokenizer.decode(batch.source[0].tolist()) == "<unk> w2 w3"

    test = evaluation_loader(module.texts("test"), module.source_tokenizer, module.target_tokenizer, 10)
    for ours, theirs in zip(test, module.test_dataloader(), strict=True):
        assert torch.equal(ours.ids, theirs.ids)
        assert torch.equal(ours.target, theirs.target)


def test_fingerprint_is_the_raw_text_of_the_test_split() -> None:
    plain = data()
    assert plain.fingerprint == data(seed=5, vocabulary_size=9, train_max_length=3, train=["w1 w2"]).fingerprint
    assert plain.fingerprint != data(test=[*numbered(40), "other"]).fingerprint
    assert data(test=["a b", "c"]).fingerprint != data(test=["a", "b c"]).fingerprint


def test_each_split_has_a_fingerprint_of_its_own() -> None:
    plain = data().fingerprints
    for split in ("train", "validation", "test"):
        changed = data(**{split: [*numbered(9), "other"]}).fingerprints
        assert {name for name in plain if plain[name] != changed[name]} == {split}
    assert data(train_max_length=3).fingerprints == plain, "before filtering"


def test_bad_settings_name_the_argument() -> None:
    for changes, expected in [
        ({"batch_size": 0}, "batch_size=0: expected a whole number, 1 or more"),
        ({"batch_size": True}, "batch_size=true: expected a whole number, 1 or more"),
        ({"evaluation_batch_size": 0}, "evaluation_batch_size=0: expected a whole number, 1 or more"),
        ({"evaluation_batch_size": True}, "evaluation_batch_size=true: expected a whole number, 1 or more"),
        ({"batch_unit": "words"}, "batch_unit=words: expected one of sentences, tokens"),
        ({"shuffle_buffer": 0}, "shuffle_buffer=0: expected a whole number, 1 or more"),
        ({"shuffle_buffer": True}, "shuffle_buffer=true: expected a whole number, 1 or more"),
    ]:
        with pytest.raises(ValueError, match=expected):
            data(**changes)
    with pytest.raises(InputError, match="no pairs in the train split"):
        data(train=["", " "])
    with pytest.raises(InputError, match="no pairs in the test split"):
        data(test=[])
    with pytest.raises(RuntimeError, match=r"call setup\(\) first"):
        TranslationData(MemoryCorpus([], [], [], None), WordTokenization(), 1, "tokens", 1, 1, 1).describe()


class Recorder(lightning.LightningModule):
    """Learns nothing; records which pairs came in which batch of which epoch, and how they arrived."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.epochs: dict[int, list[list[int]]] = {}
        self.evaluated: list[list[int]] = []

    def training_step(self, batch: Batch, index: int) -> torch.Tensor:
        assert isinstance(batch, Batch)
        self.epochs.setdefault(self.current_epoch, []).append(batch.ids.tolist())
        return self.weight * batch.target_tokens

    def test_step(self, batch: Batch, index: int) -> None:
        self.evaluated.append(batch.ids.tolist())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def trainer(folder: Path, epochs: int, **settings) -> lightning.Trainer:
    return lightning.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        default_root_dir=folder,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[ModelCheckpoint(folder, filename="last")],
        **settings,
    )


@pytest.mark.parametrize("unit", ["sentences", "tokens"])
@pytest.mark.filterwarnings("ignore")  # of Lightning: no validation step, no loader workers
def test_lightning_epochs_differ_and_resume_in_step(unit: str, tmp_path: Path) -> None:
    size = 8 if unit == "sentences" else 60
    whole, begun, resumed = Recorder(), Recorder(), Recorder()
    trainer(tmp_path / "whole", 4).fit(whole, datamodule=data(batch_unit=unit, batch_size=size))
    assert list(whole.epochs) == [0, 1, 2, 3]
    for batches in whole.epochs.values():
        assert sorted(row for batch in batches for row in batch) == list(range(101))
    assert len({str(batches) for batches in whole.epochs.values()}) == 4

    trainer(tmp_path / "part", 2).fit(begun, datamodule=data(batch_unit=unit, batch_size=size))
    trainer(tmp_path / "rest", 4).fit(
        resumed, datamodule=data(batch_unit=unit, batch_size=size), ckpt_path=tmp_path / "part" / "last.ckpt"
    )
    assert begun.epochs | resumed.epochs == whole.epochs
    assert list(resumed.epochs) == [2, 3]


@pytest.mark.filterwarnings("ignore")  # of Lightning: no validation step, no loader workers
def test_lightning_tests_every_pair_once_and_takes_half_precision(tmp_path: Path) -> None:
    recorder, module = Recorder(), data()
    runner = trainer(tmp_path, 1, precision="bf16-true")
    runner.fit(recorder, datamodule=module)
    runner.test(recorder, datamodule=module, verbose=False)
    assert sorted(row for batch in recorder.evaluated for row in batch) == list(range(41))


def files(folder: Path, name: str) -> dict[str, str]:
    return {"source": str(folder / f"{name}.en"), "target": str(folder / f"{name}.fr")}


def test_real_text_from_files_second_time_from_the_cache(tiny: Path, datasets_cache: Path) -> None:
    def prepared() -> TranslationData:
        corpus = TextCorpus(files(tiny, "train"), files(tiny, "dev"), files(tiny, "testlen"), 30, "none", None)
        module = TranslationData(corpus, WordTokenization(1000, min_frequency=2), 16, "sentences", 16, 1, 1)
        module.setup()
        return module

    def cached() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in datasets_cache.rglob("*") if path.is_file()}

    module = prepared()
    written = cached()
    kinds = Counter(path.parent.parent.name for path in written if path.suffix != ".lock")
    assert kinds["ids"] == 3 * 5, "tokens and offsets of each side, and the count of unknown words"
    assert kinds["tokenizers"] == 2
    assert kinds["selections"] == 2
    again = prepared()
    assert cached() == written
    assert again.describe() == module.describe()
    assert again.fingerprint == module.fingerprint

    described = module.describe()
    assert described["source_vocabulary"] == 1000
    assert 0.02 < described["train"]["source_unknown"] < 0.2
    assert described["padding_waste"] < 0.1
    lengths = [len(text.split()) for text in module.texts("train")["source"]]
    assert max(lengths) <= 30
    assert described["dropped"]["source over 30 words"] + len(lengths) == 2000
    for batch, again_batch in zip(module.train_dataloader(), again.train_dataloader(), strict=True):
        assert batch.source_length.tolist() == [lengths[row] + 1 for row in batch.ids.tolist()]
        assert torch.equal(batch.target, again_batch.target)
        assert np.array_equal(batch.ids, again_batch.ids)
