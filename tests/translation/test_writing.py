"""Hypotheses become text and links; unknown words become what the raw source has where they look."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.errors import InputError
from lookback.common.special_tokens import UNK
from lookback.data import Tokenizer, WordTokenization
from lookback.search import Hypothesis
from lookback.translation.writing import Writer, read_dictionary


def words(text: str) -> Tokenizer:
    """A tokenizer that knows the words of a text."""
    return WordTokenization().learn(lambda side: iter([pa.array([text])]))[0]


class Halves(Tokenizer):
    """Every word is two pieces, its first character and its rest; all are known."""

    def __init__(self) -> None:
        self.vocabulary: list[str] = ["<pad>", "<unk>", "<s>", "</s>"]

    def alignment_words(self, text: str) -> list[str]:
        return text.split()

    def pieces(self, text: str) -> tuple[list[int], list[int]]:
        halves = [half for word in text.split() for half in (word[:1], word[1:])]
        self.vocabulary += [half for half in halves if half not in self.vocabulary]
        return [self.vocabulary.index(half) for half in halves], [i // 2 for i in range(len(halves))]

    def decode(self, ids: Sequence[int]) -> str:
        halves = [self.vocabulary[i] for i in ids]
        return " ".join("".join(halves[i : i + 2]) for i in range(0, len(halves), 2))

    def words_of(self, ids: Sequence[int]) -> tuple[list[str], list[int]]:
        return self.decode(ids).split(), [i // 2 for i in range(len(ids))]


KNOWN = words("he sees the dog .")
TARGET = words("il voit le chien .")


def hypothesis(tokens: list[int], rows: list[list[float]], truncated: bool = False) -> Hypothesis:
    return Hypothesis(tokens, -1.0, -1.0, torch.tensor(rows), truncated)


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a text; what it does not know is `<unk>`."""
    return tokenizer.encode([text])[0]


SOURCE = "he sees Zürich ."  # the model reads: he sees <unk> .
FOUND = hypothesis(
    ids(TARGET, "il voit ? ."),
    [
        [0.7, 0.1, 0.1, 0.1, 0.0],
        [0.1, 0.6, 0.1, 0.1, 0.1],
        [0.1, 0.1, 0.3, 0.1, 0.4],  # most at the source's end mark; of its words, at the third
        [0.0, 0.0, 0.0, 0.9, 0.1],
        [0.0, 0.0, 0.0, 0.0, 1.0],  # the end mark
    ],
)


def test_an_unknown_word_is_kept_copied_or_looked_up() -> None:
    assert Writer(KNOWN, TARGET, None).text(SOURCE, FOUND) == "il voit <unk> ."
    assert Writer(KNOWN, TARGET, {}).text(SOURCE, FOUND) == "il voit Zürich ."
    assert Writer(KNOWN, TARGET, {"Zürich": "Zurich", "he": "elle"}).text(SOURCE, FOUND) == "il voit Zurich ."
    assert Writer(KNOWN, TARGET, {"he": "elle"}).text(SOURCE, FOUND) == "il voit Zürich ."


def test_links_are_the_likeliest_source_word_of_each_word_without_end_marks() -> None:
    for entries in (None, {}, {"Zürich": "Zurich"}):
        assert Writer(KNOWN, TARGET, entries).links(SOURCE, FOUND) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    cut = hypothesis(FOUND.tokens[:2], FOUND.alignment[:2].tolist(), truncated=True)
    assert Writer(KNOWN, TARGET, None).links(SOURCE, cut) == [(0, 0), (1, 1)]


def test_source_words_that_no_word_was_written_with_a_look_at() -> None:
    writer = Writer(KNOWN, TARGET, None)
    assert writer.reading(SOURCE, FOUND) == (0, 4)
    cut = hypothesis(FOUND.tokens[:1], [[0.7, 0.1, 0.05, 0.05, 0.1], [0.0, 0.0, 0.5, 0.5, 0.0]])  # the end mark's row
    assert writer.reading(SOURCE, cut) == (2, 4)
    assert writer.reading("", hypothesis([], [[1.0]])) == (0, 0)


def test_an_entry_of_several_words_looks_where_the_unknown_word_does() -> None:
    writer = Writer(KNOWN, TARGET, {"Zürich": "la ville de Zurich"})
    assert writer.text(SOURCE, FOUND) == "il voit la ville de Zurich ."
    assert writer.links(SOURCE, FOUND) == [(0, 0), (1, 1), (2, 2), (2, 3), (2, 4), (2, 5), (3, 6)]


