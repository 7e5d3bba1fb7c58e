"""First values of the weights, after Bahdanau et al. 2015 (App. B.1)."""

import torch
from torch import nn

from lookback.nn.attention import AdditiveAttention
from lookback.nn.recurrence import Recurrence


def initialize(model: nn.Module, deviation: float = 0.1, attention_deviation: float = 0.01) -> None:
    """Set every parameter of ``model`` from the torch seed.

    Recurrent matrices are orthogonal, one a gate; the additive attention's two matrices are normal with
    ``attention_deviation`` and its v is 0, so that attention starts even over the source; every other matrix is normal
    with ``deviation``; biases are 0. The paper's deviations, 0.01 and 0.001, are for layers of 1000 units; at the sizes
    of a teaching model they leave the first layers nearly silent, and training takes several times the updates.
    """
    for name, value in (("deviation", deviation), ("attention_deviation", attention_deviation)):
        if value < 0:
            raise ValueError(f"{name}={value}: expected 0 or more")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=deviation)
            else:
                nn.init.zeros_(parameter)
        for module in model.modules():
            if isinstance(module, Recurrence):
                _, recurrent, _, _ = module.network.all_weights[0]
                for gate in recurrent.split(module.hidden_size):
                    nn.init.orthogonal_(gate)
            elif isinstance(module, AdditiveAttention):
                nn.init.normal_(module.from_query.weight, std=attention_deviation)
                nn.init.normal_(module.from_memory.weight, std=attention_deviation)
                nn.init.zeros_(module.energy.weight)
            elif isinstance(module, nn.Embedding) and module.padding_idx is not None:
                module.weight[module.padding_idx] = 0
