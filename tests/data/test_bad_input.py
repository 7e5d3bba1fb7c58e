"""Input that cannot hurt: what the user gives, and what the user sees."""

import errno
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from lookback.data import Corpus, HubCorpus, TextCorpus, TranslationData, WordTokenization
from lookback.errors import InputError

SPLITS = ("train", "validation", "test")
GOOD = {split: [(f"{split} source {i}", f"{split} target {i}") for i in range(3)] for split in SPLITS}
TEXT_EXPECTED = "expected a UTF-8 text file, plain or .gz, one sentence a line"
ENDINGS = {"json": "jsonl", "csv": "csv", "parquet": "parquet"}
LONG = " ".join(["word"] * 10_000)


@dataclass(frozen=True)
class Case:
    """What is given: a corpus, as built in a folder. What is seen: one line of error, and lines on standard error."""

    name: str
    given: Callable[[Path], Corpus]
    error: str | None = None
    warnings: tuple[str, ...] = ()


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

    def build(folder: Path) -> HubCorpus:
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
        return hub_corpus(kind, files=files, **settings)

    return build


def renamed(ending: str, kind: str) -> Callable[[Path], HubCorpus]:
    """Good files of records whose names end in another way."""

    def build(folder: Path) -> HubCorpus:
        records(kind=kind)(folder)
        files = {split: f"{folder}/{split}.{ending}" for split in SPLITS}
        for split, path in files.items():
            (folder / f"{split}.{ENDINGS[kind]}").rename(path)
        return hub_corpus(kind, files=files)

    return build


def directory(**settings: Any) -> Callable[[Path], HubCorpus]:
    """A directory in the layout of the Hub."""

    def build(folder: Path) -> HubCorpus:
        records()(folder)
        return hub_corpus(str(folder), **settings)

    return build


def no_data(folder: Path) -> HubCorpus:
    (folder / "README.md").write_text("Nothing here.")
    return hub_corpus(str(folder))


def hub_corpus(path: str, **settings: Any) -> HubCorpus:
    given: dict[str, Any] = {
        **{split: {"split": split} for split in SPLITS},
        "source_language": None,
        "target_language": None,
        "source_field": "source",
        "target_field": "target",
        "train_max_length": 60,
        "max_length_ratio": None,
        "bleu_tokenize": "none",
    }
    return HubCorpus(path, **(given | settings))


def aligned(gold: str, **settings: Any) -> Callable[[Path], TextCorpus]:
    def build(folder: Path) -> TextCorpus:
        corpus = text()(folder)
        (folder / "gold").write_text(gold)
        test = {**corpus._files["test"], "alignment": f"{folder}/gold"}
        return text_corpus({**corpus._files, "test": test}, **settings)

    return build


def lines(*texts: str) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


ROW = {"source": "a", "target": "b"}
DROPPED = "training pairs: 2 of 3 (dropped: 1 a side without words)"
IN_STEP = "expected as many, line N of one to translate line N of the other"

