import gzip
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import hydra
import numpy as np
import pytest
from datasets import IterableDataset
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import DictConfig, OmegaConf

from lookback.common.errors import InputError
from lookback.data import SPLITS, TextCorpus, read_pair
from lookback.data.corpora import lines
from lookback.data.corpora.text import stream_pair
from support.paths import PROJECT

GOOD = b"one\ntwo\nthree\n"


def config() -> DictConfig:
    """The corpus of ``data=text``."""
    with hydra.initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        return hydra.compose("data/text").data


def corpus(**changes) -> TextCorpus:
    settings = OmegaConf.to_container(config())
    settings.pop("_target_")
    return TextCorpus(**(settings | changes))


def plain(content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "s.txt"
        path.write_bytes(content)
        return path

    return write


def named(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content)
        return path

    return write


def directory(folder: Path) -> Path:
    path = folder / "s.txt"
    path.mkdir()
    return path


def pipe(folder: Path) -> Path:
    path = folder / "s.txt"
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes, which this system does not have")
    os.mkfifo(path)
    return path


WORDS = " ".join(["word"] * 10_000)

# The content of the source file, beside a good target of three lines, and the sources that are read.
HANDLED = {
    "plain": (plain(GOOD), ["one", "two", "three"]),
    "gzip": (named("s.gz", gzip.compress(GOOD)), ["one", "two", "three"]),
    "gzip of several members": (named("s.gz", gzip.compress(b"one\n") + gzip.compress(b"two\n3")), ["one", "two", "3"]),
    "no final newline": (plain(b"one\ntwo\nthree"), ["one", "two", "three"]),
    "CR LF": (plain(b"one\r\ntwo\r\nthree\r\n"), ["one", "two", "three"]),
    "byte-order mark": (plain(b"\xef\xbb\xbfone\ntwo\nthree\n"), ["one", "two", "three"]),
    "blank lines keep their place": (plain(b"\n  \t\nthree\n"), ["", "  \t", "three"]),
    "last line blank": (plain(b"one\ntwo\n\n"), ["one", "two", ""]),
    "lone CR inside a line": (plain(b"one\rand\ntwo\nthree\n"), ["one\rand", "two", "three"]),
    "control characters": (plain(b"o\x01e\nt\x1bo\nth\x7f\x0bree\n"), ["o\x01e", "t\x1bo", "th\x7f\x0bree"]),
    "line ends of other standards": (
        plain("a\x0cb\x1cc\u2028d\nt\x85wo\u2029\nthree\n".encode()),
        ["a\x0cb\x1cc\u2028d", "t\x85wo\u2029", "three"],
    ),
    "10,000 words": (plain(f"one\n{WORDS}\nthree\n".encode()), ["one", WORDS, "three"]),
    "1 MiB": (plain(b"\xef\xbb\xbf" + b"x" * (1 << 20) + b"\r\n\n\n"), ["x" * (1 << 20), "", ""]),
    "a byte-order mark alone": (plain(b"\xef\xbb\xbf\n\n\r"), ["", "", ""]),
    "any script": (plain("日本語\nعربى e\u0301\n😀\n".encode()), ["日本語", "عربى e\u0301", "😀"]),
}

# The source file, and the error that the user sees ({0}: its path).
REFUSED = {
    "fewer lines": (
        plain(b"one\ntwo\n"),
        "t.txt:3: has no partner: this file has 3 lines, {0} has 2; "
        "expected as many, line N of one to translate line N of the other",
    ),
    "more lines": (
        plain(GOOD * 2),
        "{0}:4: has no partner: this file has 6 lines, t.txt has 3; "
        "expected as many, line N of one to translate line N of the other",
    ),
    "invalid UTF-8": (
        plain(b"one\ntw\xe9\nthree\n"),
        "{0}:2: invalid UTF-8 at byte 3 of the line, 7 of the text, "
        "expected a UTF-8 text file, plain or .gz, one sentence a line",
    ),
    "invalid UTF-8 after a byte-order mark": (
        plain(b"\xef\xbb\xbfo\xffe\n"),
        "{0}:1: invalid UTF-8 at byte 5 of the line, 5 of the text, ",
    ),
    "invalid UTF-8 in gzip": (
        named("s.gz", gzip.compress(b"one\r\n\x80\n")),
        "{0}:2: invalid UTF-8 at byte 1 of the line",
    ),
    "UTF-16": (plain("one\ntwo\n".encode("utf-16")), "{0}:1: holds a NUL byte (is it binary, or UTF-16?)"),
    "NUL": (plain(b"one\nt\0wo\nthree\n"), "{0}:2: holds a NUL byte (is it binary, or UTF-16?)"),
    "empty": (plain(b""), "{0}: is empty, expected a UTF-8 text file"),
    "empty gzip": (named("s.gz", gzip.compress(b"")), "{0}: is empty, expected a UTF-8 text file"),
    "missing": (lambda folder: folder / "none.txt", "{0}: no such file or directory, expected a UTF-8 text file"),
    "a directory": (directory, "{0}: is a directory, expected a UTF-8 text file"),
    "a pipe": (pipe, "{0}: is no regular file, expected a UTF-8 text file"),
    "the target itself": (
        lambda folder: folder / "t.txt",
        "{0}: given as source and as target, expected two files that translate each other",
    ),
    "named .gz but plain": (named("s.gz", GOOD), "{0}: is not gzip data, but its name ends in .gz"),
    "gzip but not named so": (
        named("s.txt", gzip.compress(GOOD)),
        "{0}: is gzip data, but its name does not end in .gz",
    ),
    "cut-off gzip": (
        named("s.gz", gzip.compress(os.urandom(9000).hex().encode())[:5000]),
        "{0}:1: damaged or cut-off gzip",
    ),
    "damaged gzip": (
        named("s.gz", gzip.compress(GOOD)[:-8] + b"\0" * 8),
        "{0}:4: damaged or cut-off gzip data (CRC check failed",
    ),
    "a line over 1 MiB": (
        plain(b"one\n" + b"x" * (1 << 20) + b"y\r\nthree\n"),
        "{0}:2: a line of more than 1,048,576 bytes, expected a UTF-8 text file",
    ),
    "a last line over 1 MiB": (
        plain(b"one\ntwo\n" + b"x" * (9 << 20)),
        "{0}:3: a line of more than 1,048,576 bytes, expected a UTF-8 text file",
    ),
    "the first of two faults": (
        plain(b"one\n\xff\n\0\n"),
        "{0}:2: invalid UTF-8 at byte 1 of the line, 5 of the text",
    ),
}


@pytest.mark.parametrize("case", HANDLED)
def test_handled(case: str, tmp_path: Path) -> None:
    write, expected = HANDLED[case]
    target = tmp_path / "t.txt"
    target.write_bytes(GOOD)
    pairs = read_pair(write(tmp_path), target)
    assert pairs["source"][:] == expected
    assert pairs["target"][:] == ["one", "two", "three"]


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_one_line_and_nothing_kept(
    case: str, side: str, tmp_path: Path, datasets_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, expected = REFUSED[case]
    monkeypatch.chdir(tmp_path)
    other = Path("t.txt")
    other.write_bytes(GOOD)
    path = write(Path())
    files = (path, other) if side == "source" else (other, path)
    with pytest.raises(InputError) as caught:
        read_pair(*files)
    message = str(caught.value)
    assert message.startswith(expected.format(path))
    assert "\n" not in message
    assert "expected" in message
    assert not [file for file in datasets_cache.rglob("*") if file.is_file() and file.suffix != ".lock"]


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), st.integers(1, 9))
def test_any_text_is_cut_at_its_line_ends_alone(
    tmp_path_factory: pytest.TempPathFactory, text: str, block: int
) -> None:
    """For any content, and for blocks that end at any place in it."""
    path = tmp_path_factory.mktemp("lines") / "s.txt"
    path.write_bytes(text.encode())
    expected = text.removeprefix("\ufeff").split("\n")
    if expected[-1] == "" and len(expected) > 1:
        expected.pop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK_BYTES", block)
        patch.setattr(lines, "_READ_BYTES", 2)
        assert list(lines.read_lines(path)) == [line.removesuffix("\r") for line in expected]


