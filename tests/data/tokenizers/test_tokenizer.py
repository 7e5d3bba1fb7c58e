import json
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.errors import InputError
from lookback.common.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS, UNK
from lookback.common.words import words
from lookback.data import (
    BPETokenization,
    CharacterTokenization,
    Tokenization,
    Tokenizer,
    UnigramTokenization,
    WordTokenization,
)

# Text that is difficult for tokenizers: white space of every kind, spelt-out special tokens and byte names, marks,
# scripts without spaces or from right to left, pictures of several characters, letters with two lower-case forms. No
# surrogates: they are no text.
NASTY = [
    *SPECIAL_TOKENS,
    *(" ", "  ", "\t", "\n", "\x1c", "\x1f", "\x85", "\xa0", "\u2028", "\u3000", "\ufeff", "\x00"),
    *("a</s>b", "<0x41>", "<", "<<0x0A>>", "▁", "▁the", "Ġ", "##s", "@@ ", "[UNK]"),
    *("é", "e\u0301", "\u0301", "İ", "ẞ", "ς", "日本語", "中文", "ไทย", "မြန်", "שלום", "مرحبا", "\u202e", "한국"),
    *("👩‍👩‍👧", "🏳️‍🌈", "the cat", "cats", "le chat"),
]
TEXT = st.lists(st.one_of(st.text(max_size=6), st.sampled_from(NASTY))).map("".join)
TRAINING = [
    "the cat sat on the mat .",
    "the cats sat , the dogs sat",
    "le chat 中文 日本語 <s> <0x41> </s>",
    "日本語 日本 ▁the",
] * 2

SUBWORDS: list[Tokenization] = [BPETokenization(330), UnigramTokenization(330), CharacterTokenization(290)]
RECIPES: list[Tokenization] = [WordTokenization(20), *SUBWORDS]
KINDS = [type(recipe).__name__ for recipe in RECIPES]


def learnt(recipe: Tokenization, texts: list[str] = TRAINING) -> Tokenizer:
    return recipe.learn(lambda side: iter([pa.array(texts)]))[0]


TOKENIZERS = {kind: learnt(recipe) for kind, recipe in zip(KINDS, RECIPES, strict=True)}
LOWERED = {
    "lower word": learnt(WordTokenization(20, lowercase=True)),
    "lower BPE": learnt(BPETokenization(330, lowercase=True)),
}


def across_spaces() -> Tokenizer:
    """Not of this project: the space is a character like any other."""
    backend = tokenizers.Tokenizer(
        tokenizers.models.Unigram([*((s, 0.0) for s in SPECIAL_TOKENS), ("the cat", -1.0)], UNK)
    )
    return Tokenizer(backend)


every = pytest.mark.parametrize("tokenizer", [*TOKENIZERS.values(), *LOWERED.values()], ids=[*KINDS, *LOWERED])
subword = pytest.mark.parametrize("tokenizer", [TOKENIZERS[kind] for kind in KINDS[1:]], ids=KINDS[1:])


@subword
@given(text=TEXT)
def test_pieces_give_exactly_the_text_back(tokenizer: Tokenizer, text: str) -> None:
    [ids] = tokenizer.encode([text])
    assert tokenizer.decode(ids) == text
    assert min(ids, default=EOS + 1) > EOS, "nothing is unknown, and no text smuggles marks in"


@given(TEXT)
def test_words_give_the_words_of_split_back(text: str) -> None:
    tokenizer = learnt(WordTokenization(), [text, "a"])
    [ids] = tokenizer.encode([text])
    assert tokenizer.decode(ids) == " ".join("<unk>" if word in SPECIAL_TOKENS else word for word in text.split())
    assert len(ids) == len(text.split())
    assert not {PAD, BOS, EOS} & set(ids)


