"""``trainer.precision=auto``: the products that train this network the fastest on this machine."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import torch
from omegaconf import DictConfig

from lookback.common.errors import InputError
from lookback.common.files import parse_json, read_regular, write_json_once
from lookback.common.outside_ranks import started_outside
from lookback.data import TranslationData
from lookback.nn import Seq2Seq
from lookback.training.callbacks.precision import MatmulPrecisionWord, products
from lookback.translation.build import build_model

GAIN = 1.1
"""How many times as fast products with fewer digits must be to be taken."""
ROUNDS, ENOUGH = (2, 5), 1.0
"""How often each is measured, at least and at most; after ``ENOUGH`` seconds no more than the least."""
LONGEST = 30
"""Words of a measured sentence, at most."""
SECONDS = 0.2
"""What a measured step should take, at most: longer ones get fewer sentences, down to ``FEWEST``."""
FEWEST = 8
_LARGEST = 10_000
"""Bytes of a sweep's file."""
_FILE = "precision.json"


class Products(NamedTuple):
    """How a training multiplies: two settings that belong together."""

    precision: Literal["32-true", "bf16-mixed"]
    matmul_precision: MatmulPrecisionWord


def settle_precision(config: DictConfig, data: TranslationData, sweep: Path | None) -> str:
    """Replaces ``trainer.precision=auto`` in a config by what is the fastest here. Anything else stays.

    Measured are a forward and a backward pass of the network, on sentences of the data's mean lengths: with the
    products of ``matmul_precision``, with ``medium``, and with ``bf16-mixed``. See ``choose`` for the rule. The jobs of
    a sweep all train with what the first of them has measured, so that its arms differ in nothing else.

    Args:
        config: of a training.
        data: after ``setup``.
        sweep: the directory of the sweep that the training is a job of.

    Returns:
        The products and why they are these, such as ``bfloat16 products (trainer.precision=bf16-mixed; auto: 1.8 × as
        fast as float32)``.

    Raises:
        InputError: if the file that holds the decision of a sweep is damaged.
    """
    if config.trainer.precision != "auto":
        return products(config)
    device = _device(config.trainer.accelerator)
    if device is None:
        _set(config, Products("32-true", config.matmul_precision))
        return f"{products(config)}; auto measures on CPUs and NVIDIA's GPUs"
    if started_outside():  # ranks would have to wait for one another, before they are connected
        _set(config, Products("32-true", config.matmul_precision))
        return f"{products(config)}; auto measures where torchrun or srun starts no ranks"
    if sweep is not None and (sweep / _FILE).is_file():
        _set(config, _read(sweep / _FILE))
        return f"{products(config)}; auto: as the sweep's first job measured"
    seconds = _measured(config, data, device)
    decided = choose(seconds)
    if sweep is not None and not write_json_once(sweep / _FILE, _record(decided, seconds)):
        decided = _read(sweep / _FILE)  # another job was faster, and all follow one
    _set(config, decided)
    first, *others = seconds
    if decided == first:
        best = max((seconds[first] / seconds[other] for other in others), default=1.0)
        return f"{products(config)}; auto: with fewer digits {best:.2f} × as fast here"
    return f"{products(config)}; auto: {seconds[first] / seconds[decided]:.2f} × as fast as {_named(first)} here"


def keep_precision(config: DictConfig, before: Mapping[str, Any]) -> None:
    """Replaces ``trainer.precision=auto`` in the config of a resumed training by what the training began with.

    Args:
        config: of a training.
        before: the config in its checkpoint.
    """
    if config.trainer.precision == "auto":
        trainer = before.get("trainer")
        found = {"precision": trainer.get("precision") if isinstance(trainer, Mapping) else None}
        _set(config, _checked({**found, "matmul_precision": before.get("matmul_precision")}, "the checkpoint"))


def choose(seconds: Mapping[Products, float]) -> Products:
    """The products to train with.

    The rule: the first ones, unless others are at least ``GAIN`` times as fast as those taken so far. So digits are
    given up only for speed, and machines on which two are about as fast choose the same.

    Args:
        seconds: of a step with each; those with more digits first.
    """
    taken, *others = seconds
    for other in others:
        if seconds[taken] >= GAIN * seconds[other]:
            taken = other
    return taken


