import json
from collections import Counter
from random import Random

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from lookback.data.bpe import bpe_pieces


def library(words: Counter[str], size: int) -> tuple[list[str], list[tuple[str, str]]]:
    backend = tokenizers.Tokenizer(tokenizers.models.BPE())
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Split(" ", "removed")
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=size, min_frequency=2, show_progress=False)
    backend.train_from_iterator([" ".join(words.elements())], trainer)
    model = json.loads(backend.to_str())["model"]
    return sorted(model["vocab"], key=model["vocab"].__getitem__), list(map(tuple, model["merges"]))


@given(st.dictionaries(st.text("abc", min_size=1, max_size=8), st.integers(1, 20), min_size=1), st.integers(3, 40))
def test_it_learns_what_the_library_learns(words: dict[str, int], size: int) -> None:
    characters = sorted(set("".join(words)))
    size = max(size, len(characters))
    assert bpe_pieces(words, characters, size) == library(Counter(words), size)


@pytest.mark.parametrize("seed", range(3))
def test_it_learns_what_the_library_learns_of_words_like_ours(seed: int) -> None:
    random = Random(seed)
    syllables = ["".join(random.choices("abcdefghijklmnop", k=random.randint(1, 3))) for _ in range(60)]
    words = Counter("".join(random.choices(syllables, k=random.randint(1, 4))) for _ in range(5000))
    assert bpe_pieces(words, sorted(set("".join(words))), 500) == library(words, 500)


def test_a_piece_has_at_most_sixteen_characters() -> None:
    pieces, _ = bpe_pieces({"abcdefghijklmnopqrstuvwxyz": 10}, "abcdefghijklmnopqrstuvwxyz", 100)
    assert max(map(len, pieces)) == 16


def test_a_pair_that_occurs_once_is_left() -> None:
    assert bpe_pieces({"ab": 1, "cd": 2}, "abcd", 100) == (["a", "b", "c", "d", "cd"], [("c", "d")])
