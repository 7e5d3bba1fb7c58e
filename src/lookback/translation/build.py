"""Builds the network that a config names. Every key is a constructor argument, so a misspelt key is an error."""

from omegaconf import DictConfig
from torch import nn

from lookback.common.configs import build, present_target
from lookback.common.errors import config_errors
from lookback.nn import Attention, Seq2Seq, initialize


def build_model(
    config: DictConfig, source_vocabulary: int, target_vocabulary: int, share_embeddings: bool = False
) -> Seq2Seq:
    """Builds the network that ``config`` names, and draws its first weights from torch's random state.

    Args:
        config: a config with ``encoder``, ``decoder``, ``attention`` and ``initialization``.
        source_vocabulary: how many tokens the source tokenizer has.
        target_vocabulary: how many tokens the target tokenizer has.
        share_embeddings: whether encoder and decoder have one embedding, as with a joint tokenizer.

    Raises:
        InputError: if encoder and decoder do not fit together, or if a first weight cannot be drawn as asked.
    """
    model = build_network(config, source_vocabulary, target_vocabulary, share_embeddings)
    with config_errors("initialization"):
        initialize(model, config.initialization.deviation, config.initialization.attention_deviation)
    return model


def build_network(
    config: DictConfig, source_vocabulary: int, target_vocabulary: int, share_embeddings: bool
) -> Seq2Seq:
    """The same, with weights as torch draws them."""
    encoder = build(config.encoder, nn.Module, vocabulary_size=source_vocabulary)
    attention = build(
        config.attention, Attention, query_size=config.decoder.hidden_size, memory_size=encoder.memory_size
    )
    supplied = {"vocabulary_size": target_vocabulary, "attention": attention, "init_size": encoder.final_size}
    if present_target(config.decoder) == "lookback.nn.TransformerDecoder":
        del supplied["init_size"]  # it starts from no state
    decoder = build(config.decoder, nn.Module, **supplied)
    with config_errors():
        return Seq2Seq(encoder, decoder, share_embeddings)
