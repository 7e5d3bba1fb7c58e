"""The end of what benchmarks/start.py measures of a training."""

import os
from typing import Any

from lightning import Callback


class FirstBatch(Callback):
    """Ends the process when the first batch has given its gradients: nothing after it costs time."""

    def on_before_optimizer_step(self, *_: Any) -> None:
        os._exit(0)
