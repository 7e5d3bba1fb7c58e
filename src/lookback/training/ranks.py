"""Several processes that train one model together: ranks, one for each device.

Rank 0 is the process of the command. It alone prints and writes. It starts the other ranks on its own composed config,
never on its command line, because in a sweep that names many jobs. A rank reads the config from standard input. This
stays open as long as rank 0 lives, and the rank ends when it closes: no rank outlives rank 0, however that one ends.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import lightning
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.plugins.environments import ClusterEnvironment, LightningEnvironment
from omegaconf import DictConfig, OmegaConf

from lookback.common.configs import explain, flattened, one_line
from lookback.common.errors import InputError
from lookback.common.outside_ranks import outside_count, started_outside
from lookback.data import TranslationData
from lookback.runs.directory import RunDirectory
from lookback.runs.status import record_failure
from lookback.training.build import plain_config

_READY = b"ready\n"
_GRACE = 30.0
"""Seconds in which a process should end by itself."""


def check_ranks(config: DictConfig) -> None:
    """Checks that there are as many devices as ``trainer.devices`` and ``trainer.num_nodes`` say, as far as is known.

    torchrun or srun must have started as many ranks.

    Raises:
        InputError: if there are not.
    """
    devices, nodes = config.trainer.devices, config.trainer.get("num_nodes", 1)
    if started_outside() and outside_count() != devices * nodes:
        raise InputError(
            f"trainer.devices={devices}, trainer.num_nodes={nodes}: expected trainer=ddp and "
            f"devices · num_nodes = {outside_count()}, the ranks that torchrun or srun has started"
        )
    if nodes > 1 and not started_outside():
        raise InputError(f"trainer.num_nodes={nodes}: expected 1, or a start of every rank by torchrun or srun")
    if devices > 1 and config.trainer.accelerator in ("auto", "gpu", "cuda"):
        import torch

        found = torch.cuda.device_count()
        if found and found < devices:
            raise InputError(
                f"trainer.devices={devices}: expected 1 to {found}, the GPUs of this machine; "
                "or trainer.accelerator=cpu"
            )


def strategy(config: DictConfig) -> str:
    """The strategy of Lightning's ``Trainer``."""
    return "auto" if config.trainer.devices * config.trainer.get("num_nodes", 1) == 1 else "ddp"


def environments() -> list[ClusterEnvironment]:
    """The plugin that tells Lightning's ``Trainer`` who has started the ranks. It finds torchrun and srun itself."""
    # without it, Lightning would take whatever runs in a Slurm job for one of its tasks
    return [] if started_outside() else [LightningEnvironment()]


@contextmanager
def other_ranks(config: DictConfig, directory: Path) -> Iterator[None]:
    """Starts ranks 1 and up of a training, waits until they are ready, and ends them when the block ends.

    In the block, this process is rank 0. For one device, and if torchrun or srun has started the ranks, nothing is
    started.

    Args:
        config: of the training.
        directory: the run directory.

    Raises:
        InputError: if a rank has failed, with its error. It takes the place of the error that this causes in rank 0.
    """
    count = config.trainer.devices
    if count == 1 or started_outside():
        try:
            yield
        finally:
            _leave()
        return
    from lightning.fabric.plugins.environments.lightning import find_free_network_port

    shared = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(find_free_network_port()),
        "WORLD_SIZE": str(count),
        "NODE_RANK": "0",
    }
    message = json.dumps({"config": plain_config(config), "directory": str(directory)})
    status = RunDirectory(directory).status
    with _as_rank_zero(shared):
        ranks = [_Rank(rank, shared, message) for rank in range(1, count)]
        finished = threading.Event()
        try:
            for rank in ranks:
                rank.wait_until_ready()
            threading.Thread(target=_end_if_stuck, args=(ranks, finished, status), daemon=True).start()
            yield
        except (InputError, KeyboardInterrupt, SystemExit):
            raise
        except Exception as error:
            # if a rank fails, rank 0 loses its connection to it, perhaps before the process has ended
            for rank in ranks:
                if failure := rank.failure(wait=5.0):
                    raise InputError(failure) from error
            raise
        else:
            for rank in ranks:
                rank.wait()
        finally:
            finished.set()
            for rank in ranks:
                rank.end()