TABLE = [
    # lines that have no partner
    Case(
        "fewer targets than sources",
        text(target=lines("a", "b")),
        "{0}/train.s:3: has no partner: this file has 3 lines, {0}/train.t has 2; " + IN_STEP,
    ),
    Case(
        "fewer sources than targets",
        text("test", source=lines("a", "b")),
        "{0}/test.t:3: has no partner: this file has 3 lines, {0}/test.s has 2; " + IN_STEP,
    ),
    # fields that are not there, or hold no text
    Case(
        "a missing field",
        records(rows=[{"sorce": "a", "target": "b"}]),
        "data.source_field: {0}/train.jsonl, split train: has no field 'source', expected one of sorce, target; "
        "did you mean sorce?",
    ),
    Case(
        "a missing field inside a field",
        records(rows=[{"translation": {"de": "a", "en": "b"}}], source_field="translation.fr"),
        "data.source_field: {0}/train.jsonl, split train: has no field 'translation.fr', expected one of "
        "translation.de, translation.en; did you mean translation.en?",
    ),
    Case(
        "None in a test set",
        records("test", rows=[ROW, {"source": None, "target": "b"}]),
        "{0}/test.jsonl, split test, row 1 (from 0): no text in source (None), "
        "expected text in every row outside training",
    ),
    Case(
        "None in training",
        records(rows=[ROW, {"source": "a", "target": None}, {"source": "c", "target": "d"}]),
        warnings=(DROPPED,),
    ),
    Case(
        "nothing but None in training",
        records(rows=[{"source": "a", "target": None}]),
        "data: no pairs in the train split, expected one or more",
        ("training pairs: 0 of 1 (dropped: 1 a side without words)",),
    ),
    Case(
        "a number in JSON",
        records(rows=[ROW, {"source": "a", "target": 3}]),
        "{0}/train.jsonl:2: target is 3, expected text",
    ),
    Case(
        "numbers in Parquet",
        records("validation", rows=[{"source": 1, "target": "b"}], kind="parquet"),
        "data.source_field: {0}/validation.parquet, split validation: source holds int64, expected text, as in target",
    ),
    Case(
        "lists in Parquet",
        records("validation", rows=[{"source": ["a"], "target": ["b"]}], kind="parquet"),
        "data.source_field: {0}/validation.parquet, split validation: source holds list<element: string>, "
        "expected text",
    ),
    # splits
    Case("an empty file", text("validation", source=b""), "{0}/validation.s: is empty, " + TEXT_EXPECTED),
    Case(
        "an empty Parquet file",
        records("test", rows=pa.table({"source": pa.array([], pa.string()), "target": [""][:0]}), kind="parquet"),
        "{0}/test.parquet: is empty, expected one pair or more",
    ),
    Case(
        "an empty split",
        directory(test={"split": "train[3:]"}),
        "{0}, split train[3:]: is empty, expected one pair or more",
    ),
    Case("an empty JSON file", records("test", rows=[]), "{0}/test.jsonl: is empty, " + TEXT_EXPECTED),
    Case(
        "a split that is not there",
        directory(test={"split": "tset"}),
        "data.test.split: {0} has no split 'tset', expected one of test, train, validation; did you mean test?",
    ),
    Case(
        "a slice that is none",
        directory(train={"split": "train[:x]"}),
        "data.train.split: Unrecognized instruction format: train[:x], expected a split or a slice of one",
    ),
    Case(
        "a configuration that is not there",
        directory(name="de-en"),
        "data.name: {0} has no configuration 'de-en', expected default",
    ),
    Case("a directory without data", no_data, "data.path: {0}: has no data files, expected Parquet, JSON or CSV"),
    Case(
        "no directory at all",
        lambda folder: hub_corpus(f"{folder}/none"),
        "data.path: {0}/none: no such directory; expected one, or an id of the Hugging Face Hub, as owner/name",
    ),
    # bytes
    Case(
        "invalid UTF-8",
        text(source=b"a\nb\xe9\nc\n"),
        "{0}/train.s:2: invalid UTF-8 at byte 2 of the line, 4 of the text, " + TEXT_EXPECTED,
    ),
    Case(
        "invalid UTF-8 in JSON",
        records(content=b'{"source": "a", "target": "b"}\n{"source": "\xff", "target": "b"}\n'),
        "{0}/train.jsonl:2: invalid UTF-8 at byte 13 of the line, 44 of the text, " + TEXT_EXPECTED,
    ),
    Case(
        "NUL",
        text("test", target=b"a\nb\nc\0\n"),
        "{0}/test.t:3: holds a NUL byte (is it binary, or UTF-16?), " + TEXT_EXPECTED,
    ),
    Case(
        "NUL that JSON spells out",
        records("validation", rows=[ROW, {"source": "a", "target": "b\0"}]),
        "{0}/validation.jsonl, split validation, row 1 (from 0): holds a NUL in target (is it binary?), expected text",
    ),
    Case(
        "UTF-16",
        text(source="a\nb\nc\n".encode("utf-16")),
        "{0}/train.s:1: holds a NUL byte (is it binary, or UTF-16?), " + TEXT_EXPECTED,
    ),
    Case(
        "a damaged JSON line",
        records(content=b'{"source": "a", "target": "b"}\n{"source": "a" "b"}\n'),
        "{0}/train.jsonl:2: is no JSON (Expecting ',' delimiter: line 1 column 16 (char 15)), "
        "expected an object a line",
    ),
    Case(
        "a row of CSV with too many cells",
        records(content=b"source,target\na,b\na,b,c\n", kind="csv"),
        "{0}/train.csv:3: has 3 cells, expected 2, as the first line has",
    ),
    Case(
        "CSV without names of fields",
        records(content=b"a man in a blue shirt stands on a tall ladder,ein Mann steht\n", kind="csv"),
        "data.source_field: {0}/train.csv:1: names no field 'source', but a man in a blue shirt stands on a tall …, "
        "ein Mann steht; expected the names of the fields in the first line",
    ),
    Case(
        "CSV with another field",
        records(content=b"sorce,target\na,b\n", kind="csv"),
        "data.source_field: {0}/train.csv:1: names no field 'source', but sorce, target; "
        "expected the names of the fields in the first line; did you mean sorce?",
    ),
    # formats
    Case(
        "Parquet as JSON",
        records("test", content=b"PAR1" + bytes(20) + b"PAR1"),
        "{0}/test.jsonl: holds Parquet, data=json reads JSON; expected a JSON file, or data=parquet",
    ),
    Case(
        "Parquet as CSV",
        records("validation", content=b"PAR1" + bytes(20) + b"PAR1", kind="csv"),
        "{0}/validation.csv: holds Parquet, data=csv reads CSV; expected a CSV file, or data=parquet",
    ),
    Case(
        "JSON as Parquet",
        records(content=b'{"source": "a", "target": "b"}\n', kind="parquet"),
        "{0}/train.parquet: holds JSON, data=parquet reads Parquet; expected a Parquet file, or data=json",
    ),
    Case(
        "a JSON list as CSV",
        records(content=b'[\n  {"source": "a", "target": "b"}\n]\n', kind="csv"),
        "{0}/train.csv: holds JSON, data=csv reads CSV; expected a CSV file, or data=json",
    ),
    Case(
        "text as Parquet",
        records(content=b"source,target\na,b\n", kind="parquet"),
        "{0}/train.parquet: holds no Parquet, data=parquet reads Parquet; expected a Parquet file",
    ),
    Case(
        "CSV as JSON",
        records(content=b"source,target\na,b\n"),
        "{0}/train.jsonl:1: is no JSON (Expecting value: line 1 column 1 (char 0)), expected an object a line",
    ),
    Case("JSON that is named otherwise", renamed("csv", "json")),
    Case(
        "a cut-off Parquet file",
        records(content=b"PAR1" + bytes(20) + b"PAR1", kind="parquet"),
        "{0}/train.parquet: is no whole Parquet file (",
    ),
    # lengths
    Case(
        "10,000 words",
        text(source=lines("a", LONG, "c")),
        warnings=("training pairs: 2 of 3 (dropped: 1 source over 60 words)",),
    ),
    Case("10,000 words, without a limit", text(source=lines("a", LONG, "c"), train_max_length=None)),
    Case("10,000 words in a test set", text("test", source=lines("a", LONG, "c"))),
    Case(
        "a line over 1 MiB",
        text(source=b"a\n" + b"x" * (2 << 20) + b"\nc\n"),
        "{0}/train.s:2: a line of more than 1,048,576 bytes, " + TEXT_EXPECTED,
    ),
    Case(
        "a text over 1 MiB in Parquet",
        records(rows=[ROW, {"source": "x" * (2 << 20), "target": "b"}], kind="parquet"),
        "{0}/train.parquet, split train, row 1 (from 0): a text of 2,097,152 bytes in source, "
        "expected 1,048,576 at most",
    ),
    Case("nothing but spaces in training", text(source=lines("a", "  \t\u3000", "c")), warnings=(DROPPED,)),
    Case("nothing but spaces in a test set", text("test", source=lines("a", "   ", "c"))),
    # corpora that are a mistake
    Case(
        "one file for both sides",
        one_file,
        "{0}/train.s: given as source and as target, expected two files that translate each other",
    ),
    Case(
        "sources that are their targets",
        text(source=lines("a", "b", "c"), target=lines("a", "b", "d")),
        warnings=(
            "warning: in 2 of 3 training pairs the target is the source; is one file given for both sides?",
        ),
    ),
    Case("a target vocabulary of one word", text(target=lines("word", "word", "word word"))),
    Case(
        "test pairs in the training split",
        text(
            source=lines("test source 0", "test source 1", "c"),
            target=lines("test target 0", "another", "c d"),
        ),
        warnings=(
            "warning: 1 of 3 test pairs also stand in the training split: scores on them say nothing about new text "
            "(2 share their source)",
        ),
    ),
    Case(
        "a link to a word that is not there",
        aligned("0-0\n2-3\n\n"),
        "{0}/gold:2: 2-3 names target word 3 of 3, expected 0 to 2; counting from 1 does not fit either",
    ),
    Case(
        "links that count from 1",
        aligned("1-1\n3-3\n\n"),
        "{0}/gold:2: 3-3 names source word 3 of 3, expected 0 to 2; alignment_base=1 fits every line",
    ),
]  # fmt: skip


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


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_the_user_sees_it(case: Case, tmp_path: Path, datasets_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = case.given(tmp_path)
    if case.error is None:
        prepare(corpus)
    else:
        with pytest.raises(InputError) as caught:
            prepare(corpus)
        expected = case.error.replace("{0}", str(tmp_path))
        seen = str(caught.value)
        assert (seen[: len(expected)] if expected.endswith("(") else seen) == expected
        assert "\n" not in seen
    said = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" …")]
    assert said == list(case.warnings)


