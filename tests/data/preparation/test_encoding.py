"""Cached token ids: text with special tokens, chosen pairs only, no reuse for other text or other tokenizers."""

from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.special_tokens import BOS, EOS, PAD
from lookback.data import Tokenizer, WordTokenization
from lookback.data.corpora.columns import columns
from lookback.data.preparation.encoding import EncodedPairs, encode_arrays, encode_pairs

TEXTS = st.lists(st.text("ab c", max_size=9), max_size=60)
SOURCE, TARGET = WordTokenization(50).learn(lambda side: iter([pa.array(["a b ab" if side == "source" else "a c"])]))


def sentences(pairs: EncodedPairs) -> list[tuple[list[int], list[int]]]:
    sides = (pairs.source, pairs.target)
    return [
        tuple(side.tokens[side.starts[i] :][: side.lengths[i]].tolist() for side in sides) for i in range(len(pairs))
    ]


def plain(texts: datasets.Dataset, source: Tokenizer, target: Tokenizer) -> list[tuple[list[int], list[int]]]:
    sources, targets = source.encode(texts["source"][:]), target.encode(texts["target"][:])
    return [([*s, EOS], [BOS, *t, EOS]) for s, t in zip(sources, targets, strict=True)]


def dataset(texts: list[str]) -> datasets.Dataset:
    features = datasets.Features({"source": datasets.Value("string"), "target": datasets.Value("string")})
    return datasets.Dataset.from_dict({"source": texts, "target": texts[::-1]}, features)


@given(TEXTS, st.randoms(use_true_random=False))
def test_every_chosen_sentence_with_its_marks(texts: list[str], random) -> None:
    rows = dataset(texts)
    keep = np.array([random.random() < 0.7 for _ in texts], dtype=bool)
    expected = plain(rows, SOURCE, TARGET)
    assert sentences(encode_pairs(rows, SOURCE, TARGET)) == expected
    chosen = encode_pairs(rows, SOURCE, TARGET, keep)
    assert sentences(chosen) == [pair for pair, stays in zip(expected, keep, strict=True) if stays]
    batch = chosen[np.arange(len(chosen))]
    assert batch.target_tokens == (batch.outputs != PAD).sum()
    for source, target in columns(rows):
        assert sentences(encode_arrays(source, target, SOURCE, TARGET, np.arange(len(source)))) == expected


def test_counts_need_no_look_at_the_ids() -> None:
    pairs = encode_pairs(dataset(["a z", "", "z z c"]), SOURCE, TARGET)
    assert pairs.unknown == (4, 3), "of the source z, z, z and c"
    assert pairs.describe() == {
        "pairs": 3,
        "source_tokens": 8,
        "target_tokens": 8,
        "source_unknown": 4 / 5,
        "target_unknown": 3 / 5,
    }


def test_a_second_time_nothing_is_written_and_ids_are_mapped_from_files(datasets_cache: Path) -> None:
    def written() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in datasets_cache.rglob("*") if path.is_file()}

    rows = dataset(["a b", "c"])
    encode_pairs(rows, SOURCE, TARGET)
    before = written()
    again = encode_pairs(rows, SOURCE, TARGET)
    assert written() == before
    assert isinstance(again.source.tokens.base, np.memmap)
    encode_pairs(rows, TARGET, SOURCE)
    encode_pairs(rows, SOURCE, TARGET, np.array([True, False]))
    assert len(list((datasets_cache / "lookback" / "ids").glob("*/source.tokens"))) == 3
