"""Messages of Lightning that are not shown."""

import logging
import sys
import warnings


def quiet() -> None:
    """Hides Lightning's advice about this machine, which does not help here, and prints each line at once."""
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    logging.getLogger("lightning.fabric").setLevel(logging.WARNING)  # each rank says that it begins
    for message in (
        ".*does not have many workers.*",
        ".*The number of training batches.*is smaller than the logging interval.*",
        ".*Checkpoint directory .* exists and is not empty.*",
        ".*It is recommended to use .*sync_dist=True.*",  # what is logged is the same on all ranks already
        ".*`isinstance\\(treespec, LeafSpec\\)` is deprecated.*",
    ):
        warnings.filterwarnings("ignore", message)
    if sys.stdout is not None and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
