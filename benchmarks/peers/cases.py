"""What is measured, in words that every system's process understands: plain Python, for any environment."""

from dataclasses import dataclass

PAD, UNK, BOS, EOS = 0, 1, 2, 3
FIRST_WORD = 4


@dataclass(frozen=True)
class Sizes:
    """Of a model and its batches.

    encoder: of a direction; there are two. readout: of ours; the peers' vector before the vocabulary is as large as
    their decoder's state. batch: sentences of a training step.
    """

    vocabulary: int
    embedding: int
    encoder: int
    attention: int
    decoder: int
    readout: str
    readout_size: int
    batch: int


SIZES = {
    "tiny": Sizes(50, 8, 8, 8, 8, "attentional", 8, 4),
    "small": Sizes(8_000, 256, 256, 256, 256, "attentional", 256, 64),
    "paper": Sizes(30_000, 620, 1000, 1000, 1000, "maxout", 500, 80),
    "paper-attentional": Sizes(30_000, 620, 1000, 1000, 1000, "attentional", 1000, 80),
}

OFFERED = {
    "joeynmt": ("bahdanau", "general", "general-feeding"),
    "opennmt": ("bahdanau", "general", "general-feeding", "dot", "dot-feeding", "none"),
}
"""The attentions of each peer."""

ATTENTIONS = OFFERED["opennmt"]


@dataclass(frozen=True)
class Options:
    """Of one worker process.

    system: lookback, joeynmt, opennmt or limit.
    task: train or decode.
    precision: float32, medium (`torch.set_float32_matmul_precision`) or bfloat16 (autocast). Peers run in float32.
    cores: that the process may use, a thread each.
    fast: of lookback alone: the decoder's fast path in training, its own search in decoding; else the plain ones.
    fused: of lookback alone: Adam's fused kernel; else torch's default, as for the peers.
    """

    system: str
    task: str
    sizes: str
    attention: str
    precision: str
    device: str
    cores: list[int]
    fast: bool = True
    fused: bool = True
