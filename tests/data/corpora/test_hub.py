import gzip
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from datasets import IterableDataset

from lookback.common.errors import InputError
from lookback.data import Corpus, DirectoryCorpus, HubCorpus, RecordsCorpus, read_pair
from support.paths import SHARED

MULTI30K = SHARED / "data" / "multi30k"
ROWS = [{"en": f"a dog {i}", "de": f"ein Hund {i}\u2028", "id": i} for i in range(40)]
SPLITS = {"train": ROWS[:30], "validation": ROWS[30:34], "test": ROWS[34:]}


SETTINGS: dict[str, Any] = {
    "train": {"split": "train"},
    "validation": {"split": "validation"},
    "test": {"split": "test", "alignment": None},
    "source_language": None,
    "target_language": None,
    "source_field": "en",
    "target_field": "de",
    "train_max_length": None,
    "max_length_ratio": None,
    "bleu_tokenize": "13a",
}


def hub(path: Path | str, **changes: Any) -> HubCorpus:
    return HubCorpus(path=str(path), **(SETTINGS | changes))


def directory(path: Path, source: str = "en", target: str = "de", **changes: Any) -> DirectoryCorpus:
    return DirectoryCorpus(path=str(path), **(SETTINGS | {"source_field": source, "target_field": target} | changes))


def records(kind: str, files: dict[str, str | None], **changes: Any) -> RecordsCorpus:
    return RecordsCorpus(path=kind, files=files, **(SETTINGS | changes))


def as_parquet(path: Path, rows: list[dict]) -> None:
    pa.parquet.write_table(pa.Table.from_pylist(rows), path.with_suffix(".parquet"))


def as_json(path: Path, rows: list[dict]) -> None:
    path.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def as_list(path: Path, rows: list[dict]) -> None:
    path.with_suffix(".json").write_text(json.dumps(rows))


