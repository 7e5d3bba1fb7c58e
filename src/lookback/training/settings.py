"""What the config of a training may hold: the keys of ``conf/train.yaml``, and the arguments of other libraries."""

from collections.abc import Mapping
from operator import not_
from typing import Annotated, Literal, NotRequired, TypedDict

from annotated_types import Interval, Len, Predicate, doc
from lightning.pytorch import Trainer
from lightning.pytorch.plugins.environments import LightningEnvironment
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from omegaconf import DictConfig
from pydantic import StringConstraints

from lookback.common.checks import Count, FilePath, NonNegative, PartialShare, Seed, Share, Size, Text
from lookback.common.errors import InputError
from lookback.common.schema import Built, Node, Others, check_config
from lookback.data.batches.batching import BatchUnit
from lookback.nn.recurrent.orders import Order
from lookback.training.callbacks.precision import MatmulPrecisionWord, TrainerPrecision
from lookback.training.module import Normalization
from lookback.training.schedules import BETTER, Mode, Monitored

Accelerator = Literal["auto", "cpu", "gpu", "cuda", "mps"]
NoLimit = Annotated[int, Interval(ge=-1, le=-1), doc("-1 for no limit")]
Duration = Annotated[
    str, StringConstraints(pattern=r"^\d+:\d\d:\d\d:\d\d$"), doc("a duration as days:hours:minutes:seconds, quoted")
]
Batches = Size | Annotated[float, Interval(gt=0, le=1), doc("a share, over 0, 1.0 at most")]
"""Batches by their number, or as a share of an epoch."""
LearningRate = Annotated[float, Interval(gt=0, le=1000)]
WeightDecay = Annotated[float, Interval(ge=0, le=1000)]
Off = Annotated[bool, Predicate(not_), doc("false")]
Betas = Annotated[list[PartialShare], Len(2, 2)]


class BatchSettings(TypedDict):
    size: Size
    unit: BatchUnit
    evaluation_size: Size
    shuffle_buffer: Size


class InitializationSettings(TypedDict):
    deviation: NonNegative | None
    attention_deviation: NonNegative | None


class LossSettings(TypedDict):
    normalize: Normalization
    coverage: NotRequired[NonNegative]


class Names(TypedDict):
    arm: Text | None
    attention: Text
    data: Text


class CallbackSettings(TypedDict):
    checkpoint: Node
    last: Node


class TrainSettings(TypedDict):
    """The keys of ``conf/train.yaml``."""

    seed: Seed
    learning_rate: LearningRate
    query_state: NotRequired[Order]
    parameters: NotRequired[Size | None]
    batch: BatchSettings
    initialization: InitializationSettings
    label_smoothing: PartialShare
    scheduled_sampling: NotRequired[Share]
    loss: LossSettings
    matmul_precision: MatmulPrecisionWord
    validation_sentences: Size
    optimized_metric: Monitored
    unknown_words: FilePath
    names: Names
    data: Node
    tokenizer: Node
    encoder: Annotated[Node, Built(supplied=("vocabulary_size",))]
    decoder: Annotated[Node, Built(supplied=("vocabulary_size", "attention", "init_size"))]
    attention: Annotated[Node, Built(supplied=("query_size", "memory_size"))]
    search: Node
    optimizer: Annotated[Node, Built(supplied=("params",), partial=True)]
    scheduler: Annotated[Node, Built(supplied=("optimizer", "total_updates"), partial=True)]
    trainer: Node
    logger: Node | None
    callbacks: Annotated[CallbackSettings, Others(Node)]


class TrainerSettings(TypedDict):
    """The arguments of Lightning's ``Trainer`` that do what they say in a training here."""

    accelerator: Accelerator
    devices: Size
    num_nodes: NotRequired[Size]
    precision: TrainerPrecision
    max_epochs: Size | NoLimit
    max_steps: Size | NoLimit
    max_time: NotRequired[Duration | None]
    gradient_clip_val: NotRequired[NonNegative | None]
    gradient_clip_algorithm: NotRequired[Literal["norm", "value"] | None]
    accumulate_grad_batches: Size
    limit_train_batches: Batches | None
    limit_val_batches: NotRequired[Batches | None]
    check_val_every_n_epoch: Size | None
    val_check_interval: Batches | None
    use_distributed_sampler: Off
    log_every_n_steps: Size
    num_sanity_val_steps: Annotated[int, Interval(ge=-1, le=2**31 - 1)]
    enable_model_summary: bool
    min_epochs: NotRequired[Size | None]
    min_steps: NotRequired[Size | None]
    deterministic: NotRequired[bool | Literal["warn"] | None]
    benchmark: NotRequired[bool | None]
    detect_anomaly: NotRequired[bool]