@every
@given(texts=st.lists(TEXT), start=st.integers(0, 2), type=st.sampled_from([pa.string(), pa.large_string()]))
def test_a_column_has_the_ids_of_its_texts(
    tokenizer: Tokenizer, texts: list[str], start: int, type: pa.DataType
) -> None:
    expected = tokenizer.encode(texts[start:])
    column = pa.array(texts, type)[start:]
    for given_as in (column, pa.chunked_array([column[:1], column[1:]], type)):
        ids, lengths = tokenizer.encode_column(given_as)
        assert (ids.dtype, lengths.dtype) == (np.int32, np.int64)
        assert lengths.tolist() == list(map(len, expected))
        assert ids.tolist() == list(chain(*expected))


def test_a_column_may_be_longer_than_what_is_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookback.data.tokenizers.tokenizer._MOST_CACHED_UNITS", 5)
    monkeypatch.setattr("lookback.data.units._SLICE_SIZE", 3)
    tokenizer = learnt(BPETokenization(300))
    texts = [f"the cat {i % 7}  dog{i}" for i in range(40)]
    ids, lengths = tokenizer.encode_column(pa.array(texts))
    assert ids.tolist() == list(chain(*tokenizer.encode(texts)))
    assert len(lengths) == 40
    assert len(tokenizer._known.row) < 20


def test_a_tokenizer_that_looks_across_spaces_is_given_whole_texts() -> None:
    tokenizer = across_spaces()
    texts = ["the cat", "the", "", "the catthe cat"]
    assert tokenizer.encode(texts) == [[4], [UNK], [], [4, 4]]
    ids, lengths = tokenizer.encode_column(pa.array(texts))
    assert ids.tolist() == [4, UNK, 4, 4]
    assert lengths.tolist() == [1, 1, 0, 2]


def aligned(tokenizer: Tokenizer, text: str, found: list[str], places: list[int]) -> None:
    """Check what holds of words and of the places of pieces for every tokenizer."""
    assert "".join(found) == "".join(text.split())
    assert places == sorted(places)
    assert all(0 <= place < len(found) for place in places)
    if text.strip():
        assert len(text.split()) <= len(found) <= max(len(words(text)), 1)


@every
@given(text=TEXT)
def test_every_piece_has_a_word(tokenizer: Tokenizer, text: str) -> None:
    ids, places = tokenizer.pieces(text)
    found = tokenizer.alignment_words(text)
    assert [ids] == tokenizer.encode([text])
    assert len(places) == len(ids)
    aligned(tokenizer, text, found, places)
    assert set(places) == set(range(len(found))), "every word has a piece"


@given(TEXT)
def test_a_word_of_the_word_tokenizer_is_one_piece(text: str) -> None:
    tokenizer = TOKENIZERS["WordTokenization"]
    ids, places = tokenizer.pieces(text)
    assert tokenizer.alignment_words(text) == text.split()
    assert places == list(range(len(ids)))
    assert tokenizer.words_of(ids) == (tokenizer.decode(ids).split(), places)


@subword
@given(text=TEXT)
def test_a_hypothesis_has_the_words_of_its_text(tokenizer: Tokenizer, text: str) -> None:
    ids, places = tokenizer.pieces(text)
    found, hypothesis_places = tokenizer.words_of(ids)
    aligned(tokenizer, text, found, hypothesis_places)
    if text.isascii():
        assert (found, hypothesis_places) == (tokenizer.alignment_words(text), places)


@every
@given(data=st.data())
def test_any_ids_are_a_hypothesis(tokenizer: Tokenizer, data: st.DataObject) -> None:
    """Bytes that are no character, special tokens in the middle, only spaces, unknown words."""
    ids = data.draw(st.lists(st.integers(0, len(tokenizer) - 1), max_size=12))
    found, places = tokenizer.words_of(ids)
    assert len(places) == len(ids)
    aligned(tokenizer, tokenizer.decode(ids), found, places)