def as_gzip(path: Path, rows: list[dict]) -> None:
    path.with_suffix(".jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


def as_csv(path: Path, rows: list[dict]) -> None:
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    path.with_suffix(".csv").write_text("\n".join(lines) + "\n")


WRITERS = [as_parquet, as_json, as_list, as_gzip, as_csv]


def layout(folder: Path, write: Callable[[Path, list[dict]], None], wrap: bool = False) -> Path:
    """A directory in the layout of the Hub."""
    (folder / "data").mkdir(parents=True)
    for split, rows in SPLITS.items():
        write(folder / "data" / f"{split}-00000-of-00001", [{"translation": row} for row in rows] if wrap else rows)
    return folder


def columns(rows: Any) -> dict[str, list]:
    return {"source": list(rows["source"]), "target": list(rows["target"])}


@pytest.mark.parametrize("write", WRITERS)
def test_a_directory_in_the_layout_of_the_hub(write: Callable, tmp_path: Path) -> None:
    folder = layout(tmp_path / "corpus", write)
    built = directory(folder)
    assert isinstance(built, Corpus)
    for split, rows in SPLITS.items():
        there = built.load(split)
        assert columns(there) == {"source": [r["en"] for r in rows], "target": [r["de"] for r in rows]}
        assert there.column_names == ["source", "target"]
        assert there.cache_files  # memory-mapped
        back = directory(folder, "de", "en").load(split)
        assert columns(back) == {"source": columns(there)["target"], "target": columns(there)["source"]}


@pytest.mark.parametrize("write", [as_parquet, as_json, as_list])
def test_nested_translations(write: Callable, tmp_path: Path) -> None:
    folder = layout(tmp_path / "corpus", write, wrap=True)
    rows = directory(folder, "translation.de", "translation.en").load("test")
    assert columns(rows) == {"source": [r["de"] for r in SPLITS["test"]], "target": [r["en"] for r in SPLITS["test"]]}


def test_a_dot_may_be_part_of_a_name(tmp_path: Path) -> None:
    as_json(tmp_path / "train", [{"text.en": "a", "text.de": "b"}])
    assert columns(directory(tmp_path, "text.en", "text.de").load("train")) == {"source": ["a"], "target": ["b"]}


@pytest.mark.parametrize("write", [as_parquet, as_json, as_csv])
def test_a_stream_has_the_same_rows(write: Callable, tmp_path: Path, datasets_cache: Path) -> None:
    folder = layout(tmp_path / "corpus", write)
    stream = directory(folder, streaming=True).load("train")
    assert isinstance(stream, IterableDataset)
    rows = list(stream)
    assert list(stream.features) == ["source", "target"]
    assert not list(datasets_cache.rglob("*.arrow"))
    assert rows == list(directory(folder).load("train"))
    assert list(directory(folder, streaming=True, limit=7).load("train")) == rows[:7]
    assert [t for table in stream.with_format("arrow").iter(8) for t in table["source"].to_pylist()] == [
        row["source"] for row in rows
    ]
    passing = iter(stream)
    before = [next(passing) for _ in range(11)]
    again = directory(folder, streaming=True).load("train")
    again.load_state_dict(stream.state_dict())
    assert before + list(again) == rows
    assert not isinstance(directory(folder, streaming=True).load("validation"), IterableDataset)


def test_files_splits_slices_limit_and_subset(tmp_path: Path) -> None:
    as_json(tmp_path / "one", ROWS[:20])
    as_json(tmp_path / "two", ROWS[20:])
    files = {"train": f"{tmp_path}/*.jsonl", "validation": None, "test": None}
    built = records(
        "json",
        files,
        train={"split": "train[4:]"},
        validation={"split": "train[:3]"},
        test={"split": "train[3:4]", "alignment": None},
    )
    texts = [row["en"] for row in ROWS]
    assert {split: list(built.load(split)["source"]) for split in ("train", "validation", "test")} == {
        "train": texts[4:],
        "validation": texts[:3],
        "test": texts[3:4],
    }
    assert list(records("json", files, limit=5).load("train")["source"]) == texts[:5]
    drawn = list(records("json", files, limit=5, subset_seed=3).load("train")["source"])
    assert drawn == sorted(drawn, key=texts.index) != texts[:5]
    assert drawn != list(records("json", files, limit=5, subset_seed=4).load("train")["source"])


def test_every_cell_of_csv_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('en,de\n007,NA\n,null\n"two\nlines","a ""b"""\n')
    (tmp_path / "a.tsv").write_text("en\tde\n007\tNA\n")
    rows = records("csv", {"train": str(tmp_path / "a.csv")}).load("train")
    assert columns(rows) == {"source": ["007", "", "two\nlines"], "target": ["NA", "null", 'a "b"']}
    rows = records("csv", {"train": str(tmp_path / "a.tsv")}).load("train")
    assert columns(rows) == {"source": ["007"], "target": ["NA"]}


def test_what_was_read_is_kept_until_a_file_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = layout(tmp_path / "corpus", as_json)
    first = directory(folder).load("train")
    assert "Loading" in capsys.readouterr().err
    assert directory(folder).load("train")._fingerprint == first._fingerprint
    assert capsys.readouterr().err == ""
    as_json(folder / "data" / "train-00000-of-00001", ROWS)
    assert len(directory(folder).load("train")) == 40


def test_the_name_may_have_the_languages_in_either_order(tmp_path: Path) -> None:
    for name in ("de-en", "cs-en"):
        (tmp_path / name).mkdir()
        as_parquet(tmp_path / name / "train-00000-of-00001", ROWS)
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n"
        + "".join(
            f"- config_name: {name}\n  data_files:\n  - split: train\n    path: {name}/train-*\n"
            for name in ("de-en", "cs-en")
        )
        + "---\n"
    )
    for name in ("de-en", "en-de"):
        assert len(directory(tmp_path, name=name).load("train")) == 40
        assert len(hub(tmp_path, name=name, revision="0" * 40).load("train")) == 40
    with pytest.raises(
        InputError, match=r"data\.name=de-fr: no such configuration of .*; expected one of cs-en, de-en;"
    ):
        directory(tmp_path, name="de-fr").load("train")
    assert len(directory(tmp_path, data_dir="cs-en").load("train")) == 40


def test_gold_alignment(tmp_path: Path) -> None:
    folder = layout(tmp_path / "corpus", as_json)
    (tmp_path / "gold").write_text("1-1 2p2\n" * 6)
    built = directory(folder, test={"split": "test", "alignment": str(tmp_path / "gold")}, alignment_base=1)
    rows = built.load("test")
    assert (rows["alignment"][0], rows["possible"][0]) == ([[0, 0]], [[1, 1]])
    assert built.load("train").column_names == ["source", "target"]


