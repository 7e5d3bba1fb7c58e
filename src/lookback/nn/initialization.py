"""First values of the weights: by the width of each layer, or as Bahdanau et al. 2015 (App. B.1) draw them."""

import torch
from torch import nn

from lookback.common.checks import NonNegative, checked
from lookback.nn.attention import Attention
from lookback.nn.recurrent.recurrence import Recurrence


@checked
def initialize(
    model: nn.Module, deviation: NonNegative | None = None, attention_deviation: NonNegative | None = None
) -> None:
    """Set every parameter of ``model`` from the torch seed.

    Biases are 0, gains are 1, and recurrent matrices are orthogonal, one a gate. Every other matrix is normal. Its
    deviation is 1/√inputs (LeCun et al. 1998, "Efficient BackProp", § 4.6), so that a sum over a layer's inputs is as
    large as one of them, whatever the width; an embedding's rows have length 1 on average. So every scorer tells source
    positions apart from the first update on.

    deviation: in place of 1/√inputs. Bahdanau et al. take 0.01, for layers of 1000 units.
    attention_deviation: the same for the two matrices of the additive attention, whose v then is 0: attention starts
        even over the source, and learns to look hundreds of updates later. Bahdanau et al. take 0.001.

    Raises ValueError for a negative deviation.
    """
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5 if deviation is None else deviation)
            else:
                nn.init.zeros_(parameter)
        for module in model.modules():
            if isinstance(module, Recurrence):
                _, recurrent, _, _ = module.network.all_weights[0]
                for gate in recurrent.split(module.hidden_size):
                    nn.init.orthogonal_(gate)
            elif isinstance(module, Attention):
                module.reset()
                if attention_deviation is not None:
                    module.draw(attention_deviation)
            elif isinstance(module, nn.LayerNorm):
                module.reset_parameters()
            elif isinstance(module, nn.Embedding) and module.padding_idx is not None:
                module.weight[module.padding_idx] = 0
