"""What is measured, in words that every system's process understands: plain Python, for any environment."""

from dataclasses import dataclass

PAD, UNK, BOS, EOS = 0, 1, 2, 3
FIRST_WORD = 4


@dataclass(frozen=True)
class Stack:
    """Of a Transformer, each side alike. width: of words and layers; feed_forward: of a layer's inner values."""

    width: int
    feed_forward: int
    heads: int
    layers: int


@dataclass(frozen=True)
class Sizes:
    """Of a model and its batches.

    encoder: of a direction; there are two. readout: of ours; the peers' vector before the vocabulary is as large as
    their decoder's state. batch: sentences of a training step. transformer: in place of the recurrent sizes.
    """

    vocabulary: int
    embedding: int
    encoder: int
    attention: int
    decoder: int
    readout: str
    readout_size: int
    batch: int
    transformer: Stack


SMALL, BASE = Stack(256, 1024, 4, 3), Stack(512, 2048, 8, 6)
SIZES = {
    "tiny": Sizes(50, 8, 8, 8, 8, "attentional", 8, 4, Stack(8, 16, 2, 2)),
    "small": Sizes(8_000, 256, 256, 256, 256, "attentional", 256, 64, SMALL),
    "paper": Sizes(30_000, 620, 1000, 1000, 1000, "maxout", 500, 80, BASE),
    "paper-attentional": Sizes(30_000, 620, 1000, 1000, 1000, "attentional", 1000, 80, BASE),
}

TRANSFORMER = "transformer"
ATTENTIONS = (
    "none",
    "location",
    "dot",
    "dot-feeding",
    "scaled_dot",
    "general",
    "general-feeding",
    "concat",
    "concat-feeding",
    "bahdanau",
    "normed_bahdanau",
    "local_m",
    "local_p",
    "coverage",
    "location_sensitive",
    "multihead",
    TRANSFORMER,
)
"""Those of conf/attention in a recurrent decoder, `-feeding` with input feeding; and the Transformer."""

OFFERED = {
    "joeynmt": ("bahdanau", "concat", "concat-feeding", "general", "general-feeding", TRANSFORMER),
    "opennmt": (
        "bahdanau",
        "concat",
        "concat-feeding",
        "general",
        "general-feeding",
        "dot",
        "dot-feeding",
        "none",
        TRANSFORMER,
    ),
}
"""The attentions of each peer."""

LIMITED = tuple(name for name in ATTENTIONS if name not in ("coverage", "location_sensitive"))
"""Those whose step has a limit. The others also multiply what they remember, a look at a time: see products.py."""

LOOPS = ("dot-feeding", "general-feeding", "concat-feeding", "bahdanau", "normed_bahdanau")
"""Attentions whose context the decoder waits for, and whose backward pass is written out: our fast path."""


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