def test_bad_settings_name_the_argument(tmp_path: Path) -> None:
    for changes, expected in [
        ({"train": {}}, "train={}: expected the keys split"),
        (
            {"test": {"split": "test", "aligment": None}},
            "test={split: test, aligment: null}: expected the keys split, alignment",
        ),
        ({"validation": {"split": ""}}, "validation={split: ''}: expected the keys split"),
        ({"limit": 0}, "limit=0: expected a whole number, 1 or more, or null"),
        ({"target_field": "en"}, "target_field='en': expected another field than source_field"),
    ]:
        for build in (hub, directory, partial(records, files={})):
            with pytest.raises(ValueError, match=re.escape(expected)):
                build("json" if isinstance(build, partial) else "x", **changes)
    with pytest.raises(
        ValueError, match=r"^path='csv': expected an id of the Hub or a directory; data=csv reads files$"
    ):
        hub("csv")
    with pytest.raises(ValueError, match=r"^path=jsonl: expected one of json, csv, parquet; did you mean json\?$"):
        records("jsonl", {})
    for kind in (HubCorpus, DirectoryCorpus, RecordsCorpus):
        with pytest.raises(TypeError, match="'limt'"):
            kind(path="json", limt=3, **SETTINGS)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_directory_takes_the_place_of_an_id(streaming: bool, tmp_path: Path, no_network: list[str]) -> None:
    """As with ``data=multi30k data.path=DIR``: the revision of the id does not matter."""
    folder = layout(tmp_path / "corpus", as_json)
    changes = {"data_dir": "data", "limit": 7, "streaming": streaming}
    for split in SPLITS:
        rows = list(directory(folder, **changes).load(split))
        assert rows == list(hub(folder, revision="0" * 40, **changes).load(split))
        assert len(rows) == (7 if split == "train" else len(SPLITS[split]))
    assert not no_network


@pytest.mark.parametrize("build", [hub, directory])
def test_a_directory_that_is_not_there(build: Callable, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"^data\.path={tmp_path}/none: no such directory; expected one"):
        build(tmp_path / "none").load("train")


def test_a_split_that_is_not_among_the_files(tmp_path: Path) -> None:
    files = {"train": "a.jsonl", "validation": None}
    with pytest.raises(
        InputError, match=r"^split=test: no such split in data\.files; expected one of train, validation$"
    ):
        records("json", files).load("test")
    with pytest.raises(InputError, match=r"^data\.files\.validation=null: expected a json file or a pattern$"):
        records("json", files).load("validation")
    with pytest.raises(InputError, match=r"^a\.jsonl: no such file, expected a file or a pattern$"):
        records("json", files).load("train")


def test_a_stream_cannot_be_sliced(tmp_path: Path) -> None:
    folder = layout(tmp_path / "corpus", as_json)
    with pytest.raises(InputError) as caught:
        directory(folder, train={"split": "train[:3]"}, streaming=True).load("train")
    assert str(caught.value) == (
        f"data.train.split=train[:3]: no such split of {folder}; expected one of test, train, validation; "
        "did you mean train?; a stream cannot be sliced"
    )


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every attempt to reach another machine fails at once and is recorded."""
    import socket

    attempts: list[str] = []

    def unreachable(host: str, *_: Any, **__: Any) -> None:
        attempts.append(str(host))
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unreachable)
    return attempts


def test_without_a_network_one_line_says_what_to_do_and_soon(no_network: list[str], tmp_path: Path) -> None:
    from datasets import config
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE, config.HF_HUB_OFFLINE
    for changes in ({}, {"revision": "1" * 40}, {"streaming": True}):
        with pytest.raises(InputError) as caught:
            hub("owner/name", **changes).load("train")
        assert str(caught.value) == (
            "data.path=owner/name: no network, and no copy of it in the cache; expected one of the two, or its files "
            "on this machine, as data.path=DIR"
        )
    assert len(no_network) <= 6  # one look each (for both kinds of addresses), and no second
    assert before == (constants.HF_HUB_OFFLINE, config.HF_HUB_OFFLINE)


def test_multi30k(tmp_path: Path) -> None:
    """The real text, through Parquet and JSON, and as the files themselves."""
    if not MULTI30K.is_dir():
        pytest.skip("needs the shared corpus ../shared/data/multi30k, which is not here")
    for write, name in ((as_parquet, "parquet"), (as_json, "json")):
        (tmp_path / name).mkdir()
        for split, stem in (("train", "train.{}.gz"), ("validation", "val.{}"), ("test", "test_2016_flickr.{}")):
            pairs = read_pair(MULTI30K / stem.format("en"), MULTI30K / stem.format("fr"))
            write(tmp_path / name / split, [{"en": row["source"], "fr": row["target"]} for row in pairs])
    for split, count in (("train", 29_000), ("validation", 1_014), ("test", 1_000)):
        parquet = directory(tmp_path / "parquet", "en", "fr").load(split)
        assert len(parquet) == count
        assert columns(parquet) == columns(directory(tmp_path / "json", "en", "fr").load(split))
    assert columns(parquet) == columns(read_pair(MULTI30K / "test_2016_flickr.en", MULTI30K / "test_2016_flickr.fr"))