def test_a_target_vocabulary_of_one_word_is_one_word(tmp_path: Path) -> None:
    data = prepare(text(target=lines("word", "word", "word word"))(tmp_path))
    assert len(data.target_tokenizer) == 5  # and the four symbols


# What processes do to each other and to the disk: children, as a thread would prove nothing.
CHILD = """
import datasets, resource, sys
from pathlib import Path
datasets.config.HF_DATASETS_CACHE = Path(sys.argv[1])
sys.path[:0] = {path!r}
from lookback.errors import InputError
{before}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print("ready", flush=True)
sys.stdin.readline()
try:
    {action}
    print("done", flush=True)
except InputError as error:
    print("refused", error, flush=True)
print("MiB", (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def start(cache: Path, action: str, before: str = "") -> subprocess.Popen[str]:
    """A child that has imported what it needs; a line to its standard input sends it off."""
    tests = Path(__file__).parents[1]
    code = CHILD.format(path=[str(tests), str(tests / "data")], action=action, before=before)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen([sys.executable, "-c", code, str(cache)], text=True, **pipes)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def send_off(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def finished(child: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = child.communicate("\n", timeout=120)
    assert child.returncode == 0, err
    return out, err


@pytest.mark.parametrize("name", ["train.s", "train.s.gz"])
def test_a_single_line_of_1_gb_is_refused_in_little_memory(name: str, tmp_path: Path) -> None:
    (tmp_path / "train.t").write_bytes(lines("a"))
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(b"x" * (1 << 20), compresslevel=1) * 1024)
    else:
        with path.open("wb") as file:  # sparse: zeros that take no room
            file.truncate(1 << 30)
    read = "from lookback.data.text import read_pair"
    out, _ = finished(start(tmp_path / "cache", f"read_pair({str(path)!r}, {str(tmp_path / 'train.t')!r})", read))
    assert f"refused {path}:1: a line of more than 1,048,576 bytes, {TEXT_EXPECTED}\n" in out
    assert float(out.split("MiB")[1]) < 120
    assert not list((tmp_path / "cache").rglob("*.arrow"))


def test_a_full_disk_is_said_and_nothing_half_written_is_used(
    tmp_path: Path, datasets_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = text()(tmp_path)

    class Full(pa.ipc.RecordBatchStreamWriter):
        def write_batch(self, *_: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(pa.ipc, "new_stream", Full)
        with pytest.raises(InputError, match="no space left on device; expected room to keep prepared text"):
            corpus.load("train")
    assert not list(datasets_cache.rglob("*.arrow"))
    assert len(corpus.load("train")) == 3


PREPARE = "import test_bad_input"


@dataclass(frozen=True)
class Undisturbed:
    """A preparation that nothing came between: what it does, and what it keeps."""

    action: str
    kept: dict[str, bytes]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    rng = random.Random(1)
    files = {split: {"source": f"{folder}/{split}.s", "target": f"{folder}/{split}.t"} for split in SPLITS}
    for split, count in (("train", 40_000), ("validation", 50), ("test", 60)):
        for path in files[split].values():
            words = rng.choices("abcdefghijklmnop", k=20)
            Path(path).write_text(
                "".join(" ".join(words[: rng.randint(1, 20)]) + f" {i % 5000}\n" for i in range(count))
            )
    action = f"test_bad_input.prepare(test_bad_input.text_corpus({files!r}))"
    child = start(folder / "cache", action, PREPARE)
    assert "done" in finished(child)[0]
    kept = kept_bytes(folder / "cache")
    assert len(kept) > 5
    return Undisturbed(action, kept)


def kept_bytes(cache: Path) -> dict[str, bytes]:
    """All that counts as kept, by its place: no locks, and not what is being made and has a name with a dot."""
    root = cache / "lookback"
    return {
        str(place): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.suffix != ".lock"
        for place in [path.relative_to(root)]
        if not any(part.startswith(".") for part in place.parts)
    }


@pytest.mark.slow
def test_a_disk_that_fills_up_while_it_is_written(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """No file may grow over a size: what a quota does, and a disk that is full."""
    limit = (
        f"{PREPARE}, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))"
    )
    out, _ = finished(start(tmp_path, undisturbed.action, limit))
    assert "file too large; expected room to keep prepared text, HF_DATASETS_CACHE names another folder" in out
    assert all(undisturbed.kept[path] == content for path, content in kept_bytes(tmp_path).items())
    assert "done" in finished(start(tmp_path, undisturbed.action, PREPARE))[0]
    assert kept_bytes(tmp_path) == undisturbed.kept


@pytest.mark.slow
def test_killed_at_random_moments_and_started_again_it_ends_with_the_same_bytes(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    moments = random.Random(2)
    kills = 0
    for _ in range(3):
        child = start(tmp_path, undisturbed.action, PREPARE)
        send_off(child)
        assert child.stderr is not None
        assert child.stderr.readline().endswith(" …\n"), "something is begun"
        time.sleep(moments.random() * 0.1)
        child.send_signal(signal.SIGKILL)
        kills += "done" not in child.communicate()[0]
        if (tmp_path / "lookback").is_dir():
            assert all(undisturbed.kept[path] == content for path, content in kept_bytes(tmp_path).items())
    assert kills >= 2, "it was done before it could be killed"
    assert "done" in finished(start(tmp_path, undisturbed.action, PREPARE))[0]
    assert kept_bytes(tmp_path) == undisturbed.kept


@pytest.mark.slow
def test_of_two_processes_one_prepares_and_one_waits(tmp_path: Path, undisturbed: Undisturbed) -> None:
    children = [start(tmp_path, undisturbed.action, PREPARE) for _ in range(2)]
    for child in children:
        send_off(child)
    said = [line for child in children for line in finished(child)[1].splitlines() if line.endswith(" …")]
    waited = [line for line in said if line.startswith("Waiting for another process: ")]
    made = [line for line in said if line not in waited]
    assert waited
    assert sorted(made) == sorted(set(made)), "something was made twice"
    assert kept_bytes(tmp_path) == undisturbed.kept