class SameOnAllRanks(Callback):
    """Checks before a training that all ranks have the same config, tokenizers and test set.

    Args:
        config: the resolved config.
        data: after ``setup``.

    Raises:
        InputError: if they differ, on every rank.
    """

    def __init__(self, config: dict[str, Any], data: TranslationData) -> None:
        self._digests = {key: _digest(value) for key, value in flattened("", config).items()}
        for side, tokenizer in (("source", data.source_tokenizer), ("target", data.target_tokenizer)):
            self._digests[f"{side} tokenizer"] = _digest(tokenizer.to_json())
        self._digests["test set"] = data.fingerprint

    def setup(self, trainer: lightning.Trainer, module: lightning.LightningModule, stage: str) -> None:
        if trainer.world_size == 1:
            return
        import torch.distributed

        everyone: list[dict[str, str]] = [{}] * trainer.world_size
        torch.distributed.all_gather_object(everyone, self._digests)
        first = everyone[0]
        for rank, digests in enumerate(everyone):
            differing = [key for key in sorted(first.keys() | digests.keys()) if first.get(key) != digests.get(key)]
            if differing:
                raise InputError(
                    f"rank {rank} has another {differing[0]} than rank 0; expected the same config on every rank "
                    "(under torchrun and srun with hydra.run.dir=DIR)"
                )


class _Rank:
    """A rank that this process has started.

    Args:
        rank: its number.
        shared: environment variables with which the ranks find one another.
        message: what the rank reads from standard input.
    """

    def __init__(self, rank: int, shared: dict[str, str], message: str) -> None:
        self._rank = rank
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed in ``end``)
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._process = subprocess.Popen(
            # -P: not from the current directory, which may be a stranger's; the user's own is among the paths
            [sys.executable, "-P", "-m", "lookback.training.ranks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **shared, "LOCAL_RANK": str(rank), "PYTHONPATH": paths},
            start_new_session=True,  # Ctrl+C reaches rank 0 alone
        )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; ``wait_until_ready`` says why
            self._process.stdin.write(message.encode() + b"\n")
            self._process.stdin.flush()

    def wait_until_ready(self) -> None:
        """Returns when the rank is about to train.

        Raises:
            InputError: if it fails before that.
        """
        assert self._process.stdout is not None
        if self._process.stdout.readline() != _READY:
            raise InputError(self.failure(_GRACE) or f"rank {self._rank} did not start")

    def failure(self, wait: float) -> str | None:
        """How the rank has failed, in one line; None if it has not.

        Args:
            wait: seconds to wait for its end.
        """
        try:
            status = self._process.wait(wait)
        except subprocess.TimeoutExpired:
            return None
        if status == 0:
            return None
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        if status < 0:
            return f"rank {self._rank} was ended by {signal.Signals(-status).name}"
        return f"rank {self._rank} failed: {said[-1].strip() if said else f'exit status {status}'}"

    def wait(self) -> None:
        """Waits for the end of a rank that has nothing more to do."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)

    def end(self) -> None:
        """Ends the process if it still runs."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


@contextmanager
def _as_rank_zero(shared: dict[str, str]) -> Iterator[None]:
    """Sets the environment of rank 0, and restores environment and threads: the next job of a sweep starts anew."""
    import torch

    before, threads = dict(os.environ), torch.get_num_threads()
    os.environ.update({**shared, "LOCAL_RANK": "0"})
    try:
        yield
    finally:
        _leave()
        for name in (*shared, "LOCAL_RANK", "OMP_NUM_THREADS"):  # Lightning sets the last one
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]
        torch.set_num_threads(threads)


def _leave() -> None:
    """Parts this process from the other ranks, so that the test on rank 0 waits for none of them."""
    import torch

    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _end_if_stuck(ranks: list[_Rank], finished: threading.Event, status: Path) -> None:
    """Ends this process if a rank has failed and rank 0 still waits for it. ``status`` then says why.

    On CPUs rank 0 notices at once. On GPUs, and while the ranks connect, it may wait for minutes inside a library that
    nothing can interrupt.
    """
    while not finished.wait(1.0):
        failures = [failure for rank in ranks if (failure := rank.failure(wait=0.0))]
        if failures and not finished.wait(_GRACE):
            record_failure(status, failures[0])
            print(f"error: {failures[0]}", file=sys.stderr, flush=True)
            os._exit(1)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()


def _end_with_rank_zero() -> None:
    # not sys.stdin, because Python cannot exit while a thread waits for a line of it
    while os.read(0, 1):
        pass
    os._exit(1)  # the pipe is closed: rank 0 has ended


def main() -> None:
    """A rank that ``other_ranks`` has started."""
    message = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_rank_zero, daemon=True).start()
    answers = sys.stdout
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (rank 0 prints for all)

    def ready() -> None:
        answers.buffer.write(_READY)
        answers.buffer.flush()

    from lookback.training.fit import train_as_rank

    try:
        train_as_rank(OmegaConf.create(message["config"]), message["directory"], ready)
    except Exception as error:
        if explain(error) is None:
            traceback.print_exc()
        else:
            print(one_line(error), file=sys.stderr)
        sys.stderr.flush()
        os._exit(1)  # at once: rank 0 notices the closed connection, and asks for the error


if __name__ == "__main__":
    main()