class OptimizerSettings(TypedDict):
    """What torch's optimizers here share."""

    lr: LearningRate
    weight_decay: NotRequired[WeightDecay]
    foreach: NotRequired[bool | None]
    differentiable: NotRequired[bool]


class AdamSettings(OptimizerSettings):
    betas: NotRequired[Betas]
    eps: NotRequired[Share]
    amsgrad: NotRequired[bool]
    fused: NotRequired[bool | None]


class AdadeltaSettings(OptimizerSettings):
    rho: NotRequired[Share]
    eps: NotRequired[Share]


class SGDSettings(OptimizerSettings):
    momentum: NotRequired[PartialShare]
    dampening: NotRequired[Share]
    nesterov: NotRequired[bool]
    fused: NotRequired[bool | None]


class EarlyStoppingSettings(TypedDict):
    monitor: Monitored
    mode: Mode
    patience: Count
    min_delta: NotRequired[NonNegative]
    check_on_train_epoch_end: NotRequired[Off | None]
    stopping_threshold: NotRequired[float | None]
    divergence_threshold: NotRequired[float | None]
    check_finite: NotRequired[bool]
    verbose: NotRequired[bool]


class ModelCheckpointSettings(TypedDict):
    dirpath: FilePath
    filename: Annotated[Literal["best"], doc("best, the checkpoint that tests and translations look for")]
    monitor: Monitored
    mode: Mode
    save_top_k: Annotated[int, Interval(ge=1, le=1), doc("1, the best")]
    save_on_train_epoch_end: Off
    enable_version_counter: Off
    auto_insert_metric_name: Off
    save_weights_only: NotRequired[Off]
    verbose: NotRequired[bool]


SIGNATURES: Mapping[str, type] = {
    "lightning.pytorch.trainer.trainer.Trainer": TrainerSettings,
    "lightning.pytorch.callbacks.early_stopping.EarlyStopping": EarlyStoppingSettings,
    "lightning.pytorch.callbacks.model_checkpoint.ModelCheckpoint": ModelCheckpointSettings,
    "torch.optim.adam.Adam": AdamSettings,
    "torch.optim.adamw.AdamW": AdamSettings,
    "torch.optim.adadelta.Adadelta": AdadeltaSettings,
    "torch.optim.sgd.SGD": SGDSettings,
}
"""The signatures that stand for those of other libraries."""


def check_accelerator(key: str, accelerator: str) -> None:
    """Checks that this machine has an accelerator.

    Args:
        key: the setting that asks for it.
        accelerator: its name.

    Raises:
        InputError: if it has none.
    """
    try:
        Trainer(accelerator=accelerator, devices=1, barebones=True, plugins=[LightningEnvironment()])
    except (MisconfigurationException, RuntimeError) as error:
        raise InputError(f"{key}={accelerator}: {' '.join(str(error).split())}") from None


def check_training(config: DictConfig) -> None:
    """Checks all settings of a training that can be known to be wrong before anything is built or read.

    A sweep calls ``lookback.training.settings.check_training`` for each job before the first trains. It imports what
    the config names, and so torch and Lightning.

    Args:
        config: as ``conf/train.yaml`` composes it.

    Raises:
        InputError: in one line, for the first setting that does not exist or that is not allowed.
    """
    check_config(config, TrainSettings, SIGNATURES)
    trainer = config.trainer
    if trainer.max_epochs == -1 and trainer.max_steps == -1:
        raise InputError("trainer.max_epochs=-1: expected an end of the training, in max_epochs or in max_steps")
    for key, callback in config.callbacks.items():
        better = BETTER.get(callback.get("monitor"))
        if better is not None and callback.get("mode") != better:
            path, monitored = f"callbacks.{key}.mode", callback.monitor
            raise InputError(f"{path}={callback.get('mode')}: expected {better}, as a better {monitored} is {better}")
