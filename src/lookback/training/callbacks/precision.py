"""How exactly numbers are multiplied: as the settings say in training, in float32 wherever something is measured.

Two settings make the products of training cheaper where the chip can: ``matmul_precision``, where float32 numbers are
rounded for a product alone, and ``trainer.precision``, bfloat16 between float32 weights. Validation, the test and the
pictures of attention are float32 under both: the same weights give the same numbers however they were trained.
"""

from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from omegaconf import DictConfig

from lookback.common.errors import InputError
from lookback.data import Batch

MATMUL_PRECISIONS = {
    "highest": "float32 products",
    "high": "TensorFloat32 products where the chip has them",
    "medium": "bfloat16 products where the chip has them",
}
"""What each ``matmul_precision`` means."""
PRECISIONS = ("32-true", "bf16-mixed")
"""Under both, weights are float32."""


def check_precision(config: DictConfig) -> None:
    """Raises InputError for a setting that is none of these."""
    for key, value, allowed in (
        ("matmul_precision", config.matmul_precision, MATMUL_PRECISIONS),
        ("trainer.precision", config.trainer.precision, PRECISIONS),
    ):
        if value not in allowed:
            raise InputError(f"{key}={value}: expected one of {', '.join(allowed)}")


def products(config: DictConfig) -> str:
    """What training multiplies, and the setting that says so: ``float32 products (matmul_precision=highest)``."""
    if config.trainer.precision == "bf16-mixed":
        return "bfloat16 products (trainer.precision=bf16-mixed)"
    return f"{MATMUL_PRECISIONS[config.matmul_precision]} (matmul_precision={config.matmul_precision})"


class MatmulPrecision(Callback):
    """torch's setting, from the start of a training batch to its end alone."""

    def __init__(self, precision: str) -> None:
        self.precision = precision

    def on_train_batch_start(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, batch: Batch, batch_idx: int
    ) -> None:
        torch.set_float32_matmul_precision(self.precision)

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        torch.set_float32_matmul_precision("highest")

    def on_exception(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, exception: BaseException
    ) -> None:
        torch.set_float32_matmul_precision("highest")
