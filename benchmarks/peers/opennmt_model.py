"""OpenNMT-py 3.5.1's recurrent model and its Transformer, trained and searched by its own functions.

Runs in OpenNMT-py's environment.
"""

# ruff: noqa: E402 (what is stubbed must be stubbed before the peer is imported)

import sys
import types
import warnings

# optional packages that it imports and does not use here
for name in ("spacy", "fasttext", "ahocorasick"):
    sys.modules.setdefault(name, types.ModuleType(name))
warnings.simplefilter("ignore")

import torch
from cases import BOS, EOS, FIRST_WORD, PAD, SIZES, TRANSFORMER, UNK, Options, Sizes
from onmt.decoders.decoder import InputFeedRNNDecoder, StdRNNDecoder
from onmt.decoders.transformer import TransformerDecoder
from onmt.encoders.rnn_encoder import RNNEncoder
from onmt.encoders.transformer import TransformerEncoder
from onmt.models import NMTModel
from onmt.modules import Embeddings
from onmt.translate.beam_search import GNMTGlobalScorer
from onmt.translate.translator import Translator
from onmt.utils.loss import LossCompute
from torch import Tensor, nn

ATTENTIONS = {
    "bahdanau": ("mlp", True),
    "concat": ("mlp", False),
    "concat-feeding": ("mlp", True),
    "general": ("general", False),
    "general-feeding": ("general", True),
    "dot": ("dot", False),
    "dot-feeding": ("dot", True),
    "none": (None, False),
}
"""Its attention and input feeding. Its additive attention asks with the current state, as our concat does."""


class OpenNMT:
    """Its recurrent encoder's two directions share the decoder's size: half the width of ours and of JoeyNMT's."""

    def __init__(self, options: Options) -> None:
        sizes = SIZES[options.sizes]
        if options.attention == TRANSFORMER:
            self.model = _transformer(sizes)
        else:
            self.model = _recurrent(sizes, *ATTENTIONS[options.attention])
        for parameter in self.model.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)
        self.model.to(options.device)
        self.vocabulary = _Vocabulary(sizes.vocabulary)
        self.gpu = -1 if options.device == "cpu" else 0
        if options.task == "decode":
            self.model.eval()
        else:
            criterion = nn.CrossEntropyLoss(ignore_index=PAD, reduction="sum")
            self.loss = LossCompute(criterion, self.model.generator)
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4)

    def train(self, source: Tensor, target: Tensor) -> float:
        lengths = _lengths(source)
        outputs, weights = self.model(source.unsqueeze(-1), target.unsqueeze(-1), lengths)
        batch = {"src": source, "tgt": target.unsqueeze(-1), "srclen": lengths}
        total, _ = self.loss(batch, outputs, weights)
        loss = total / target[:, 1:].numel()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def search(self, source: Tensor, beam_size: int, steps: int) -> list[list[int]]:
        """Without the alignments: asked to keep them, its search fails on a decoder with input feeding."""
        scorer = GNMTGlobalScorer(alpha=0.0, beta=0.0, length_penalty="avg", coverage_penalty="none")
        translator = Translator(
            self.model,
            {"src": self.vocabulary, "tgt": self.vocabulary, "decoder_start_token": "<s>"},
            gpu=self.gpu,
            n_best=1,
            min_length=steps,  # the end mark is ruled out so long
            max_length=steps,
            max_length_ratio=0,
            beam_size=beam_size,
            random_sampling_topk=1 if beam_size == 1 else 0,  # greedy
            dump_beam="",
            global_scorer=scorer,
            report_score=False,
        )
        batch = {"src": source.unsqueeze(-1), "srclen": _lengths(source)}
        found = translator.translate_batch(batch, attn_debug=False)
        return [best.tolist() for best, *_ in found["predictions"]]


def _recurrent(sizes: Sizes, attention: str | None, feeding: bool) -> NMTModel:
    source, target = (Embeddings(sizes.embedding, sizes.vocabulary, PAD) for _ in range(2))
    encoder = RNNEncoder("GRU", True, 1, sizes.decoder, 0.0, source)
    kind = InputFeedRNNDecoder if feeding else StdRNNDecoder
    decoder = kind("GRU", True, 1, sizes.decoder, attn_type=attention, dropout=0.0, embeddings=target)
    model = NMTModel(encoder, decoder)
    model.generator = nn.Linear(sizes.decoder, sizes.vocabulary)
    return model


def _transformer(sizes: Sizes) -> NMTModel:
    """Its norms come first always; the vocabulary's projection is the target's embedding, as ours."""
    stack = sizes.transformer
    source, target = (Embeddings(stack.width, sizes.vocabulary, PAD, position_encoding=True) for _ in range(2))
    encoder = TransformerEncoder(
        stack.layers,
        stack.width,
        stack.heads,
        stack.feed_forward,
        dropout=0.0,
        attention_dropout=0.0,
        embeddings=source,
        max_relative_positions=0,
        relative_positions_buckets=0,
    )
    decoder = TransformerDecoder(
        stack.layers,
        stack.width,
        stack.heads,
        stack.feed_forward,
        copy_attn=False,
        self_attn_type="scaled-dot-flash",  # its default, which it takes on a GPU alone
        dropout=0.0,
        attention_dropout=0.0,
        embeddings=target,
        max_relative_positions=0,
        relative_positions_buckets=0,
        aan_useffn=False,
        full_context_alignment=False,
        alignment_layer=-3,
        alignment_heads=0,
    )
    model = NMTModel(encoder, decoder)
    model.generator = nn.Linear(stack.width, sizes.vocabulary)
    model.generator.weight = target.word_lut.weight
    return model


class _Vocabulary:
    """What a translator asks of its vocabulary."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def lookup_token(self, token: str) -> int:
        return {"<blank>": PAD, "<unk>": UNK, "<s>": BOS, "</s>": EOS}.get(token, FIRST_WORD)


def _lengths(source: Tensor) -> Tensor:
    return source.new_full((len(source),), source.shape[1])
