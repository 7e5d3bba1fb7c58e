import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from random import Random

import hydra
import pyarrow as pa
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.errors import InputError
from lookback.common.special_tokens import SPECIAL_TOKENS, UNK
from lookback.data import (
    BPETokenization,
    CharacterTokenization,
    FileTokenization,
    Tokenization,
    Tokenizer,
    UnigramTokenization,
    WordTokenization,
)
from support.running import CONF

TEXT = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from([*SPECIAL_TOKENS, " ", "\t", "\x1c", "\x1f", "\x85", "\u2028", "a</s>b", "İ"]),
    )
).map("".join)
SOURCE = ["the cat sat on the mat", "the Cats sat", "a dog sat with the cat"] * 3
TARGET = ["le chat était assis", "les chats étaient assis", "un chien était assis avec le chat"] * 3
LEARNERS = [WordTokenization, BPETokenization, UnigramTokenization, CharacterTokenization]
every = pytest.mark.parametrize("learner", LEARNERS)
subword = pytest.mark.parametrize("learner", LEARNERS[1:])


def column(source: list[str], target: list[str] | None = None) -> Callable[[str], Iterator[pa.Array]]:
    """Sentences as a corpus gives them: in several arrays, of both string types."""
    texts = {"source": source, "target": source if target is None else target}

    def arrays(side: str) -> Iterator[pa.Array]:
        yield pa.array(texts[side][:2], pa.string())
        yield pa.array(texts[side], pa.large_string())[2:]

    return arrays


@given(st.lists(TEXT), st.integers(5, 12), st.integers(1, 3), st.booleans(), st.randoms(use_true_random=False))
def test_words_are_the_most_frequent_ties_by_text(texts, size, min_frequency, lowercase, random) -> None:
    lower = tokenizers.normalizers.Lowercase().normalize_str if lowercase else str
    counts = Counter(word for text in texts for word in lower(text).split() if word not in SPECIAL_TOKENS)
    ranked = sorted((w for w in counts if counts[w] >= min_frequency), key=lambda w: (-counts[w], w))
    expected = ranked[: size - 4]
    recipe = WordTokenization(size, min_frequency, lowercase)
    if not expected:
        with pytest.raises(InputError, match="no word"):
            recipe.learn(column(texts))
        return
    tokenizer, _ = recipe.learn(column(texts))
    assert len(tokenizer) == 4 + len(expected)
    assert tokenizer.encode([" ".join(expected)]) == [list(range(4, 4 + len(expected)))]
    outside = [word for word in counts if word not in expected]
    assert tokenizer.encode([" ".join(outside)]) == [[UNK] * len(outside)]

    random.shuffle(texts)
    assert recipe.learn(column(texts))[0].to_json() == tokenizer.to_json()


@every
def test_each_side_learns_from_its_own_sentences(learner: type[Tokenization]) -> None:
    source, target = learner().learn(column(SOURCE, TARGET))
    alone, _ = learner().learn(column(SOURCE, ["other text"]))
    assert source.to_json() == alone.to_json() != target.to_json()
    text = TARGET[0]
    assert len(target.encode([text])[0]) < len(source.encode([text])[0]) or UNK in source.encode([text])[0]


@every
def test_joint_is_one_tokenizer_of_both_sides(learner: type[Tokenization]) -> None:
    source, target = learner(joint=True).learn(column(SOURCE, TARGET))
    assert source is target
    assert source.to_json() == learner().learn(column(SOURCE + TARGET))[0].to_json()
    for text in (SOURCE[0], TARGET[0]):
        assert source.decode(source.encode([text])[0]) == text


@every
def test_lower_case(learner: type[Tokenization]) -> None:
    tokenizer, _ = learner(lowercase=True).learn(column(SOURCE))
    plain, _ = learner().learn(column([text.lower() for text in SOURCE]))
    assert tokenizer.encode(["The CATS sat"]) == plain.encode(["the cats sat"])
    assert tokenizer.decode(tokenizer.encode(["The CATS sat"])[0]) == "the cats sat"
    assert len(tokenizer) == len(plain)
    assert tokenizer.alignment_words("The CATS sat") == ["The", "CATS", "sat"], "the raw words"