@given(st.lists(st.binary(max_size=6), min_size=1), st.integers(1, 9))
def test_the_first_fault_is_named_wherever_a_block_ends(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], block: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "s.txt"
    content = b"".join(row.replace(b"\n", b"?").replace(b"\0", b"?") + b"\n" for row in rows)
    path.write_bytes(content)
    fault = None
    for number, row in enumerate(io.BytesIO(content), start=1):
        try:
            row.decode()
        except UnicodeDecodeError as error:
            fault = f"s.txt:{number}: invalid UTF-8 at byte {error.start + 1} of the line"
            break
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK_BYTES", block)
        patch.setattr(lines, "_READ_BYTES", 2)
        if fault is None:
            assert sum(1 for _ in lines.read_lines(path)) == len(rows)
        else:
            with pytest.raises(InputError) as caught:
                list(lines.read_lines(path))
            assert fault in str(caught.value)


def test_limit_keeps_the_top_but_checks_the_whole(tmp_path: Path) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_bytes(GOOD)
    target.write_bytes(GOOD)
    assert read_pair(source, target, limit=2)["source"][:] == ["one", "two"]
    assert len(read_pair(source, target, limit=9)) == 3
    target.write_bytes(GOOD + b"four\n")
    with pytest.raises(InputError, match=r"t:4: has no partner: this file has 4 lines"):
        read_pair(source, target, limit=1)


