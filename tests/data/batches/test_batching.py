from typing import get_args

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.special_tokens import BOS, EOS, PAD
from lookback.data import Batch, BucketBatchSampler, Sentences, WordTokenization, encode_sources
from lookback.data.batches.batching import BatchSize, BatchUnit, _batch_starts

UNITS = get_args(BatchUnit)
LENGTHS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=200)


def sampler(lengths, batch_size=8, unit="sentences", seed=1, shuffle=True) -> BucketBatchSampler:
    source, target = np.array(lengths, dtype=np.int64).reshape(-1, 2).T
    return BucketBatchSampler(source, target, batch_size, unit, seed, shuffle)


def epoch(batches: BucketBatchSampler, number: int) -> list[list[int]]:
    batches.set_epoch(number)
    return [rows.tolist() for rows in batches]


@given(LENGTHS, st.integers(1, 100), st.sampled_from(UNITS), st.booleans(), st.integers(0, 5))
def test_every_pair_once_an_epoch_within_the_budget(lengths, batch_size, unit, shuffle, number) -> None:
    batches = sampler(lengths, batch_size, unit, shuffle=shuffle)
    rows = epoch(batches, number)
    assert sorted(row for batch in rows for row in batch) == list(range(len(lengths)))
    assert len(rows) == len(batches), "Lightning counts on the length, which is the same every epoch"
    for batch in rows:
        longest = max(max(lengths[row]) for row in batch)
        if unit == "sentences":
            assert 1 <= len(batch) <= batch_size
        else:
            assert len(batch) == 1 or len(batch) * longest <= batch_size


@given(LENGTHS, st.integers(1, 50), st.sampled_from(UNITS), st.booleans(), st.integers(0, 9))
def test_order_is_a_function_of_seed_and_epoch_alone(lengths, batch_size, unit, shuffle, number) -> None:
    fresh, used = (sampler(lengths, batch_size, unit, shuffle=shuffle) for _ in range(2))
    for earlier in range(3):
        epoch(used, earlier)
    assert epoch(fresh, number) == epoch(used, number)


@given(LENGTHS, st.integers(1, 60), st.integers(1, 400))
def test_batches_are_cut_as_late_as_both_limits_allow(lengths, sentences, tokens) -> None:
    ordered = np.array(lengths, dtype=np.int32).reshape(-1, 2).T
    starts, longest = [], 0
    for row, length in enumerate(ordered.max(axis=0).tolist()):
        longest = max(longest, length)
        if not starts or row - starts[-1] + 1 > sentences or (row - starts[-1] + 1) * longest > tokens:
            starts.append(row)
            longest = length
    assert _batch_starts(ordered, sentences, tokens).tolist() == starts


def test_epochs_and_seeds_differ_and_evaluation_never_does() -> None:
    lengths = [(1 + i % 7, 1 + i % 5) for i in range(500)]
    orders = [epoch(sampler(lengths, seed=seed), number) for seed in (1, 2) for number in (0, 1, 2)]
    assert len({str(order) for order in orders}) == 6
    contents = [{frozenset(batch) for batch in order} for order in orders]
    assert contents[0] != contents[1], "not only the order of the batches changes, their pairs do"
    evaluation = sampler(lengths, shuffle=False)
    assert epoch(evaluation, 0) == epoch(evaluation, 5)


def test_evaluation_begins_with_the_longest_sources() -> None:
    lengths = np.random.default_rng(0).integers(1, 50, (300, 2))
    order = [row for batch in epoch(sampler(lengths, shuffle=False), 0) for row in batch]
    assert (np.diff(lengths[order, 0]) <= 0).all()


@given(LENGTHS, st.integers(1, 60), st.sampled_from(UNITS), st.booleans())
def test_padding_waste_is_what_the_batches_pad(lengths, batch_size, unit, shuffle) -> None:
    batches = sampler(lengths, batch_size, unit, shuffle=shuffle)
    array = np.array(lengths).reshape(-1, 2)
    for number in (0, 1):
        slots = sum(len(rows) * array[rows].max(axis=0).sum() for rows in epoch(batches, number))
        expected = 1 - array.sum() / slots if slots else 0.0
        assert batches.padding_waste == pytest.approx(expected, abs=1e-12)