@subword
def test_the_vocabulary_has_the_symbols_the_bytes_and_what_was_learnt(learner: type[Tokenization]) -> None:
    for size in (261, 270, 290, 4000):
        tokenizer, _ = learner(size).learn(column(SOURCE))
        assert 260 < len(tokenizer) <= size
        pieces = [tokenizer._backend.id_to_token(i) for i in range(len(tokenizer))]
        assert pieces[:4] == list(SPECIAL_TOKENS)
        assert pieces[4:260] == [f"<0x{byte:02X}>" for byte in range(256)]
        assert " " in pieces[260:]
        assert len(set(pieces)) == len(pieces)
        assert [tokenizer.decode(ids) for ids in tokenizer.encode(SOURCE)] == SOURCE
    assert learner(4000).learn(column(SOURCE))[0].to_json() == tokenizer.to_json()


@pytest.mark.parametrize("learner", [BPETokenization, UnigramTokenization])
def test_frequent_words_are_one_piece_and_rare_ones_several(learner: type[Tokenization]) -> None:
    texts = ["the parliament sat in the parliament"] * 50 + ["government governs governor governing"] * 5 + ["zyx"]
    tokenizer, _ = learner(320).learn(column(texts))
    pieces = [[tokenizer._backend.id_to_token(i) for i in ids] for ids in tokenizer.encode(["the parliament", "zyx"])]
    assert pieces[0] == [" the", " parliament"]
    assert len(pieces[1]) > 1
    assert any(piece.startswith(" govern") for piece in tokenizer._backend.get_vocab())


def test_characters_are_the_most_frequent_and_single() -> None:
    tokenizer, _ = CharacterTokenization(264).learn(column(["bbb aaa c", "a"]))
    assert [tokenizer._backend.id_to_token(i) for i in range(260, 264)] == [" ", "a", "b", "c"]
    tokenizer, _ = CharacterTokenization(263).learn(column(["bbb aaa c", "a"]))
    assert tokenizer.encode(["abc"]) == [[260, 261, 262, 4 + ord("c")]]


def test_rare_characters_are_spelt_in_bytes_where_there_are_many() -> None:
    """Characters that occur once do not fill up a vocabulary of pieces."""
    frequent = [chr(0x4E00 + i) for i in range(20)]
    texts = ["".join(frequent)] * 100 + [chr(0x5E00 + i) for i in range(200)]
    for learner in (BPETokenization, UnigramTokenization):
        tokenizer, _ = learner(360).learn(column(texts))
        vocabulary = tokenizer._backend.get_vocab()
        assert set(frequent) <= set(vocabulary)
        assert len(tokenizer) <= 360
        assert sum(len(piece.strip()) == 1 for piece in vocabulary) <= 60
        assert tokenizer.decode(tokenizer.encode([texts[-1]])[0]) == texts[-1]


CHILD = """
import sys, pyarrow as pa
from lookback.data import BPETokenization, CharacterTokenization, UnigramTokenization, WordTokenization
stems = [a + b for a in ("con", "per", "in", "re") for b in ("sti", "form", "fus", "duct")]
words = [stem + ending for stem in stems for ending in ("ed", "ing", "ion")]
texts = [" ".join(words[(i * k) % len(words)] for k in range(1, 12)) + " İ 日本語 </s>" for i in range(400)]
for learner in (WordTokenization, BPETokenization, UnigramTokenization, CharacterTokenization):
    for size in (300, 340):
        sys.stdout.write(learner(size).learn(lambda side: iter([pa.array(texts)]))[0].to_json())
"""


def test_learning_depends_on_nothing_but_the_sentences() -> None:
    hashes = set()
    for threads, parallel, hashing in (("1", "false", "0"), ("2", "true", "1"), ("4", "true", "random")):
        settings = {"RAYON_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": parallel, "PYTHONHASHSEED": hashing}
        output = subprocess.run(
            [sys.executable, "-c", CHILD], env={**os.environ, **settings}, capture_output=True, check=True
        )
        hashes.add(hashlib.sha256(output.stdout).hexdigest())
    assert len(hashes) == 1


