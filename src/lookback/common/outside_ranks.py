"""Ranks of a training that torchrun or srun has started, each with the whole command line."""

import os


def started_outside() -> bool:
    """Whether torchrun or srun has started all ranks."""
    return "TORCHELASTIC_RUN_ID" in os.environ or _srun_tasks() > 1


def outside_count() -> int:
    """How many ranks they have started; 1 if neither has."""
    return int(os.environ["WORLD_SIZE"]) if "TORCHELASTIC_RUN_ID" in os.environ else _srun_tasks()


def outside_rank() -> int:
    """The rank that they have given to this process; 0 if neither has started it."""
    return int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0"))) if started_outside() else 0


def _srun_tasks() -> int:
    # srun alone sets it: a script of sbatch has SLURM_NTASKS and SLURM_PROCID, too, and is one process
    return int(os.environ.get("SLURM_STEP_NUM_TASKS", "1"))
