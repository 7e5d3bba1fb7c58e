"""Weights & Biases: what is logged there, and the dashboard that shows it."""

from lookback.tracking.weights_and_biases import tensorboard_logger, wandb_logger

__all__ = ["tensorboard_logger", "wandb_logger"]
