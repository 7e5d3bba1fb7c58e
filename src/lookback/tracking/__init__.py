"""Loggers of Weights & Biases and TensorBoard, and the W&B workspace that shows what is logged."""

from lookback.tracking.tensorboard import tensorboard_logger
from lookback.tracking.weights_and_biases import wandb_logger

__all__ = ["tensorboard_logger", "wandb_logger"]
