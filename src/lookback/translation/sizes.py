"""Sizes that give a network a wanted number of parameters, so that arms can be compared at equal size."""

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from lookback.common.configs import present_target
from lookback.common.errors import InputError
from lookback.translation.build import build_network

TOLERANCE = 0.02
"""How far from the wanted number a network may be, as a share of it."""

_STEPS = range(8, 8193)
"""Factors of all sizes, in 512ths: from 1/64 to 16."""


def sizes_for(
    config: DictConfig, parameters: int, source_vocabulary: int, target_vocabulary: int, share_embeddings: bool
) -> dict[str, int]:
    """The sizes, by their dotted keys, with which the network that ``config`` names has ``parameters`` parameters.

    One factor changes both sides: of a recurrent one the hidden size, of a Transformer the size of its feed-forward
    networks, whose other sizes must fit its heads. The decoder keeps its ratio to the encoder. What depends on them, as
    an attention of the decoder's size, follows. Vocabularies and embeddings stay as they are.

    Raises:
        InputError: if no factor from 1/64 to 16 comes within 2 %.
    """
    keys = {side: _size_of(side, config[side]) for side in ("encoder", "decoder")}
    known = {key: int(OmegaConf.select(config, key)) for key in keys.values()}
    ratio = config.decoder.hidden_size / config.encoder.hidden_size
    heads = config.attention.get("heads", 1)  # of an attention as wide as the decoder, they share its size

    def sized(step: int) -> dict[str, int]:
        found = {key: max(1, round(size * step / 512)) for key, size in known.items()}
        wanted = found.get("encoder.hidden_size", 0) * ratio or found.get("decoder.hidden_size", 0)
        if "decoder.hidden_size" in found:
            found["decoder.hidden_size"] = heads * max(1, round(wanted / heads))
        return found

    def count(step: int) -> int:
        with torch.device("meta"):  # shapes alone
            network = build_network(
                with_sizes(config, sized(step)), source_vocabulary, target_vocabulary, share_embeddings
            )
        return sum(parameter.numel() for parameter in network.parameters())

    above = bisect_left(_STEPS, parameters, key=count)
    near = {count(_STEPS[place]): _STEPS[place] for place in (above - 1, above) if 0 <= place < len(_STEPS)}
    nearest = min(near, key=lambda found: abs(found - parameters))
    if abs(nearest - parameters) > TOLERANCE * parameters:
        raise InputError(
            f"parameters={parameters}: the nearest that {' and '.join(known)} give is {nearest:,}; expected a number "
            "within 2 % of what a change of these sizes gives"
        )
    return sized(near[nearest])


def with_sizes(config: DictConfig, sizes: Mapping[str, Any]) -> DictConfig:
    """A copy of the config with these values."""
    changed = config.copy()
    for key, size in sizes.items():
        OmegaConf.update(changed, key, size)
    return changed


def _size_of(side: str, config: DictConfig) -> str:
    is_transformer = (present_target(config) or "").startswith("lookback.nn.Transformer")
    return f"{side}.feed_forward_size" if is_transformer else f"{side}.hidden_size"
