"""Streams: each window in the order of a corpus in memory, every pair once, resumed at any batch."""

import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lookback.common.errors import InputError
from lookback.data import Batch, BucketBatchSampler, TranslationData, WordTokenization
from lookback.data.batches.loading import Loader
from lookback.data.batches.streaming import StreamLoader, StreamPosition, StreamProgress

BUFFER = 40


def sentence(i: int) -> str:
    """A sentence for each row: one word of its own and a few more, so that no two are equal."""
    return " ".join([f"n{i}", *(f"w{(i * j) % 23}" for j in range(i * 7 % 11))])


def rows(count: int) -> Iterator[dict[str, str]]:
    """Every ninth pair has a blank side."""
    for i in range(count):
        yield {"source": " " if i % 9 == 4 else sentence(i), "target": sentence(i + 1)}


class Streamed:
    train_max_length, max_length_ratio, bleu_tokenize = None, None, "none"
    streaming = True

    def __init__(self, train: datasets.IterableDataset) -> None:
        self._train = train

    def load(self, split: str) -> datasets.Dataset | datasets.IterableDataset:
        return self._train if split == "train" else datasets.Dataset.from_list(list(rows(3)))


def generated(count: int) -> datasets.IterableDataset:
    return datasets.IterableDataset.from_generator(rows, gen_kwargs={"count": count})


def data(stream: datasets.IterableDataset, buffer: int = BUFFER, batch_size: int = 8, seed: int = 1) -> TranslationData:
    module = TranslationData(Streamed(stream), WordTokenization(), batch_size, "sentences", 8, buffer, seed)
    module.setup()
    return module


def loader(module: TranslationData, rank: int = 0, ranks: int = 1) -> StreamLoader:
    cut = (module.batch_size, module.batch_unit, module.seed)
    return StreamLoader(module._windows, module._encode, *cut, rank, ranks)


def epoch(batches: Loader, number: int) -> list[list[int]]:
    batches.sampler.set_epoch(number)
    return [batch.ids.tolist() for batch in batches]


def kept(count: int) -> list[int]:
    return [i for i in range(count) if i % 9 != 4]


