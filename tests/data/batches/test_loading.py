"""Loaders under Lightning: resumed in the middle of an epoch, and shared among real processes."""

import json
import os
import subprocess
import sys
from itertools import islice, product
from pathlib import Path

import datasets
import lightning
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lookback.data import Batch, BucketBatchSampler, TranslationData, WordTokenization
from lookback.data.batches.loading import BatchLoader
from support.paths import PROJECT


def sentence(i: int) -> str:
    return " ".join(f"w{(i * j) % 23}" for j in range(1, 2 + i * 7 % 11))


def rows(count: int) -> list[dict[str, str]]:
    return [{"source": sentence(i), "target": sentence(i + 1)} for i in range(count)]


class Numbered:
    """Numbered sentences, in memory or as a stream."""

    train_max_length, max_length_ratio, bleu_tokenize = None, None, "none"

    def __init__(self, count: int, streams: bool) -> None:
        self._count, self.streaming = count, streams

    def load(self, split: str) -> datasets.Dataset | datasets.IterableDataset:
        if split == "train" and self.streaming:
            return datasets.IterableDataset.from_generator(lambda: iter(rows(self._count)))
        return datasets.Dataset.from_list(rows(self._count if split == "train" else 20))


def data(streams: bool = False, count: int = 101) -> TranslationData:
    module = TranslationData(Numbered(count, streams), WordTokenization(), 8, "sentences", 8, 30, 1)
    module.setup()
    return module


class Recorder(lightning.LightningModule):
    """Learns nothing; records the pairs of each batch, and saves a checkpoint when the test says so."""

    def __init__(self, path: Path, save_at: int | None = None) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.path, self.save_at = path, save_at
        self.batches: list[tuple[int, list[int]]] = []
        self.evaluated: list[list[int]] = []

    def training_step(self, batch: Batch, index: int) -> torch.Tensor:
        self.batches.append((self.current_epoch, batch.ids.tolist()))
        return self.weight * batch.target_tokens

    def on_train_batch_end(self, *_: object) -> None:
        if len(self.batches) == self.save_at:
            self.trainer.save_checkpoint(self.path)

    def test_step(self, batch: Batch, index: int) -> None:
        self.evaluated.append(batch.ids.tolist())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        assert self.trainer.estimated_stepping_batches > 0, "as schedules ask for it, before training begins"
        return torch.optim.SGD(self.parameters(), lr=0.1)


def trainer(folder: Path, **settings) -> lightning.Trainer:
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    return lightning.Trainer(
        accelerator="cpu",
        default_root_dir=folder,
        enable_checkpointing=False,
        use_distributed_sampler=False,
        **(quiet | settings),
    )


@given(st.integers(1, 20), st.sampled_from([1, 8, 103]), st.booleans())
def test_ranks_share_the_batches_of_one_process(ranks: int, batch_size: int, shuffle: bool) -> None:
    pairs = data(count=103)._encoded["train"]
    lengths = (pairs.source.lengths, pairs.target_lengths)
    sampler = BucketBatchSampler(*lengths, batch_size, "sentences", 1, shuffle)
    shares = [list(BatchLoader(pairs, sampler, rank, ranks)) for rank in range(ranks)]
    for whole, *parts in zip(BatchLoader(pairs, sampler), *shares, strict=True):
        assert [part.ids.tolist() for part in parts] == [whole.ids[rank::ranks].tolist() for rank in range(ranks)]
        assert {part.whole for part in parts} == {(len(whole), whole.target_tokens)}
        assert sum(part.target_tokens for part in parts) == whole.target_tokens


def test_a_rank_is_one_of_the_ranks() -> None:
    pairs = data()._encoded["train"]
    sampler = BucketBatchSampler(pairs.source.lengths, pairs.target_lengths, 8, "sentences", 1, True)
    with pytest.raises(ValueError, match=r"rank=2: expected 0 to 1 \(ranks - 1\)"):
        BatchLoader(pairs, sampler, rank=2, ranks=2)