def test_a_recipe_is_known_by_its_repr() -> None:
    reprs = {repr(learner(**given)) for learner in LEARNERS for given in ({}, {"joint": True}, {"lowercase": True})}
    assert len(reprs) == 12
    assert repr(WordTokenization(100)) == repr(WordTokenization(100)) != repr(WordTokenization(101))


@every
def test_bad_settings_name_the_argument(learner: type[Tokenization]) -> None:
    taken = 4 if learner is WordTokenization else 260
    with pytest.raises(ValueError, match=f"vocabulary_size={taken}: expected a whole number, more than {taken}"):
        learner(taken)
    with pytest.raises(ValueError, match=f"vocabulary_size=many: expected a whole number, more than {taken}"):
        learner("many")
    with pytest.raises(ValueError, match="min_frequency=0: expected a whole number, 1 or more"):
        WordTokenization(10, 0)
    with pytest.raises(ValueError, match="min_frequency=true: expected a whole number, 1 or more"):
        WordTokenization(10, True)


@every
@pytest.mark.parametrize("texts", [[], [""], ["  ", "\u3000\t"]])
def test_text_without_words_is_refused_in_one_line(learner: type[Tokenization], texts: list[str]) -> None:
    with pytest.raises(InputError, match="no words, expected text") as caught:
        learner().learn(column(texts))
    assert "\n" not in str(caught.value)


def test_a_minimum_that_no_word_reaches_is_named() -> None:
    with pytest.raises(InputError, match=r"tokenizer.min_frequency=50: no word .* expected 12 or less"):
        WordTokenization(min_frequency=50).learn(column(SOURCE))


def bert() -> tokenizers.Tokenizer:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    backend = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    backend.decoder = tokenizers.decoders.WordPiece()
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=60, special_tokens=special, show_progress=False)
    backend.train_from_iterator(SOURCE, trainer)
    backend.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    backend.enable_truncation(3)
    backend.enable_padding(length=20)
    return backend


def byte_level() -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(tokenizers.models.BPE())
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"], show_progress=False
    )
    backend.train_from_iterator(SOURCE, trainer)
    backend.add_tokens(["<think>"])
    return backend


def sentencepiece() -> tokenizers.Tokenizer:
    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("▁the", -1.0), ("▁cat", -2.0), ("▁", -3.0), ("s", -3.5)]
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 0))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    backend.decoder = tokenizers.decoders.Metaspace()
    backend.add_special_tokens(["<s>", "</s>", "<unk>"])
    return backend


@pytest.mark.parametrize("build", [bert, byte_level, sentencepiece])
def test_any_file_of_the_library_becomes_a_tokenizer(build: Callable[[], tokenizers.Tokenizer], tmp_path: Path) -> None:
    original = build()
    original.save(str(tmp_path / "any.json"))
    path = str(tmp_path / "any.json")
    tokenizer, other = FileTokenization(path, path).learn(column(["never looked at"]))
    assert other is tokenizer

    original = build()
    original.no_truncation()
    original.no_padding()
    original.encode_special_tokens = True
    texts = ["the cats", "the cat sat with the cats.", "", "the <think> İ 日本 \x00", "the\xa0cat ☃ sat", "cats </s>"]
    unknown = original.token_to_id("[UNK]") or (original.token_to_id("<unk>") if build is sentencepiece else None)
    for text, ids in zip(texts, tokenizer.encode(texts), strict=True):
        before = original.encode(text, add_special_tokens=False)
        expected = [
            "<unk>" if i == unknown or token in SPECIAL_TOKENS else token
            for i, token in zip(before.ids, before.tokens, strict=True)
        ]
        assert [tokenizer._backend.id_to_token(i) for i in ids] == expected, "the same pieces, under other numbers"
        found, places = tokenizer.words_of(ids)
        assert places == sorted(places)
        found, places = tokenizer.alignment_words(text), tokenizer.pieces(text)[1]
        assert "".join(found) == "".join(text.split())
        assert places == sorted(places)
        assert max(places, default=-1) < max(len(found), 1)
    assert tokenizer.encode_column(pa.array(texts))[0].tolist() == list(chain(*tokenizer.encode(texts)))
    assert tokenizer.decode(tokenizer.encode(["the cats"])[0]) == "the cats"
    assert tokenizer.alignment_words("the cat sat with the cats") == ["the", "cat", "sat", "with", "the", "cats"]

    tokenizer.save(tmp_path / "run" / "source.json")
    loaded = Tokenizer.load(tmp_path / "run" / "source.json")
    assert loaded.encode(texts) == tokenizer.encode(texts)
    saved = str(tmp_path / "run" / "source.json")
    again, _ = FileTokenization(saved, saved).learn(column([]))
    assert again.to_json() == tokenizer.to_json(), "what this project saved is not changed any more"


