"""The network: an encoder, and a decoder that looks back at what it left; each recurrent or a Transformer's."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lookback.common.special_tokens import PAD
from lookback.nn.laid_out import LaidOut
from lookback.nn.loss import TokenLoss, coverage_loss, projected_cross_entropy
from lookback.nn.memory import Memory
from lookback.nn.recurrent.decoder import RecurrentDecoder
from lookback.nn.recurrent.encoder import RecurrentEncoder
from lookback.nn.transformer.decoder import TransformerDecoder
from lookback.nn.transformer.encoder import TransformerEncoder


class Seq2Seq(nn.Module):
    """Encoder and decoder; targets are ``<s> w_1 … w_T </s>``, padded.

    share_embeddings: encoder and decoder read words of one vocabulary from one table, the decoder's.
    """

    def __init__(
        self,
        encoder: RecurrentEncoder | TransformerEncoder,
        decoder: RecurrentDecoder | TransformerDecoder,
        share_embeddings: bool = False,
    ) -> None:
        super().__init__()
        if decoder.attention.memory_size != encoder.memory_size:
            raise ValueError(
                f"memory_size={decoder.attention.memory_size}: the attention must read states of the encoder's "
                f"memory_size={encoder.memory_size}"
            )
        self.encoder = encoder
        self.decoder = decoder
        if share_embeddings:
            ours, theirs = encoder.embedding, decoder.embedding
            if ours.embedding_dim != theirs.embedding_dim:
                raise ValueError(
                    f"encoder.{_size_of_words(encoder)}={ours.embedding_dim} and "
                    f"decoder.{_size_of_words(decoder)}={theirs.embedding_dim}: "
                    "one embedding for both sides, as of a joint tokenizer, needs equal sizes"
                )
            if ours.num_embeddings != theirs.num_embeddings:
                raise ValueError(
                    f"vocabulary_size={ours.num_embeddings} and {theirs.num_embeddings}: one embedding for both sides "
                    "needs one vocabulary"
                )
            ours.weight = theirs.weight  # a tied vocabulary projection stays tied

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, "batch"],
        target: Int[Tensor, "batch target"],
        smoothing: float = 0.0,
        tokens: int | None = None,
        coverage: float = 0.0,
        own_words: float = 0.0,
    ) -> TokenLoss:
        """The loss of known translations, summed over their words and end marks.

        tokens: how many those are. None: they are counted, and the host waits for a GPU to do it.
        coverage: λ: λ times the coverage loss of each word's look is added, of several layers and heads their mean.
            Who looks nowhere has none.
        own_words: the share of the words read that are the network's own, see ``unroll_with_own_words``.
        """
        memory = self.encode(source, lengths)
        if own_words:
            vectors, weights = self.unroll_with_own_words(target[:, :-1], memory, own_words)
        elif coverage and self.looks_back:
            vectors, weights = self.unroll(target[:, :-1], memory)
        else:
            vectors, weights = self.decoder.vectors(target[:, :-1], memory), None
        outputs = target[:, 1:].flatten()
        real = outputs != PAD
        rows = (real.nonzero() if tokens is None else real.nonzero_static(size=tokens)).squeeze(1)
        vocabulary = self.decoder.vocabulary
        result = projected_cross_entropy(
            vectors.flatten(0, 1).index_select(0, rows), vocabulary.weight, vocabulary.bias, outputs[rows], smoothing
        )
        if weights is None or not coverage or not self.looks_back:
            return result
        again = coverage_loss(weights.to(result.loss.dtype)).flatten().index_select(0, rows).sum()
        return result._replace(loss=result.loss + coverage * again, coverage=again.detach())

    @property
    def vocabulary_size(self) -> int:
        """Of the target."""
        return self.decoder.vocabulary.out_features

    @property
    def looks_back(self) -> bool:
        """False where its weights say nothing, as it reads the source as a whole."""
        return self.decoder.attention.looks_back

    def encode(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]) -> Memory:
        """Read padded sentences of true ``lengths`` (≥ 1, end mark included)."""
        return self.encoder(source, lengths)

    def start(self, memory: Memory) -> Any:
        """The state before the first word, n = 1."""
        return self.decoder.start(memory)

    def step(
        self, state: Any, words: Int[Tensor, "batch n"]
    ) -> tuple[Any, Float[Tensor, "batch n readout"], Float[Tensor, "batch n source"]]:
        """Read one word a hypothesis: the next state, the vector that predicts the next word, and the weights α."""
        return self.decoder.step(state, words)

    def unroll(
        self, words: Int[Tensor, "batch time"], memory: Memory
    ) -> tuple[Float[Tensor, "batch time readout"], Float[Tensor, "batch time source"]]:
        """Read a known target <s> w_1 … w_{T-1}: the vectors that predict w_1 … w_T, and the weights α."""
        return self.decoder.unroll(words, memory)

    @property
    def longest(self) -> int | None:
        """How many tokens of a target, its end mark counted, the decoder has positions for; None: any number."""
        return self.decoder.longest

    @property
    def look_names(self) -> tuple[str, ...]:
        """What ``unroll_looks`` gives: each layer and head that looks, where there are several; else nothing."""
        return self.decoder.look_names

    def unroll_looks(
        self, words: Int[Tensor, "batch time"], memory: Memory
    ) -> Float[Tensor, "batch time looks source"]:
        """The weights of each of ``look_names``: of a layer the mean of its heads."""
        _, looks = self.decoder.looks(words, memory)
        parts = []
        for look in looks:
            parts += [look.weights.unsqueeze(2)] if len(looks) > 1 else []
            parts += [look.heads] if look.heads is not None and look.heads.shape[2] > 1 else []
        return torch.cat(parts, dim=2)

    def unroll_with_own_words(
        self, words: Int[Tensor, "batch time"], memory: Memory, share: float
    ) -> tuple[Float[Tensor, "batch time readout"], Float[Tensor, "batch time source"]]:
        """``unroll``, but each word behind <s> is with probability ``share`` one that the network draws from what it
        predicts there: scheduled sampling (Bengio et al. 2015, § 2.4). Step by step, as a drawn word waits for a step.
        """
        state, word = self.start(memory), words[:, :1]
        vectors, weights = [], []
        for known in [*words[:, 1:].split(1, dim=1), None]:
            state, vector, looked = self.step(state, word)
            vectors.append(vector)
            weights.append(looked)
            if known is not None:
                with torch.no_grad():
                    drawn = torch.multinomial(torch.softmax(self.logits(vector[:, 0]).float(), dim=-1), 1)
                    word = torch.where(torch.rand(known.shape, device=known.device) < share, drawn, known)
        return torch.cat(vectors, dim=1), torch.cat(weights, dim=1)

    def logits(self, vectors: Float[Tensor, "*batch readout"]) -> Float[Tensor, "*batch vocabulary"]:
        """Scores of the next word, before the softmax."""
        return self.decoder.logits(vectors)

    def laid_out(self) -> "LaidOut":
        """The same network for many searches, its weights as they are now, in the current precision."""
        return LaidOut(self)


def _size_of_words(side: nn.Module) -> str:
    """The argument that sets it."""
    return "hidden_size" if isinstance(side, TransformerEncoder | TransformerDecoder) else "embedding_size"