@pytest.mark.parametrize("count", [1, BUFFER, 203])
def test_every_pair_once_an_epoch_inside_its_window(count: int) -> None:
    module = data(generated(count))
    orders = [epoch(loader(module), number) for number in (0, 1)]
    for order in orders:
        flat = [row for batch in order for row in batch]
        assert sorted(flat) == kept(count)
        assert sorted(flat, key=lambda row: row // BUFFER) == flat, "windows follow one another"
    assert count == 1 or orders[0] != orders[1]
    assert orders[0] == epoch(module.train_dataloader(), 0)
    assert count == 1 or orders[0] != epoch(loader(data(generated(count), seed=2)), 0)


def test_batches_are_the_text() -> None:
    module = data(generated(60))
    batch: Batch
    for batch in module.train_dataloader():
        for i, row in enumerate(batch.ids.tolist()):
            known = [word for word in sentence(row).split() if row < BUFFER or not word.startswith("n")]
            decoded = module.source_tokenizer.decode(batch.source[i].tolist()).split()
            assert [word for word in decoded if word != "<unk>"] == known
            assert int(batch.source_length[i]) == len(sentence(row).split()) + 1


def test_a_window_is_ordered_as_a_corpus_of_its_pairs_is() -> None:
    module = data(generated(BUFFER))
    window = next(module._windows(0, StreamPosition()))
    pairs = module._encode(window)
    sampler = BucketBatchSampler(pairs.source.lengths, pairs.target_lengths, 8, "sentences", (1, 0), True)
    assert epoch(loader(module), 0) == [window.ids[batch].tolist() for batch in sampler]


@given(st.integers(1, 130), st.integers(1, 5), st.integers(1, 9), st.integers(3, 50))
def test_ranks_share_the_batches_of_one_process(count: int, ranks: int, batch_size: int, buffer: int) -> None:
    module = data(generated(count), buffer, batch_size)
    shares = [epoch(loader(module, rank, ranks), 1) for rank in range(ranks)]
    for whole, *parts in zip(epoch(loader(module), 1), *shares, strict=True):
        assert parts == [whole[rank::ranks] for rank in range(ranks)]


STREAMS = ["generator", "parquet", "take"]


def stream(kind: str, folder: Path) -> datasets.IterableDataset:
    if kind == "generator":
        return generated(203)
    if not (folder / "b.parquet").is_file():
        whole = datasets.Dataset.from_list(list(rows(203)))
        whole.select(range(100)).to_parquet(folder / "a.parquet", batch_size=17)
        whole.select(range(100, 203)).to_parquet(folder / "b.parquet", batch_size=30)
    files = [str(folder / f"{name}.parquet") for name in "ab"]
    read = datasets.load_dataset("parquet", data_files=files, split="train", streaming=True)
    return read.take(150) if kind == "take" else read


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_goes_on_from_any_batch(kind: str, tmp_path: Path) -> None:
    whole = [epoch(loader(data(stream(kind, tmp_path))), number) for number in (0, 1)]
    for number, order in enumerate(whole):
        for done in (0, 1, 5, 6, 11, len(order) - 1, len(order)):
            begun = loader(data(stream(kind, tmp_path)))
            begun.sampler.set_epoch(number)
            for _ in islice(begun, done):
                pass
            resumed = loader(data(stream(kind, tmp_path)))
            resumed.load_state_dict(begun.state_dict())
            assert resumed.state_dict() == begun.state_dict()
            found = [batch.ids.tolist() for batch in resumed]
            assert found == order[done:]
            if number == 0:
                assert epoch(resumed, 1) == whole[1], "the next epoch begins at its start"


def test_a_stream_that_ends_is_followed_by_the_next_epoch() -> None:
    module = data(generated(100))
    ended = loader(module)
    epoch(ended, 3)
    assert ended.state_dict() == {"epoch": 4, "batch": 0, "reached": {"pairs": 0, "dropped": {}}}


def test_a_state_does_not_know_what_was_only_read_ahead() -> None:
    """Reads one batch ahead of training, as Lightning reads streams."""
    module = data(generated(203))
    whole = epoch(loader(module), 0)
    cut = (module.batch_size, module.batch_unit, module.seed)
    ahead = StreamLoader(module._windows, module._encode, *cut, 0, 1, counted=True)
    batches = iter(ahead)
    next(batches)
    for done in range(1, len(whole) + 1):
        next(batches, None)
        ahead.take()
        resumed = loader(module)
        resumed.load_state_dict(ahead.state_dict())
        assert [batch.ids.tolist() for batch in resumed] == (whole[done:] or epoch(loader(module), 1))


BLANK = "a side without words"


def reached_after(batches: list[list[int]], count: int) -> StreamProgress:
    """The expected counts: the whole windows of these batches, and everything of a stream that ended."""
    pairs = BUFFER * (1 + max(row for batch in batches for row in batch) // BUFFER)
    pairs = count if pairs > count or sorted(row for batch in batches for row in batch) == kept(count) else pairs
    blank = sum(i % 9 == 4 for i in range(pairs))
    return StreamProgress(pairs, {BLANK: blank} if blank else {})


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("counted", [False, True])
def test_what_is_dropped_is_counted_as_far_as_training_went(kind: str, counted: bool, tmp_path: Path) -> None:
    """At every batch, also when reading is ahead of training, and after resuming from any batch."""
    count = 150 if kind == "take" else 203
    module = data(stream(kind, tmp_path))
    cut = (module.batch_size, module.batch_unit, module.seed)

    def begun() -> StreamLoader:
        return StreamLoader(module._windows, module._encode, *cut, 0, 1, counted)

    through = begun()
    assert through.reached == StreamProgress()
    order: list[list[int]] = []
    states = []
    batches = iter(through)
    waiting = [next(batches)] if counted else []
    while True:
        if (batch := next(batches, None)) is not None:
            waiting.append(batch)
        if not waiting:
            break
        order.append(waiting.pop(0).ids.tolist())
        if counted:
            through.take()
        if counted or batch is not None:  # without a look ahead, the end is known when the next batch is asked for
            states.append(through.state_dict())
            assert through.reached == reached_after(order, count), len(order)
    assert through.reached == reached_after(order, count)
    assert epoch(through, 1)
    assert through.reached == reached_after(order, count), "a second reading counts nothing twice"

    for done in (1, 5, 6, len(states) - 1, len(states)):
        state = states[done - 1]
        resumed = begun()
        resumed.load_state_dict(state)
        assert resumed.reached == reached_after(order[:done], count)
        for number in (0, 1):
            resumed.sampler.set_epoch(max(number, state["epoch"]))
            for _ in resumed:
                if counted:
                    resumed.take()
        assert resumed.reached == reached_after(order, count)


def blanks(count: int, first: int, last: int) -> Iterator[dict[str, str]]:
    for i in range(count):
        yield {"source": "a b" if first <= i < last else " ", "target": "c"}


@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 7), (95, 100), (45, 46), (0, 100)])
@pytest.mark.parametrize("ranks", [1, 2])
def test_windows_of_which_nothing_is_left_are_counted_wherever_they_are(first: int, last: int, ranks: int) -> None:
    module = data(
        datasets.IterableDataset.from_generator(blanks, gen_kwargs={"count": 100, "first": first, "last": last}), 10
    )
    for rank in range(ranks):
        batches = loader(module, rank, ranks)
        epoch(batches, 0)
        dropped = 100 - (last - first)
        assert batches.reached == StreamProgress(100, {BLANK: dropped} if dropped else {})


