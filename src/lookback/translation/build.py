"""The network that a config names. Every key is an explicit constructor argument: a misspelt one is an error."""

from typing import Any

from omegaconf import DictConfig, OmegaConf

from lookback.common.configs import build
from lookback.common.errors import config_errors
from lookback.nn import Seq2Seq, initialize


def build_model(
    config: DictConfig, source_vocabulary: int, target_vocabulary: int, share_embeddings: bool = False
) -> Seq2Seq:
    """The network that ``config`` names, with first values drawn from torch's seed."""
    encoder = build(config.encoder, vocabulary_size=source_vocabulary)
    attention = build(config.attention, query_size=config.decoder.hidden_size, memory_size=encoder.memory_size)
    decoder = build(
        config.decoder, vocabulary_size=target_vocabulary, attention=attention, init_size=encoder.final_size
    )
    with config_errors():
        model = Seq2Seq(encoder, decoder, share_embeddings)
    with config_errors("initialization"):
        initialize(model, config.initialization.deviation, config.initialization.attention_deviation)
    return model


def plain(config: DictConfig) -> dict[str, Any]:
    """The config resolved, in plain containers: what checkpoints and trackers hold."""
    container = OmegaConf.to_container(config, resolve=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}
