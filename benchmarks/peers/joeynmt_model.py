"""JoeyNMT 2.3.0's recurrent model and its Transformer, trained and searched by its own functions.

Runs in JoeyNMT's environment.
"""

import logging

import torch
from cases import BOS, EOS, PAD, SIZES, TRANSFORMER, UNK, Options, Sizes
from joeynmt.model import build_model
from joeynmt.search import beam_search, greedy
from torch import Tensor

ATTENTIONS = {
    "bahdanau": ("bahdanau", True),
    "concat": ("bahdanau", False),
    "concat-feeding": ("bahdanau", True),
    "general": ("luong", False),
    "general-feeding": ("luong", True),
}
"""Its attention and input feeding. Its additive attention asks with the current state, as our concat does."""


class JoeyNMT:
    def __init__(self, options: Options) -> None:
        logging.disable(logging.INFO)
        sizes = SIZES[options.sizes]
        is_transformer = options.attention == TRANSFORMER
        config = _transformer(sizes) if is_transformer else _recurrent(sizes, *ATTENTIONS[options.attention])
        vocabulary = _Vocabulary(sizes.vocabulary)
        self.model = build_model(config, vocabulary, vocabulary).to(options.device)
        self.model.loss_function = ("crossentropy", 0.0)
        if options.task == "decode":
            self.model.eval()
        else:
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4)

    def train(self, source: Tensor, target: Tensor) -> float:
        words, predicted = target[:, :-1], target[:, 1:]
        total, *_ = self.model(
            return_type="loss",
            **_sources(source),
            trg_input=words,
            trg=predicted,
            trg_mask=(predicted != PAD).unsqueeze(1),
        )
        loss = total / predicted.numel()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    @torch.no_grad()
    def search(self, source: Tensor, beam_size: int, steps: int) -> list[list[int]]:
        """Its greedy search keeps a recurrent model's alignments; its beam search has none to give."""
        sources = _sources(source)
        states, final, *_ = self.model(return_type="encode", **sources)
        common = {
            "model": self.model,
            "encoder_output": states,
            "encoder_hidden": final,
            "src_mask": sources["src_mask"],
            "max_output_length": steps,
            "min_output_length": steps,  # the end mark is ruled out so long
        }
        if beam_size == 1:
            found, _, _ = greedy(**common)
        else:
            found, _, _ = beam_search(**common, beam_size=beam_size, alpha=1.0, n_best=1)
        return found.tolist()


def _recurrent(sizes: Sizes, attention: str, feeding: bool) -> dict[str, object]:
    embeddings = {"embedding_dim": sizes.embedding, "scale": False}
    common = {"type": "recurrent", "rnn_type": "gru", "num_layers": 1, "dropout": 0.0, "embeddings": embeddings}
    encoder = {**common, "hidden_size": sizes.encoder, "bidirectional": True}
    decoder = {
        **common,
        "hidden_size": sizes.decoder,
        "hidden_dropout": 0.0,
        "attention": attention,
        "input_feeding": feeding,
        "init_hidden": "bridge",
    }
    return {"encoder": encoder, "decoder": decoder, "initializer": "xavier_uniform"}


def _transformer(sizes: Sizes) -> dict[str, object]:
    """Norms first, and the vocabulary's projection is the target's embedding, as ours."""
    stack = sizes.transformer
    side = {
        "type": "transformer",
        "num_layers": stack.layers,
        "num_heads": stack.heads,
        "hidden_size": stack.width,
        "ff_size": stack.feed_forward,
        "layer_norm": "pre",
        "dropout": 0.0,
        "embeddings": {"embedding_dim": stack.width, "scale": True},
    }
    return {"encoder": side, "decoder": side, "tied_softmax": True, "initializer": "xavier_uniform"}


class _Vocabulary:
    """What a model asks of its vocabulary."""

    pad_index, unk_index, bos_index, eos_index, sep_index = PAD, UNK, BOS, EOS, None
    specials = ("<pad>", "<unk>", "<s>", "</s>")
    lang_tags = ()

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def lookup(self, token: str) -> int:
        return self.specials.index(token) if token in self.specials else UNK


def _sources(source: Tensor) -> dict[str, Tensor]:
    lengths = source.new_full((len(source),), source.shape[1])
    return {"src": source, "src_length": lengths, "src_mask": (source != PAD).unsqueeze(1)}
