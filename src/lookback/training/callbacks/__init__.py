"""Lightning callbacks of a training."""

from lookback.training.callbacks.alignment_snapshots import AlignmentSnapshots
from lookback.training.callbacks.budget_scores import BudgetScores
from lookback.training.callbacks.checkpoints import LastCheckpoint, LastValidation
from lookback.training.callbacks.cost import Cost
from lookback.training.callbacks.precision import MatmulPrecision

__all__ = ["AlignmentSnapshots", "BudgetScores", "Cost", "LastCheckpoint", "LastValidation", "MatmulPrecision"]