def test_a_stream_that_was_read_once_dropped_what_a_corpus_of_its_pairs_drops(
    capsys: pytest.CaptureFixture[str],
) -> None:
    limits = {"train_max_length": 6, "max_length_ratio": 4.0}

    class Whole(Streamed):
        streaming = False
        train_max_length, max_length_ratio = limits.values()

    class Stream(Streamed):
        train_max_length, max_length_ratio = limits.values()

    cut = (WordTokenization(), 8, "sentences", 8, BUFFER, 1)
    whole = TranslationData(Whole(datasets.Dataset.from_list(list(rows(203)))), *cut)  # type: ignore[arg-type]
    whole.setup()
    printed = capsys.readouterr().err.splitlines()
    read = TranslationData(Stream(generated(203)), *cut)
    read.setup()
    for _ in read.train_dataloader():
        pass
    assert len(whole.describe()["dropped"]) > 2
    assert read.describe()["dropped"] == whole.describe()["dropped"]
    capsys.readouterr()
    read.teardown("test")
    assert capsys.readouterr().err == ""
    read.teardown("fit")
    (line,) = capsys.readouterr().err.splitlines()
    assert line in printed
    assert line.startswith("training pairs: ")


def test_what_is_no_stream_is_not_taken_for_one() -> None:
    with pytest.raises(TypeError, match="the train split is no stream, expected one, as streaming=true says"):
        data(datasets.Dataset.from_list(list(rows(9))))  # type: ignore[arg-type]


def test_tokenizers_are_learnt_on_the_first_window_and_kept(datasets_cache: Path) -> None:
    first = data(generated(100))
    words = {word for i in kept(BUFFER) for word in sentence(i).split()}
    assert len(first.source_tokenizer) == len(words) + 4
    again = data(generated(5_000))
    assert again.source_tokenizer.to_json() == first.source_tokenizer.to_json()
    assert len(list((datasets_cache / "lookback" / "tokenizers").glob("*/source.json"))) == 1


def test_what_nobody_knows_of_a_stream_is_said_to_be_unknown() -> None:
    described = data(generated(10)).describe()
    assert [described[name] for name in ("train", "dropped", "overlap", "padding_waste")] == [None] * 4
    assert described["test"]["pairs"] == 3


def test_an_empty_stream_is_refused() -> None:
    with pytest.raises(InputError, match="data: no pairs in the train split, expected one or more"):
        data(datasets.IterableDataset.from_generator(lambda: iter([{"source": " ", "target": "a"}])))


def test_a_stream_that_claims_forty_million_pairs_is_read_no_further_than_it_is_used() -> None:
    """The order of its first batches is that of a short one."""
    digests = []
    for count in (40_000_000, 500):
        batches = islice(loader(data(generated(count))), 60)
        digests.append(hashlib.sha256(b"".join(batch.target.numpy().tobytes() for batch in batches)).hexdigest())
    assert digests[0] == digests[1]


def test_ids_are_the_numbers_of_the_pairs_in_the_stream() -> None:
    module = data(generated(100))
    for batch in module.train_dataloader():
        assert batch.ids.dtype == torch.int64
        assert not np.isin(batch.ids.numpy() % 9, [4]).any()
