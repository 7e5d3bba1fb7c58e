"""What a training that ran out of memory, or whose loss is no number, tells its user: which batch it was, and what to
change."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from lookback.common.errors import InputError
from lookback.data import Batch

_ALLOCATORS = ("can't allocate memory", "not enough memory", "out of memory")
"""How the allocators of torch say it, lower case. Only that of CUDA has a class of errors for it."""
_TRAINING = "batch.size, data.train_max_length, or batch.unit=tokens"
_EVALUATION = "batch.evaluation_size"
_IDS = 8


@contextmanager
def memory_explained(batch: Batch, is_training: bool) -> Iterator[None]:
    """Says which batch did not fit where memory runs out inside.

    Raises:
        InputError: in place of the allocator's error.
    """
    message = None
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        sentences, source = batch.source.shape
        device = batch.source.device.type
        message = (
            f"out of memory on the {device}: a batch of {sentences:,} sentences × {source:,} source tokens × "
            f"{batch.target.shape[1] - 1:,} target tokens does not fit; expected a smaller "
            f"{_TRAINING if is_training else _EVALUATION}"
        )
    # not inside the handler: the error's traceback keeps the tensors, and the next job of a sweep needs their memory
    if message is not None:
        raise InputError(message)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether it is the error of an allocator."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(said in str(error).lower() for said in _ALLOCATORS)


def diverged(model: nn.Module, batch: Batch, what: str, update: int) -> InputError:
    """The error of a training whose numbers are no longer finite.

    Args:
        model: with the weights that the batch was read with, or the gradients that it gave.
        batch: the batch.
        what: is not finite, such as "the loss is nan".
        update: the number of the update, from 1.
    """
    ids = [str(number) for number in batch.ids.tolist()]
    shown = ", ".join(ids[:_IDS]) + (f" and {len(ids) - _IDS:,} more" if len(ids) > _IDS else "")
    return InputError(
        f"training diverged: {what} at update {update:,}, in the batch of the training sentences {shown} (from 0); "
        f"the first tensor that is not finite is {first_not_finite(model, batch)}; "
        "expected a smaller optimizer.lr, or trainer.gradient_clip_val=1.0"
    )


def first_not_finite(model: nn.Module, batch: Batch) -> str:
    """The first parameter, else the first output of a module for this batch, else the first gradient."""
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            return f"the parameter {name}"
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and not parameter.grad.isfinite().all():
            return f"the gradient of {name}"
    found: list[str] = []

    def look(name: str, output: object) -> None:
        if any(tensor.is_floating_point() and not tensor.isfinite().all() for tensor in _tensors(output)):
            found.append(f"the output of {name}" if name else "the loss")

    hooks = [
        module.register_forward_hook(lambda _, __, output, name=name: look(name, output))
        for name, module in model.named_modules()
    ]
    try:
        with torch.no_grad():
            model(batch.source, batch.source_length, batch.target, 0.0, batch.target_tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return found[0] if found else "the loss"


def _tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for inside in value:
            yield from _tensors(inside)
    elif isinstance(value, dict) or hasattr(value, "__dataclass_fields__"):
        yield from _tensors(list((value if isinstance(value, dict) else vars(value)).values()))