def test_words_and_their_pieces() -> None:
    tokenizer = TOKENIZERS["BPETokenization"]
    ids, places = tokenizer.pieces("the  dog sat ")
    assert [tokenizer._backend.id_to_token(i) for i in ids] == [" the", " ", " d", "o", "g", " sat", " "]
    assert places == [0, 1, 1, 1, 1, 2, 2], "a space belongs to what follows, the last to the last word"
    assert tokenizer.alignment_words("the  dog sat ") == ["the", "dog", "sat"]
    assert tokenizer.words_of([*ids[:1], UNK, *ids[-2:]]) == (["the<unk>", "sat"], [0, 0, 1, 1])
    assert tokenizer.alignment_words("  ") == [""]
    assert tokenizer.pieces("  ")[1] == [0, 0, 0]
    assert tokenizer.alignment_words("") == []


def test_without_spaces_a_piece_is_a_word() -> None:
    tokenizer = learnt(BPETokenization(300), ["日本語 日本 中文", "日本語"] * 3)
    assert tokenizer.alignment_words("日本語中文 x日本") == ["日本語", "中", "文", "x", "日", "本"]
    assert tokenizer.pieces("日本語中文 x日本")[1] == [0, 1, 2, 3, 3, 4, 5], "the space of x goes with x"
    [ids] = tokenizer.encode(["日本語☃々中文"])
    assert tokenizer.words_of(ids) == (["日本語", "☃", "々", "中", "文"], [0, 1, 1, 1, 2, 2, 2, 3, 4])


def test_a_character_of_several_bytes_is_no_more_than_one_word() -> None:
    tokenizer = TOKENIZERS["CharacterTokenization"]
    ids, places = tokenizer.pieces("龍 a")
    assert len(ids) == 6
    assert tokenizer.alignment_words("龍 a") == ["龍", "a"]
    assert places == tokenizer.words_of(ids)[1] == [0, 0, 0, 0, 1, 1]
    assert tokenizer.words_of(ids[:3]) == (["\ufffd\ufffd"], [0, 0, 0])


@every
def test_symbols_have_their_ids_and_decode_skips_marks(tokenizer: Tokenizer) -> None:
    assert [tokenizer._backend.token_to_id(symbol) for symbol in SPECIAL_TOKENS] == [PAD, UNK, BOS, EOS] == [0, 1, 2, 3]
    [ids] = tokenizer.encode(["the cat"])
    assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == "the cat"
    assert "<unk>" in tokenizer.decode([*ids, UNK])
    assert tokenizer.decode([BOS, EOS]) == tokenizer.decode([]) == ""
    assert tokenizer.encode(["", "the cat"]) == [[], ids]
    assert tokenizer.encode([]) == []


@every
def test_save_and_load(tokenizer: Tokenizer, tmp_path: Path) -> None:
    texts = [
        "le chat l' homme",
        "über 中文 é  x \t",
        "the cat",
        *(text for text in NASTY if text not in SPECIAL_TOKENS),
    ]
    path = tmp_path / "new" / "source.json"
    tokenizer.save(path)
    loaded = Tokenizer.load(path)
    assert loaded.encode(texts) == tokenizer.encode(texts)
    assert loaded.to_json() == tokenizer.to_json()
    assert len(loaded) == len(tokenizer)
    assert loaded._across_spaces is False, "it is still known that units can be encoded one by one"
    assert [file.name for file in path.parent.iterdir()] == ["source.json"], "no temporary file is left"
    library = tokenizers.Tokenizer.from_file(str(path))
    assert [library.encode(text).ids for text in texts if "</s>" not in text] == tokenizer.encode(
        [text for text in texts if "</s>" not in text]
    )


def test_load_refuses_with_one_line(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>")).save(str(other))
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"model": "?"}))
    for path, expected in [(tmp_path / "none.json", "no such file"), (broken, "not a token"), (other, "ids 0 to 3")]:
        with pytest.raises(InputError, match=expected) as caught:
            Tokenizer.load(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