@given(st.integers(0, 13), st.integers(0, 3))
def test_an_epoch_goes_on_from_any_batch(done: int, number: int) -> None:
    whole, begun, resumed = (data().train_dataloader() for _ in range(3))
    whole.sampler.set_epoch(number)
    begun.sampler.set_epoch(number)
    order = [batch.ids.tolist() for batch in whole]
    for _ in islice(begun, done):
        pass
    resumed.load_state_dict(json.loads(json.dumps(begun.state_dict())))
    assert len(resumed) == len(order) == 13, "of the whole epoch"
    assert [batch.ids.tolist() for batch in resumed] == order[done:]
    resumed.sampler.set_epoch(number + 1)
    whole.sampler.set_epoch(number + 1)
    assert [batch.ids.tolist() for batch in resumed] == [batch.ids.tolist() for batch in whole]


SETTINGS = {
    "epochs": {"max_epochs": 3},
    "steps": {"max_epochs": -1, "max_steps": 30},
    "gathered": {"max_epochs": 3, "accumulate_grad_batches": 4},
    "limited": {"max_epochs": 3, "limit_train_batches": 7},
}


# An epoch of the corpus has 13 batches, of the stream 14. Taken up there, Lightning does not count the batches of an
# update from the start of the epoch, as it does without a stop: ``LastCheckpoint`` saves behind it.
CASES = [case for case in product([False, True], SETTINGS, [6, 13, 14]) if case != (True, "gathered", 14)]


@pytest.mark.parametrize(("streams", "setting", "save_at"), CASES)
@pytest.mark.filterwarnings("ignore")  # of Lightning: no validation step, no loader workers
def test_lightning_goes_on_from_any_batch(streams: bool, setting: str, save_at: int, tmp_path: Path) -> None:
    settings = SETTINGS[setting]
    if streams:
        if "max_steps" not in settings:
            settings = settings | {"max_epochs": -1, "max_steps": 25 // settings.get("accumulate_grad_batches", 1)}
        settings = settings | {"check_val_every_n_epoch": None, "val_check_interval": 5}
    path = tmp_path / "saved.ckpt"
    whole, resumed = Recorder(path, save_at), Recorder(path)
    trainer(tmp_path, **settings).fit(whole, datamodule=data(streams))
    trainer(tmp_path, **settings).fit(resumed, datamodule=data(streams), ckpt_path=path, weights_only=True)
    assert [batch for _, batch in resumed.batches] == [batch for _, batch in whole.batches][save_at:]
    if setting == "epochs" and not streams:
        assert resumed.batches == whole.batches[save_at:]


SHARED = """
import sys
from pathlib import Path
import json
from test_loading import Recorder, data, trainer

folder = Path(sys.argv[1])
recorder, module = Recorder(folder), data(streams=True, count=103)
settings = {"devices": 2, "strategy": "ddp", "max_epochs": 2, "max_steps": 1000, "check_val_every_n_epoch": None}
runner = trainer(folder, **settings)
runner.fit(recorder, datamodule=module)
runner.test(recorder, datamodule=module, verbose=False)
(folder / f"{runner.global_rank}.json").write_text(json.dumps([recorder.batches, recorder.evaluated]))
"""


def test_two_processes_share_the_batches_of_a_stream(tmp_path: Path, datasets_cache: Path) -> None:
    (tmp_path / "shared.py").write_text(SHARED)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(PROJECT / "tests"), str(PROJECT / "src")]),
        "OMP_NUM_THREADS": "1",
        "HF_DATASETS_CACHE": str(datasets_cache),
        "MASTER_ADDR": "127.0.0.1",
    }
    command = [sys.executable, str(tmp_path / "shared.py"), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    shares = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    module = data(streams=True, count=103)
    alone = module.train_dataloader()
    for epoch in (0, 1):
        alone.sampler.set_epoch(epoch)
        batches = [[rows for number, rows in share[0] if number == epoch] for share in shares]
        expected = [batch.ids.tolist() for batch in alone]
        assert list(zip(*batches, strict=True)) == [(whole[::2], whole[1::2]) for whole in expected]
    assert sorted(row for share in shares for rows in share[1] for row in rows) == list(range(20))
