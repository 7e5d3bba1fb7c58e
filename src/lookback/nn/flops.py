"""How much a network computes, whatever the machine: an axis on which arms of any kind can be compared."""

import copy
import math
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from lookback.nn.seq2seq import Seq2Seq

WORDS = 25
"""Tokens of the source, and of the target, of the pair that is counted."""


def flops_per_token(network: Seq2Seq) -> float | None:
    """Floating-point operations of a forward pass over a pair of 25 tokens each, divided by 25.

    Those of products and convolutions: an addition and a multiplication are two. What is done value by value, such as
    tanh, is left out. One pair is computed on the CPU, by a copy: on the device ``meta`` nothing would be, but torch
    imports its compiler for that, which takes a second. None for a network that knows fewer positions.
    """
    source, target = (torch.zeros(1, WORDS, dtype=torch.long) for _ in range(2))
    lengths = torch.full((1,), WORDS)
    try:
        # in float64: in float32 an LSTM's layer may be one function of oneDNN, whose products are not seen
        network = copy.deepcopy(network).cpu().double().eval()
        network.decoder.fast = False  # its loop is one function, whose products are the same
        with _Products() as products, torch.inference_mode(False), torch.no_grad():
            network.logits(network.decoder.vectors(target, network.encode(source, lengths)))
    except Exception:  # whatever it is, the training whose cost this is has ended well
        return None
    return products.operations / WORDS


class _Products(TorchDispatchMode):
    """Counts the operations of products. torch's own ``FlopCounterMode`` leaves out those of a matrix and a vector, and
    its import takes a second."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here; otherwise, too, torch imports its compiler."""
        return False

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        result = function(*arguments, **(named or {}))
        self.operations += _operations(function.overloadpacket.__name__, arguments, result)
        return result


def _operations(name: str, arguments: tuple[Any, ...], result: Any) -> int:
    """A sum over the shared axis for each value of the result."""
    if name in ("mm", "bmm", "mv", "dot"):
        return 2 * int(result.numel()) * int(arguments[0].shape[-1])
    if name in ("addmm", "baddbmm", "addmv"):
        return 2 * int(result.numel()) * int(arguments[1].shape[-1])
    if name == "convolution":
        return 2 * int(result.numel()) * math.prod(arguments[1].shape[1:])
    if name.startswith("_scaled_dot_product"):
        query, key, value = arguments[:3]
        weights = _size(query, key)
        return 2 * weights * (int(query.shape[-1]) + int(value.shape[-1]))
    return 0


def _size(query: Tensor, key: Tensor) -> int:
    """How many weights there are, of all heads."""
    return math.prod(query.shape[:-1]) * int(key.shape[-2])
