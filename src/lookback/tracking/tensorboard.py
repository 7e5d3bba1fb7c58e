"""TensorBoard through Lightning's logger."""

from lightning.pytorch.loggers import TensorBoardLogger

from lookback.common.checks import FilePath, checked
from lookback.common.errors import InputError


@checked
def tensorboard_logger(directory: FilePath) -> TensorBoardLogger:
    """A logger that writes what Lightning logs, the curves over the training, into ``directory``/tensorboard.

    Raises:
        InputError: if TensorBoard is not installed.
    """
    try:
        return TensorBoardLogger(directory, name=None, version="tensorboard")
    except ModuleNotFoundError:
        raise InputError(
            'logger=tensorboard: TensorBoard is not installed; expected `pip install -e ".[tensorboard]"` first'
        ) from None
