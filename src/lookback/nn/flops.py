"""How much a network computes, whatever the machine: an axis on which arms of any kind can be compared."""

import copy

import torch
from torch.utils.flop_counter import FlopCounterMode

from lookback.nn.seq2seq import Seq2Seq

WORDS = 25
"""Tokens of the source, and of the target, of the pair that is counted."""


def flops_per_token(network: Seq2Seq) -> float | None:
    """Floating-point operations of a forward pass over a pair of 25 tokens each, divided by 25.

    Those of products and convolutions, as ``torch.utils.flop_counter`` counts them: an addition and a multiplication
    are two. What is done value by value, such as tanh, is left out. Nothing is computed: tensors of the device ``meta``
    have shapes alone. None for a network that cannot be asked so: one that knows fewer positions, or that looks at the
    values of its tensors.
    """
    network = copy.deepcopy(network).to("meta")
    network.decoder.fast = False  # its loop is one function, whose products are the same
    source, target = (torch.zeros(1, WORDS, dtype=torch.long, device="meta") for _ in range(2))
    lengths = torch.full((1,), WORDS, device="meta")
    try:
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            network.logits(network.decoder.vectors(target, network.encode(source, lengths)))
    except Exception:  # whatever it is, the training whose cost this is has ended well
        return None
    return counter.get_total_flops() / WORDS