def test_little_padding_on_natural_lengths() -> None:
    random = np.random.default_rng(3)
    source = random.geometric(0.05, 20_000).clip(1, 60)
    target = (source * random.normal(1.1, 0.15, len(source))).round().clip(1, 120).astype(int)
    lengths = np.stack([source, target], axis=1)
    assert sampler(lengths, 64).padding_waste < 0.05
    unsorted = [lengths[i : i + 64] for i in range(0, len(lengths), 64)]
    at_random = 1 - lengths.sum() / sum(len(part) * part.max(axis=0).sum() for part in unsorted)
    assert at_random > 0.5


def test_a_sentence_over_the_token_budget_is_its_own_batch() -> None:
    rows = epoch(sampler([(3, 3), (10_000, 2), (3, 3), (2, 300)], batch_size=12, unit="tokens"), 0)
    assert sorted(map(sorted, rows)) == [[0, 2], [1], [3]]


def test_others_are_not_padded_to_a_stray_line() -> None:
    lengths = [(5, 6)] * 200 + [(10_000, 6), (5, 10_000)]
    for shuffle in (True, False):
        rows = epoch(sampler(lengths, batch_size=8, shuffle=shuffle), 0)
        assert max(len(batch) * max(max(lengths[row]) for row in batch) for batch in rows) <= 10_000
        assert len(rows) <= 30


def test_bad_settings_name_the_argument() -> None:
    with pytest.raises(ValueError, match="batch_size=0: expected a whole number, 1 or more"):
        sampler([(1, 1)], batch_size=0)
    with pytest.raises(ValueError, match="unit=words: expected one of sentences, tokens"):
        sampler([(1, 1)], unit="words")
    with pytest.raises(ValueError, match="target_lengths: 1 of them, expected 2, one a source"):
        BucketBatchSampler(np.ones(2), np.ones(1), 4, "sentences", 1, True)


@given(st.data())
def test_padding_is_right_of_the_sentence_and_nowhere_else(data) -> None:
    lists = data.draw(st.lists(st.lists(st.integers(1, 2**31 - 1), max_size=12), min_size=1, max_size=20))
    rows = np.array(data.draw(st.lists(st.integers(0, len(lists) - 1))), dtype=np.int64)
    padded = Sentences.from_lists(lists).padded(rows)
    assert padded.dtype == np.int64
    assert padded.shape == (len(rows), max((len(lists[row]) for row in rows), default=0))
    for row, line in zip(rows, padded.tolist(), strict=True):
        assert line == lists[row] + [PAD] * (len(line) - len(lists[row]))


def test_batch_views_and_moves() -> None:
    target = torch.tensor([[BOS, 7, 8, EOS], [BOS, 9, EOS, PAD]])
    batch = Batch(torch.arange(2), torch.tensor([[5, EOS], [EOS, PAD]]), torch.tensor([2, 1]), target, 5)
    assert len(batch) == 2
    assert batch.inputs.tolist() == [[BOS, 7, 8], [BOS, 9, EOS]]
    assert batch.outputs.tolist() == [[7, 8, EOS], [9, EOS, PAD]]
    assert batch.whole == (2, 5)
    batch.global_size = BatchSize(7, 30)
    moved = batch.to("meta")
    assert isinstance(moved, Batch)
    assert moved.target_tokens == 5
    assert moved.whole == (7, 30)
    assert {getattr(moved, name).device.type for name in ("ids", "source", "source_length", "target")} == {"meta"}


def test_encode_sources_keeps_order_and_blank_sentences() -> None:
    tokenizer, _ = WordTokenization().learn(lambda side: iter([pa.array(["a b c"])]))
    sources = encode_sources(["b", "", "c a z"], tokenizer)
    assert sources.source.tolist() == [[5, EOS, PAD, PAD], [EOS, PAD, PAD, PAD], [6, 4, 1, EOS]]
    assert sources.source_length.tolist() == [2, 1, 4]
    assert len(sources) == 3
    assert sources.to("cpu").source.dtype == sources.source_length.dtype == torch.int64
    assert encode_sources([], tokenizer).source.shape == (0, 0)
