"""Bad input and what the user sees: an error in one line, or warnings."""

import gzip
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from lookback.common.errors import InputError
from lookback.data import Corpus
from support.building import (
    TEXT_EXPECTED,
    aligned,
    directory,
    hub,
    lines,
    no_data,
    one_file,
    prepare,
    records,
    renamed,
    text,
)

LONG = " ".join(["word"] * 10_000)


def cut_off_list(folder: Path) -> Corpus:
    """A JSON list in a gzip file that was cut off behind its first bytes."""
    corpus = records()(folder)
    content = gzip.compress(json.dumps([{"source": str(n), "target": "b"} for n in range(1000)]).encode())
    path = folder / "train.jsonl.gz"
    path.write_bytes(content[: len(content) // 2])
    return replace(corpus, files={**corpus.files, "train": str(path)})


@dataclass(frozen=True)
class Case:
    """A corpus that is built in a folder, the error in one line that it gives, and the lines on standard error."""

    name: str
    given: Callable[[Path], Corpus]
    error: str | None = None
    warnings: tuple[str, ...] = ()


ROW = {"source": "a", "target": "b"}


def parquet_bytes() -> bytes:
    """A Parquet file with one pair."""
    written = io.BytesIO()
    pa.parquet.write_table(pa.Table.from_pylist([ROW]), written)
    return written.getvalue()


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
        "data.source_field=source: no such field in {0}/train.jsonl, split train; expected one of sorce, target; "
        "did you mean sorce?",
    ),
    Case(
        "a missing field inside a field",
        records(rows=[{"translation": {"de": "a", "en": "b"}}], source_field="translation.fr"),
        "data.source_field=translation.fr: no such field in {0}/train.jsonl, split train; expected one of "
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
        "data.source_field=source: holds int64 in {0}/validation.parquet, split validation; "
        "expected text, as in target",
    ),
    Case(
        "lists in Parquet",
        records("validation", rows=[{"source": ["a"], "target": ["b"]}], kind="parquet"),
        "data.source_field=source: holds list<element: string> in {0}/validation.parquet, split validation; "
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
        "a JSON file without records",
        records(content=b"NaN"),
        "{0}/train.jsonl:1: is no JSON object, expected one a line",
    ),
    Case(
        "a null in JSON lines",
        records(content=b'\n{"source": "a", "target": "b"}\n null\n'),
        "{0}/train.jsonl:3: is no JSON object, expected one a line",
    ),
    Case(
        "a null in JSON lines that are a stream",
        records(content=b"null\n", streaming=True),
        "{0}/train.jsonl:1: is no JSON object, expected one a line",
    ),
    Case(
        "a null in a JSON list",
        records(content=b'[null, {"source": "a", "target": "b"}]'),
        "{0}/train.jsonl: record 0 (from 0) is no JSON object, expected a list of objects",
    ),
    Case(
        "a number too large in a JSON list",
        records(content=b'[-1e999, {"source": "a", "target": "b"}]'),
        "{0}/train.jsonl: record 0 (from 0) is no JSON object, expected a list of objects",
    ),
    Case(
        "a number that is too large, and no JSON, in a JSON list",
        records(content=b'[1.e999, {"source": "a", "target": "b"}]'),
        "{0}/train.jsonl: is no JSON (Expecting ',' delimiter: line 1 column 3 (char 2)), expected a list of objects, "
        "or an object a line",
    ),
    Case(
        "a null in a field of a JSON list, and a tab in a text",
        records(content=b'[{"source": "a\tz", "target": "b", "more": [1, null]}]'),
    ),
    Case(
        "a null in an object over several lines",
        records(content=b'{"source": "a",\n"target": "b",\n"more":\nnull}\n'),
    ),
    Case(
        "an infinite number in a JSON list",
        records(content=b'[{"source": "a", "target": "b"}, Infinity]'),
        "{0}/train.jsonl: record 1 (from 0) is no JSON object, expected a list of objects",
    ),
    Case(
        "a JSON list whose gzip file is cut off",
        cut_off_list,
        "{0}/train.jsonl.gz: damaged or cut-off gzip data (Compressed file ended before the end-of-stream marker was "
        "reached), expected a whole file",
    ),
    Case(
        "a stream of a JSON file without records",
        records(content=b"NaN", streaming=True),
        "{0}/train.jsonl:1: is no JSON object, expected one a line",
    ),
    Case(
        "a split that is not there",
        directory(test={"split": "tset"}),
        "data.test.split=tset: no such split of {0}; expected one of test, train, validation; did you mean test?",
    ),
    Case(
        "a slice that is none",
        directory(train={"split": "train[:x]"}),
        "data.train.split=train[:x]: Unrecognized instruction format: train[:x]; expected a split or a slice of one",
    ),
    Case(
        "a configuration that is not there",
        directory(name="de-en"),
        "data.name=de-en: no such configuration of {0}; expected default",
    ),
    Case("a directory without data", no_data, "data.path={0}: no data files; expected Parquet, JSON or CSV"),
    Case(
        "no directory at all",
        lambda folder: hub(f"{folder}/none"),
        "data.path={0}/none: no such directory; expected one, or an id of the Hugging Face Hub, as owner/name",
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
        "CSV with too many cells and too many digits",
        records(
            content=b'source,n,target\n"a",0,"b  c , d",1,"e"\n"",99999999999999999999,""\n"f",3,"g"\n',
            kind="csv",
            streaming=True,
        ),
        "{0}/train.csv:2: has 5 cells, expected 3, as the first line has",
    ),
    Case(
        "CSV without names of fields",
        records(content=b"a man in a blue shirt stands on a tall ladder,ein Mann steht\n", kind="csv"),
        "data.source_field=source: no such field in {0}/train.csv:1, which names "
        "a man in a blue shirt stands on a tall …, ein Mann steht; expected the names of the fields in the first line",
    ),
    Case(
        "CSV with another field",
        records(content=b"sorce,target\na,b\n", kind="csv"),
        "data.source_field=source: no such field in {0}/train.csv:1, which names sorce, target; "
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
    Case(
        "a Parquet file with a damaged name of a field",
        records(content=parquet_bytes().replace(b"source", b"sourc\xec"), kind="parquet"),
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
    assert len(data.target_tokenizer) == 5  # and the four special tokens


def test_a_file_that_asks_for_more_memory_than_there_is(
    tmp_path: Path, datasets_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged Parquet file asked for 17 GB: pyarrow's error is no ArrowException alone, but a MemoryError."""

    def demand(*arguments: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 17183047552 failed")

    monkeypatch.setattr("lookback.data.corpora.datasets_corpus.text_columns", demand)
    with pytest.raises(InputError) as caught:
        prepare(records(kind="parquet")(tmp_path))
    assert str(caught.value) == f"{tmp_path}/train.parquet, split train: malloc of size 17183047552 failed"