def test_a_subset_is_drawn_from_the_whole_and_keeps_its_order(tmp_path: Path) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_text("".join(f"s{i}\n" for i in range(1000)))
    target.write_text("".join(f"t{i}\n" for i in range(1000)))
    drawn = read_pair(source, target, limit=100, subset_seed=7)
    rows = [int(text[1:]) for text in drawn["source"]]
    assert rows == sorted(np.random.default_rng(7).choice(1000, 100, replace=False).tolist())
    assert drawn["target"][:] == [f"t{i}" for i in rows]
    assert read_pair(source, target, limit=100, subset_seed=8)["source"][:] != drawn["source"][:]
    assert read_pair(source, target, limit=2000, subset_seed=7).to_dict() == read_pair(source, target).to_dict()


def numbered(folder: Path, count: int) -> tuple[Path, Path]:
    """Two files, of about 9 and 13 bytes a line: their blocks never end at the same line."""
    source, target = folder / "s.txt.gz", folder / "t.txt"
    source.write_bytes(gzip.compress("".join(f"s {i:06}\n" for i in range(count)).encode()))
    target.write_text("".join(f"target {i:06}\n" for i in range(count)))
    return source, target


def test_blocks_of_both_sides_are_joined_in_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = numbered(tmp_path, 5000)
    monkeypatch.setattr(lines, "_BLOCK_BYTES", 1000)
    monkeypatch.setattr(lines, "_READ_BYTES", 300)
    pairs = read_pair(*files)
    assert pairs["source"][:] == [f"s {i:06}" for i in range(5000)]
    assert pairs["target"][:] == [f"target {i:06}" for i in range(5000)]
    files[1].write_text("".join(f"target {i:06}\n" for i in range(4321)))
    with pytest.raises(InputError, match=r"s.txt.gz:4322: has no partner: this file has 5,000 lines, .* has 4,321;"):
        read_pair(*files)


def test_a_stream_gives_the_same_pairs_and_keeps_nothing(
    tmp_path: Path, datasets_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_BLOCK_BYTES", 1000)
    source, target = numbered(tmp_path, 500)
    train = {"source": str(source), "target": str(target)}
    built = corpus(train=train, validation=train, test=train, streaming=True)
    stream = built.load("train")
    assert isinstance(stream, IterableDataset)
    assert list(stream.features) == ["source", "target"]
    rows = list(stream)
    assert not list(datasets_cache.rglob("*.arrow"))
    assert rows == list(read_pair(source, target))
    assert list(stream) == rows  # from the top again
    tables = list(stream.with_format("arrow").iter(64))
    assert [text for table in tables for text in table["source"].to_pylist()] == [row["source"] for row in rows]
    assert list(corpus(train=train, validation=train, test=train, streaming=True, limit=77).load("train")) == rows[:77]


@pytest.mark.parametrize("stop", [1, 90, 91, 499])
def test_a_stream_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int) -> None:
    monkeypatch.setattr(lines, "_BLOCK_BYTES", 1000)
    files = numbered(tmp_path, 500)
    stream = stream_pair(*files)
    passing = iter(stream)
    before = [next(passing) for _ in range(stop)]
    state = json.loads(json.dumps(stream.state_dict()))
    again = stream_pair(*files)
    again.load_state_dict(state)
    assert before + list(again) == list(read_pair(*files))


def test_a_stream_is_checked_as_it_is_read(tmp_path: Path) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_bytes(b"one\ntw\xe9\n")
    target.write_bytes(b"one\ntwo\n")
    with pytest.raises(InputError, match=r"s:2: invalid UTF-8 at byte 3"):
        list(stream_pair(source, target))
    source.write_bytes(GOOD)
    with pytest.raises(InputError, match=r"s:3: has no partner"):
        list(stream_pair(source, target))
    with pytest.raises(InputError, match=r"nothing: no such file"):
        stream_pair(source, tmp_path / "nothing")


