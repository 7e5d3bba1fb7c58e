import json
from collections import Counter
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from lookback.data import Tokenizer, train_word_tokenizer
from lookback.errors import InputError
from lookback.symbols import BOS, EOS, PAD, SYMBOLS, UNK

# No surrogates: they are no text. White space of every kind, and the symbols themselves, come often.
TEXT = st.lists(
    st.one_of(st.text(max_size=8), st.sampled_from([*SYMBOLS, " ", "\t", "\x1c", "\x1f", "\x85", "\u2028", "a</s>b"]))
).map("".join)


@given(st.lists(TEXT))
def test_round_trip_gives_the_words_of_str_split(texts: list[str]) -> None:
    tokenizer = train_word_tokenizer(texts, vocabulary_size=10_000)
    for text, ids in zip(texts, tokenizer.encode(texts), strict=True):
        words = ["<unk>" if word in SYMBOLS else word for word in text.split()]
        assert tokenizer.decode(ids) == " ".join(words)
        assert len(ids) == len(words)
        assert not {PAD, BOS, EOS} & set(ids), "text must not smuggle marks in"


@given(st.lists(TEXT), st.integers(5, 12), st.integers(1, 3), st.randoms(use_true_random=False))
def test_shortlist_is_the_most_frequent_words_ties_by_text(texts, size, min_frequency, random) -> None:
    counts = Counter(word for text in texts for word in text.split() if word not in SYMBOLS)
    ranked = sorted((w for w in counts if counts[w] >= min_frequency), key=lambda w: (-counts[w], w))
    expected = ranked[: size - 4]
    tokenizer = train_word_tokenizer(texts, size, min_frequency)
    assert len(tokenizer) == 4 + len(expected)
    assert tokenizer.encode([" ".join(expected)]) == [list(range(4, 4 + len(expected)))]
    outside = [word for word in counts if word not in expected]
    assert tokenizer.encode([" ".join(outside)]) == [[UNK] * len(outside)]

    random.shuffle(texts)
    assert train_word_tokenizer(iter(texts), size, min_frequency).to_json() == tokenizer.to_json()


def test_symbols_have_their_ids_and_decode_skips_marks() -> None:
    tokenizer = train_word_tokenizer(["b a a"], 10)
    assert [tokenizer._backend.token_to_id(symbol) for symbol in SYMBOLS] == [PAD, UNK, BOS, EOS] == [0, 1, 2, 3]
    assert tokenizer.decode([BOS, 4, UNK, 5, EOS, PAD, PAD]) == "a <unk> b"
    assert tokenizer.decode([BOS, EOS]) == tokenizer.decode([]) == ""
    assert tokenizer.encode(["", " \u2028 ", "z"]) == [[], [], [UNK]]
    assert tokenizer.encode([]) == []


def test_save_and_load(tmp_path: Path) -> None:
    texts = ["le chat l' homme", "über 中文 é </s> <unk>"]
    tokenizer = train_word_tokenizer(texts, 100)
    path = tmp_path / "new" / "source.json"
    tokenizer.save(path)
    loaded = Tokenizer.load(path)
    assert loaded.encode(texts) == tokenizer.encode(texts)
    assert loaded.to_json() == tokenizer.to_json()
    assert [file.name for file in path.parent.iterdir()] == ["source.json"], "no temporary file is left"
    assert tokenizers.Tokenizer.from_file(str(path)).get_vocab_size() == len(tokenizer), "the library reads it too"


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


def test_bad_settings_name_the_argument() -> None:
    with pytest.raises(ValueError, match="vocabulary_size: 4, expected more than 4"):
        train_word_tokenizer(["a"], 4)
    with pytest.raises(ValueError, match="min_frequency: 0, expected 1 or more"):
        train_word_tokenizer(["a"], 10, 0)


def test_a_subword_tokenizer_of_the_library_fits_too() -> None:
    """The seam for BPE, unigram and characters: nothing but its symbols' ids is asked of the backend."""
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    backend.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=60, special_tokens=list(SYMBOLS), show_progress=False)
    texts = ["the cat sat", "the hat"]
    backend.train_from_iterator(texts, trainer)
    tokenizer = Tokenizer(backend)
    assert [tokenizer.decode(ids) for ids in tokenizer.encode(texts)] == texts
    assert EOS not in tokenizer.encode(["the </s> cat"])[0]
