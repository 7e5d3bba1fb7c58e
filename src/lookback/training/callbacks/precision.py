"""The precision of matrix products: as the settings say in training, float32 in validation and tests.

Two settings make the products of training cheaper if the chip supports it. ``matmul_precision`` rounds float32 numbers
inside a product only. ``trainer.precision`` computes in bfloat16, with float32 weights. Validation, the test and the
alignment snapshots always use float32, so that the same weights give the same numbers however they were trained.
"""

from typing import Any, Literal

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from omegaconf import DictConfig

from lookback.data import Batch

MatmulPrecisionWord = Literal["highest", "high", "medium"]
MATMUL_PRECISIONS: dict[MatmulPrecisionWord, str] = {
    "highest": "float32 products",
    "high": "TensorFloat32 products where the chip has them",
    "medium": "bfloat16 products where the chip has them",
}
"""What each ``matmul_precision`` means."""
TrainerPrecision = Literal["32-true", "bf16-mixed", "auto"]
"""The weights are float32 with all. ``auto`` becomes one of the others before a training, see ``settle_precision``."""


def products(config: DictConfig) -> str:
    """The products of training and the setting behind them, such as ``float32 products (matmul_precision=highest)``."""
    if config.trainer.precision == "bf16-mixed":
        return "bfloat16 products (trainer.precision=bf16-mixed)"
    return f"{MATMUL_PRECISIONS[config.matmul_precision]} (matmul_precision={config.matmul_precision})"


class MatmulPrecision(Callback):
    """Sets torch's precision of float32 products at the start of each training batch, and resets it at its end.

    Args:
        precision: a key of ``MATMUL_PRECISIONS``.
    """

    def __init__(self, precision: MatmulPrecisionWord) -> None:
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