def test_cache_is_used_until_a_file_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_bytes(GOOD)
    target.write_bytes(GOOD)
    first = read_pair(source, target)
    assert "Reading" in capsys.readouterr().err
    again = read_pair(source, target)
    assert capsys.readouterr().err == ""
    assert first.cache_files == again.cache_files != []
    assert first._fingerprint == again._fingerprint
    source.write_bytes(GOOD.replace(b"two", b"zwei"))
    assert read_pair(source, target)["source"][:] == ["one", "zwei", "three"]


def test_unwritable_cache_is_one_clear_line(tmp_path: Path, datasets_cache: Path) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_bytes(GOOD)
    target.write_bytes(GOOD)
    (datasets_cache / "lookback").write_text("in the way")
    with pytest.raises(InputError, match="expected room to keep prepared text, HF_DATASETS_CACHE names another folder"):
        read_pair(source, target)


def test_missing_files_are_named_as_the_user_types_them(tiny: Path) -> None:
    with pytest.raises(InputError) as caught:
        corpus(train={"source": str(tiny / "train.en"), "target": None}).load("train")
    assert str(caught.value) == (
        "data.train.target=null, data.validation.source=null, data.validation.target=null, data.test.source=null, "
        "data.test.target=null: expected a text file each, as data.train.target=FILE"
    )


def test_bad_settings_name_the_argument() -> None:
    for changes, expected in [
        ({"train": {"source": "a"}}, "train={source: a}: expected the keys source, target"),
        (
            {"test": {"source": "a", "target": "b", "sauce": "c"}},
            "test={source: a, target: b, sauce: c}: expected the keys",
        ),
        ({"train_max_length": 0}, "train_max_length=0: expected a whole number, 1 or more, or null"),
        ({"max_length_ratio": 0.5}, "max_length_ratio=0.5: expected a number, 1 or more, or null"),
        ({"limit": 0}, "limit=0: expected a whole number, 1 or more, or null"),
        ({"limit": 10.5}, "limit=10.5: expected a whole number, 1 or more, or null"),
        ({"limit": True}, "limit=true: expected a whole number, 1 or more, or null"),
        ({"limit": "many"}, "limit=many: expected a whole number, 1 or more, or null"),
        ({"subset_seed": -1, "limit": 2}, "subset_seed=-1: expected a whole number, 0 to"),
        ({"subset_seed": 3}, "subset_seed=3: expected limit beside it"),
        ({"subset_seed": 3, "limit": 2, "streaming": True}, "subset_seed=3: expected null with streaming"),
        ({"alignment_base": 2}, "alignment_base=2: expected 0 or 1"),
        ({"bleu_tokenize": "14a"}, "bleu_tokenize=14a: expected one of .*13a"),
    ]:
        with pytest.raises(ValueError, match=expected):
            corpus(**changes)


def files(folder: Path, name: str) -> dict[str, str]:
    return {"source": str(folder / f"{name}.en"), "target": str(folder / f"{name}.fr")}


def test_real_corpus(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = corpus(train=files(tiny, "train"), validation=files(tiny, "dev"), test=files(tiny, "testlen"), limit=500)
    splits = {split: built.load(split) for split in SPLITS}
    assert {name: len(split) for name, split in splits.items()} == {"train": 500, "validation": 200, "test": 240}
    assert splits["test"].column_names == ["source", "target"]
    with (tiny / "testlen.fr").open(encoding="utf-8", newline="\n") as stream:
        assert splits["test"]["target"][:] == [line.rstrip("\n") for line in stream]
    assert "warning" not in capsys.readouterr().err


def test_config_builds_the_corpus(tiny: Path) -> None:
    settings = config()
    for split, name in [("train", "train"), ("validation", "dev"), ("test", "aer")]:
        settings[split] = files(tiny, name)
    built = hydra.utils.instantiate(settings)
    assert isinstance(built, TextCorpus)
    assert built.train_max_length == 60
    assert len(built.load("test")) == 37


def test_scoring_on_training_text_is_said(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = corpus(train=files(tiny, "dev"), validation=files(tiny, "dev"), test=files(tiny, "aer"))
    for split in SPLITS:
        built.load(split)
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning")]
    assert len(warnings) == 2
    assert warnings[0].startswith("warning: data.validation.source is the file of data.train.source: ")
