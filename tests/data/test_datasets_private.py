"""The private parts of ``datasets`` that are used. A newer version is allowed when these tests pass with it."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from datasets import load_dataset

from lookback.data import datasets_private
from lookback.data.corpora.pairs import pair_features
from lookback.data.datasets_private import (
    cached_revision,
    datasets_fingerprint,
    gives_tables,
    has_no_files,
    is_empty_slice,
    is_no_slice,
    is_of_a_stream,
    known_configurations,
    known_splits,
    memory_mapped,
    stream_of,
    with_features,
)
from support.paths import PROJECT

READERS: dict[str, Callable[[BaseException], Any]] = {
    "no files": has_no_files,
    "configurations": known_configurations,
    "splits": known_splits,
    "no slice": is_no_slice,
    "empty slice": is_empty_slice,
}
ERRORS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"name": "de-en"}, {"configurations": ["default"]}),
    ({"split": "tset"}, {"splits": ["train", "test"]}),
    ({"split": "tset", "streaming": True}, {"splits": ["train", "test"]}),
    ({"split": "train[:1]", "streaming": True}, {"splits": ["train", "test"]}),
    ({"split": "train[:x]"}, {"no slice": True}),
    ({"split": "train[7:]"}, {"empty slice": True}),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split in ("train", "test"):
        (tmp_path / f"{split}.jsonl").write_text(json.dumps({"en": "a", "id": 1}) + "\n")
    return tmp_path


@pytest.mark.parametrize(("options", "expected"), ERRORS, ids=lambda value: " ".join(map(str, value.values())))
def test_what_an_error_says_is_understood(
    options: dict[str, Any], expected: dict[str, Any], folder: Path, datasets_cache: Path
) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        load_dataset(str(folder), cache_dir=str(datasets_cache), **options)
    assert {kind: value for kind, read in READERS.items() if (value := read(caught.value))} == expected
    assert is_of_a_stream(caught.value) == bool(options.get("streaming"))


def test_a_directory_without_data_is_told_from_other_errors(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Nothing here.")
    with pytest.raises(FileNotFoundError) as caught:
        load_dataset(str(tmp_path))
    assert has_no_files(caught.value)
    assert not has_no_files(FileNotFoundError("a file"))
    assert known_splits(ValueError("Unknown split, whatever that is")) is None


def test_a_mapped_file_has_the_fingerprint_that_it_was_given(tmp_path: Path) -> None:
    table = pa.table({"source": ["a"], "target": ["b"]})
    with pa.OSFile(str(tmp_path / "pairs"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    pairs = memory_mapped(tmp_path / "pairs", fingerprint="name")
    assert list(pairs) == [{"source": "a", "target": "b"}]
    assert datasets_fingerprint(pairs) == "name"


def test_a_stream_of_batches_gives_tables_and_goes_on_where_it_was() -> None:
    calls = []

    def batches() -> Any:
        calls.append(True)
        for start in (0, 2):
            texts = [str(start), str(start + 1)]
            yield pa.record_batch({"source": texts, "target": texts})

    stream = stream_of(batches, pair_features())
    assert gives_tables(stream)
    assert not gives_tables(stream.map(lambda row: row))
    rows = list(stream)
    assert [row["source"] for row in rows] == ["0", "1", "2", "3"]
    passing = iter(stream)
    before = [next(passing) for _ in range(3)]
    again = stream_of(batches, pair_features())
    again.load_state_dict(stream.state_dict())
    assert before + list(again) == rows
    assert len(calls) == 3


def test_features_of_a_stream_are_found_in_its_rows(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("en,id\na,1\n")
    stream = load_dataset(str(tmp_path), split="train", streaming=True)
    assert stream.features is None
    assert list(with_features(stream).features) == ["en", "id"]
    known = stream_of(lambda: iter(()), pair_features())
    assert with_features(known) is known


@pytest.mark.parametrize(("name", "expected"), [("0f" * 20, "0f" * 20), ("0.0.0", None)])
def test_the_revision_of_a_cached_copy_is_the_name_of_its_folder(name: str, expected: str | None) -> None:
    file = {"filename": f"/cache/owner___name/default/{name}/name-train.arrow"}
    assert cached_revision(SimpleNamespace(cache_files=[file])) == expected
    assert cached_revision(SimpleNamespace(cache_files=[])) is None


def test_no_other_module_uses_private_names_of_datasets() -> None:
    """The private attributes that the module reads are read nowhere else in the package."""

    def private_names(path: Path) -> set[str]:
        names = {
            node.attr
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "self")
        }
        return {name for name in names if name.startswith("_") and not name.startswith("__")}

    used = private_names(Path(datasets_private.__file__))
    assert used == {"_ex_iterable", "_fingerprint", "_resolve_features"}
    package = PROJECT / "src" / "lookback"
    others = {path for path in package.rglob("*.py") if private_names(path) & used} - {Path(datasets_private.__file__)}
    assert not others
