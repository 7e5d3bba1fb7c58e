"""Nothing that tracks or draws ends a training: an error there is one line on standard error."""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lightning.pytorch.loggers.logger import DummyExperiment, Logger

from lookback.common.configs import one_line


@contextmanager
def tolerated(what: str, then: str) -> Iterator[None]:
    """Prints one warning in place of an error that is raised inside.

    Args:
        what: has failed, the beginning of the line.
        then: what follows from it, or how to do it again, the end of the line.
    """
    try:
        yield
    except Exception as error:
        print(f"warning: {what}: {one_line(error)}; {then}", file=sys.stderr, flush=True)


class TolerantLogger(Logger):
    """A logger whose first error ends what it logs, and not the training.

    Args:
        logger: any of Lightning's.
    """

    def __init__(self, logger: Logger) -> None:
        super().__init__()
        self.logger = logger
        self.works = True

    @property
    def name(self) -> str | None:
        return self.logger.name

    @property
    def version(self) -> int | str | None:
        return self.logger.version

    @property
    def save_dir(self) -> str | None:
        return self.logger.save_dir

    @property
    def experiment(self) -> Any:
        """The logger's own; after an error one that takes anything and does nothing."""
        found = self._try(lambda: self.logger.experiment)  # type: ignore[attr-defined]  # all but the base class have it
        return DummyExperiment() if found is None else found

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self._try(lambda: self.logger.log_metrics(metrics, step))

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *arguments: Any, **options: Any) -> None:
        self._try(lambda: self.logger.log_hyperparams(params, *arguments, **options))  # Lightning's signature

    def log_graph(self, model: Any, input_array: Any = None) -> None:
        self._try(lambda: self.logger.log_graph(model, input_array))

    def save(self) -> None:
        self._try(self.logger.save)

    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        self._try(lambda: self.logger.after_save_checkpoint(checkpoint_callback))

    def finalize(self, status: str) -> None:
        self._try(lambda: self.logger.finalize(status))

    def _try(self, call: Callable[[], Any]) -> Any:
        """What ``call`` returns; None after an error."""
        if not self.works:
            return None
        self.works = False
        with tolerated(
            type(self.logger).__name__, "it logs no more, and the training goes on (metrics.csv has it all)"
        ):
            result = call()
            self.works = True
            return result
        return None