def test_nothing_is_copied_from_a_source_without_words() -> None:
    nothing = hypothesis([UNK], [[1.0], [1.0]])
    assert Writer(KNOWN, TARGET, {}).text("", nothing) == "<unk>"
    assert Writer(KNOWN, TARGET, {}).links("", nothing) == []


def test_a_line_without_words_has_no_links_whatever_its_pieces() -> None:
    nothing = hypothesis([], [[1.0]])
    assert Writer(KNOWN, TARGET, {}).text("   ", nothing) == ""
    assert Writer(KNOWN, TARGET, {}).links("   ", nothing) == []


def test_the_pieces_of_a_word_look_and_are_looked_at_together() -> None:
    halves = Halves()
    halves.pieces("ab cd")
    tokens = [4, 5, 6, 7]
    found = hypothesis(
        tokens,
        [
            [0.4, 0.0, 0.3, 0.3, 0.0],  # alone it looks at the second word, 0.6 to 0.4
            [0.6, 0.1, 0.0, 0.0, 0.3],  # with this half at the first, 0.55 to 0.3 (of words)
            [0.0, 0.0, 0.0, 0.2, 0.8],
            [0.0, 0.1, 0.0, 0.0, 0.9],
            [0.0, 0.0, 0.0, 0.0, 1.0],
        ],
    )
    writer = Writer(halves, halves, None)
    assert writer.text("xy zw", found) == "ab cd"
    assert writer.links("xy zw", found) == [(0, 0), (1, 1)]


def test_an_unknown_word_looks_at_the_word_whose_pieces_have_most_together() -> None:
    one = hypothesis([UNK], [[0.4, 0.0, 0.3, 0.3, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]])
    assert Writer(Halves(), TARGET, {}).text("xy zw", one) == "zw"


@given(st.lists(st.sampled_from(["il", "voit", "chien", "?", "!"]), max_size=8), st.integers(1, 6), st.randoms())
def test_every_unknown_word_becomes_a_raw_source_word(target: list[str], size: int, random: object) -> None:
    source = [f"x{i}" for i in range(size)]  # all unknown to the model
    rows = [[0.1 + random.random() for _ in range(size + 1)] for _ in range(len(target) + 1)]  # type: ignore[attr-defined]
    found = hypothesis(ids(TARGET, " ".join(target)), rows)
    text = Writer(KNOWN, TARGET, {}).text(" ".join(source), found).split()
    likeliest = [source[max(range(size), key=row.__getitem__)] for row in found.alignment.tolist()]
    assert text == [likeliest[i] if word in "?!" else word for i, word in enumerate(target)]
    assert Writer(KNOWN, TARGET, None).text(" ".join(source), found).count("<unk>") == sum(w in "?!" for w in target)


def test_two_settings_are_words_and_the_rest_a_file(tmp_path: Path) -> None:
    assert read_dictionary("keep") is None
    assert read_dictionary("copy") == {}
    text = "dog\tchien\ncats \t les chats\r\nl'eau\tthe water\n"
    (tmp_path / "words.tsv").write_bytes(text.encode())
    (tmp_path / "words.tsv.gz").write_bytes(gzip.compress(text.encode()))
    expected = {"dog": "chien", "cats": "les chats", "l'eau": "the water"}
    assert read_dictionary(str(tmp_path / "words.tsv")) == read_dictionary(str(tmp_path / "words.tsv.gz")) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"cat chat", r"words\.tsv:2: 'cat chat', expected source<TAB>target"),
        (b"cat\tchat\tfeline", r"words\.tsv:2: .*expected source<TAB>target"),
        (b"cat\t", r"words\.tsv:2: .*expected source<TAB>target"),
        (b"\tchat", r"words\.tsv:2: .*expected source<TAB>target"),
        (b"New York\tNew York", r"words\.tsv:2: .*: a word and its translation"),
        (b"", r"words\.tsv:2: ''"),
        (b"dog\tchienne", r"words\.tsv:2: a second entry for 'dog'"),
        (b"c\xffat\tchat", r"words\.tsv:2: invalid UTF-8"),
    ],
)
def test_what_is_no_entry_is_named_with_its_line(tmp_path: Path, line: bytes, message: str) -> None:
    (tmp_path / "words.tsv").write_bytes(b"dog\tchien\n" + line + b"\n")
    with pytest.raises(InputError, match=message) as caught:
        read_dictionary(str(tmp_path / "words.tsv"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("cpoy", "unknown_words=cpoy: no such file; expected keep, copy or a dictionary.*; did you mean copy?"),
        ("words.tsv", "unknown_words=words.tsv: no such file"),
        (".", "is a directory"),
    ],
)
def test_a_setting_that_is_no_file_is_refused(setting: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_dictionary(setting)
