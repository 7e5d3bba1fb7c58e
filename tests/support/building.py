"""Corpora of files as a user gives them, good but for what a test puts in: what tests of bad input are made of."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from lookback.data import (
    Corpus,
    DirectoryCorpus,
    HubCorpus,
    RecordsCorpus,
    TextCorpus,
    TranslationData,
    WordTokenization,
)

SPLITS = ("train", "validation", "test")
GOOD = {split: [(f"{split} source {i}", f"{split} target {i}") for i in range(3)] for split in SPLITS}
TEXT_EXPECTED = "expected a UTF-8 text file, plain or .gz, one sentence a line"
FIELDS: dict[str, Any] = {
    **{split: {"split": split} for split in SPLITS},
    "source_language": None,
    "target_language": None,
    "source_field": "source",
    "target_field": "target",
    "train_max_length": 60,
    "max_length_ratio": None,
    "bleu_tokenize": "none",
}
ENDINGS = {"json": "jsonl", "csv": "csv", "parquet": "parquet"}


def text(
    name: str = "train", source: bytes | None = None, target: bytes | None = None, **settings: Any
) -> Callable[[Path], TextCorpus]:
    """A corpus of text files, good but for what one split has in place of its own."""

    def build(folder: Path) -> TextCorpus:
        files = {}
        for split, pairs in GOOD.items():
            files[split] = {"source": f"{folder}/{split}.s", "target": f"{folder}/{split}.t"}
            for side, path in enumerate(files[split].values()):
                Path(path).write_text("".join(pair[side] + "\n" for pair in pairs))
        for suffix, content in (("s", source), ("t", target)):
            if content is not None:
                (folder / f"{name}.{suffix}").write_bytes(content)
        return text_corpus(files, **settings)

    return build


def text_corpus(files: dict[str, dict[str, str]], **settings: Any) -> TextCorpus:
    limits = {"train_max_length": 60, "bleu_tokenize": "none", "limit": None}
    return TextCorpus(files["train"], files["validation"], files["test"], **(limits | settings))


def one_file(folder: Path) -> TextCorpus:
    corpus = text()(folder)
    path = f"{folder}/train.s"
    return text_corpus({**corpus._files, "train": {"source": path, "target": path}})


def records(
    name: str = "train", rows: list | None = None, content: bytes = b"", kind: str = "json", **settings: Any
) -> Any:
    """A corpus of files of records, good but for what one split has in place of its own."""

    def build(folder: Path) -> RecordsCorpus:
        ending = ENDINGS[kind]
        for split, pairs in GOOD.items():
            good = [{"source": source, "target": target} for source, target in pairs]
            there = good if split != name or rows is None else rows
            path = folder / f"{split}.{ending}"
            if kind == "parquet":
                pa.parquet.write_table(there if isinstance(there, pa.Table) else pa.Table.from_pylist(there), path)
            elif kind == "csv":
                path.write_text("source,target\n" + "".join(f"{row['source']},{row['target']}\n" for row in there))
            else:
                path.write_text("".join(json.dumps(row) + "\n" for row in there))
            if split == name and content:
                path.write_bytes(content)
        files = {split: f"{folder}/{split}.{ending}" for split in SPLITS}
        return RecordsCorpus(path=kind, files=files, **(FIELDS | settings))

    return build


def renamed(ending: str, kind: str) -> Callable[[Path], RecordsCorpus]:
    """Good files of records whose names end in another way."""

    def build(folder: Path) -> RecordsCorpus:
        records(kind=kind)(folder)
        files = {split: f"{folder}/{split}.{ending}" for split in SPLITS}
        for split, path in files.items():
            (folder / f"{split}.{ENDINGS[kind]}").rename(path)
        return RecordsCorpus(path=kind, files=files, **FIELDS)

    return build


def directory(**settings: Any) -> Callable[[Path], DirectoryCorpus]:
    """A directory in the layout of the Hub."""

    def build(folder: Path) -> DirectoryCorpus:
        records()(folder)
        return DirectoryCorpus(path=str(folder), **(FIELDS | settings))

    return build


def no_data(folder: Path) -> DirectoryCorpus:
    (folder / "README.md").write_text("Nothing here.")
    return DirectoryCorpus(path=str(folder), **FIELDS)


def hub(path: str) -> HubCorpus:
    return HubCorpus(path=path, **FIELDS)


def aligned(gold: str, **settings: Any) -> Callable[[Path], TextCorpus]:
    def build(folder: Path) -> TextCorpus:
        corpus = text()(folder)
        (folder / "gold").write_text(gold)
        test = {**corpus._files["test"], "alignment": f"{folder}/gold"}
        return text_corpus({**corpus._files, "test": test}, **settings)

    return build


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def prepare(corpus: Corpus) -> TranslationData:
    """All that training does before its first update, and one batch."""
    data = TranslationData(
        corpus=corpus,
        tokenization=WordTokenization(vocabulary_size=1000),
        batch_size=2,
        batch_unit="sentences",
        evaluation_batch_size=2,
        shuffle_buffer=1000,
        seed=1,
    )
    data.setup()
    next(iter(data.train_dataloader()))
    return data