@every
def test_a_tokenizer_of_another_run_is_taken_as_it_is(learner: type[Tokenization], tmp_path: Path) -> None:
    source, target = learner().learn(column(SOURCE, TARGET))
    source.save(tmp_path / "source.json")
    target.save(tmp_path / "target.json")
    recipe = FileTokenization(str(tmp_path / "source.json"), str(tmp_path / "target.json"))
    assert not recipe.joint
    taken = recipe.learn(column(["never looked at"]))
    assert [tokenizer.to_json() for tokenizer in taken] == [source.to_json(), target.to_json()]


def test_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    bert().save(str(first))
    second.write_bytes(first.read_bytes())
    before = repr(FileTokenization(str(first), str(second)))
    assert repr(FileTokenization(str(second), str(first))) == before
    assert repr(FileTokenization(str(first), str(first))) != before, "that one is joint"
    byte_level().save(str(first))
    assert repr(FileTokenization(str(first), str(second))) != before
    assert str(tmp_path) not in before


def test_a_bad_file_is_refused_in_one_line(tmp_path: Path) -> None:
    good, bad, other = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "other.json"
    bert().save(str(good))
    bad.write_text("{")
    other.write_text(json.dumps({"model": {"vocab": 3}}))
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe")
    for path, message in [
        (None, "tokenizer.target=null: expected the path of a tokenizer.json"),
        (str(tmp_path / "none.json"), "tokenizer.target=.*none.json: no such file; expected"),
        (str(tmp_path), "no such file"),
        (str(bad), "tokenizer.target=.*bad.json: expected a tokenizer.json"),
        (str(other), "other.json: expected a tokenizer.json"),
        (str(binary), "binary.json: expected a tokenizer.json"),
    ]:
        with pytest.raises(InputError, match=message) as caught:
            FileTokenization(str(good), path).learn(column(SOURCE))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("choice", sorted(path.stem for path in (CONF / "tokenizer").iterdir()))
def test_every_choice_says_how_to_type_it_and_has_the_defaults_of_its_class(choice: str, tmp_path: Path) -> None:
    content = (CONF / "tokenizer" / f"{choice}.yaml").read_text()
    assert content.startswith("# ")
    assert "#   python train.py tokenizer" in content
    with hydra.initialize_config_dir(str(CONF / "tokenizer"), version_base="1.3"):
        recipe = hydra.utils.instantiate(hydra.compose(choice))
    if choice == "file":
        assert recipe == FileTokenization(None, None)
    else:
        assert recipe == type(recipe)()


def test_a_joint_tokenizer_encodes_both_sides_at_once() -> None:
    """Two threads encode with one tokenizer, as when a corpus is prepared. Neither side changes the other."""
    random = Random(1)
    words = ["".join(random.choices("abcdefgh", k=random.randint(1, 9))) for _ in range(3000)]
    texts = [pa.array([" ".join(random.choices(words, k=12)) for _ in range(200)]) for _ in range(2)]
    learnt, _ = BPETokenization(vocabulary_size=400, joint=True).learn(lambda side: iter(texts))
    expected = [[i for ids in learnt.encode(side.to_pylist()) for i in ids] for side in texts]
    for _ in range(20):
        tokenizer = Tokenizer(learnt._backend)  # nothing is known yet
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(tokenizer.encode_column, texts))
        assert [ids.tolist() for ids, _ in found] == expected