def measure(
    model: Seq2Seq,
    candidates: list[Products],
    shape: tuple[int, int, int],
    device: torch.device,
    clock: Callable[[], float] | None = None,
) -> dict[Products, float]:
    """Seconds of a forward and a backward pass with each, the least of some rounds in which they take turns.

    What this does to torch's random state and to the gradients is undone.

    Args:
        model: on ``device``.
        candidates: in this order.
        shape: sentences, source words and target words of a batch. If a step takes longer than ``SECONDS``, it is
            measured on fewer sentences.
        device: where it trains.
        clock: gives seconds. None: on a CPU those of its processor, which other programs change little; else those of
            a clock.

    On a CPU one thread measures: several wait for one another by computing, so that their seconds say little.
    """
    if clock is None:
        clock = time.process_time if device.type == "cpu" else time.perf_counter
    sentences, source_words, target_words = shape
    vocabularies = model.encoder.embedding.num_embeddings, model.vocabulary_size
    fork = torch.random.fork_rng([device] if device.type == "cuda" else [], device_type=device.type)
    with fork, _one_thread(device):

        def step(products: Products, sentences: int) -> float:
            words, target = (
                torch.randint(min(4, size - 1), size, (sentences, length), device=device)
                for size, length in zip(vocabularies, (source_words, target_words + 1), strict=True)
            )
            lengths = torch.full((sentences,), source_words, device=device)
            started = clock()
            with _multiplying(products, device):
                model(words, lengths, target, 0.0, target_words * sentences).loss.backward()
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            ended = clock()
            model.zero_grad(set_to_none=True)
            return ended - started

        few = min(sentences, FEWEST)
        _, second = step(candidates[0], few), step(candidates[0], few)  # the very first has to wait for much else
        sentences = max(few, min(sentences, int(few * SECONDS / max(second, 1e-9))))
        for each in candidates:
            step(each, sentences)  # the first step of a shape is slower
        least, most = ROUNDS
        taken: list[list[float]] = []
        while len(taken) < least or (len(taken) < most and sum(map(sum, taken)) < ENOUGH):
            taken.append([step(each, sentences) for each in candidates])
    return dict(zip(candidates, map(min, *taken), strict=True))


@contextmanager
def _one_thread(device: torch.device) -> Iterator[None]:
    threads = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _measured(config: DictConfig, data: TranslationData, device: torch.device) -> dict[Products, float]:
    split = data.describe()["validation"]  # the number of training tokens of a stream is not known
    source, target = (
        max(1, min(LONGEST, round(split[f"{side}_tokens"] / max(1, split["pairs"])))) for side in ("source", "target")
    )
    size = config.batch.size
    sentences = size if config.batch.unit == "sentences" else max(1, size // max(source, target))
    candidates = [
        Products("32-true", config.matmul_precision),
        Products("32-true", "medium"),
        Products("bf16-mixed", config.matmul_precision),
    ]
    with torch.random.fork_rng([]):
        model = build_model(
            config,
            len(data.source_tokenizer),
            len(data.target_tokenizer),
            share_embeddings=data.source_tokenizer is data.target_tokenizer,
        )
    model.to(device).train()
    return measure(model, list(dict.fromkeys(candidates)), (sentences, source, target), device)


@contextmanager
def _multiplying(products: Products, device: torch.device) -> Iterator[None]:
    torch.set_float32_matmul_precision(products.matmul_precision)
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=products.precision == "bf16-mixed"):
            yield
    finally:
        torch.set_float32_matmul_precision("highest")


def _device(accelerator: str) -> torch.device | None:
    """Where it is measured; None where it is not."""
    if accelerator != "cpu" and torch.cuda.is_available():
        return torch.device("cuda")
    elsewhere = accelerator == "mps" or (accelerator == "auto" and torch.backends.mps.is_available())
    return None if elsewhere else torch.device("cpu")


def _set(config: DictConfig, decided: Products) -> None:
    config.trainer.precision, config.matmul_precision = decided


def _named(products: Products) -> str:
    return "bf16-mixed" if products.precision == "bf16-mixed" else f"matmul_precision={products.matmul_precision}"


def _record(decided: Products, seconds: Mapping[Products, float]) -> dict[str, Any]:
    measured = {_named(each): round(taken, 6) for each, taken in seconds.items()}
    return {**decided._asdict(), "seconds_of_a_step": measured}


def _read(path: Path) -> Products:
    try:
        found = parse_json(read_regular(path, _LARGEST).decode())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}; expected what the first job of the sweep wrote there") from None
    return _checked(found, str(path))


def _checked(found: Any, where: str) -> Products:
    for key, allowed in Products.__annotations__.items():
        value = found.get(key) if isinstance(found, Mapping) else None
        if value not in get_args(allowed):
            raise InputError(f"{where}: {key}={value!r}, expected one of {', '.join(get_args(allowed))}")
    return Products(found["precision"], found["matmul_precision"])
