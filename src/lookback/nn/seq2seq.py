"""The translator's network: an encoder, and a decoder that looks back at what it left."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from lookback.common.special_tokens import PAD
from lookback.nn.loss import TokenLoss, projected_cross_entropy
from lookback.nn.recurrent.decoder import RecurrentDecoder
from lookback.nn.recurrent.encoder import RecurrentEncoder


class Seq2Seq(nn.Module):
    """Encoder and decoder; targets are ``<s> w_1 … w_T </s>``, padded.

    share_embeddings: encoder and decoder read words of one vocabulary from one table, the decoder's.
    """

    def __init__(self, encoder: RecurrentEncoder, decoder: RecurrentDecoder, share_embeddings: bool = False) -> None:
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
                    f"encoder.embedding_size={ours.embedding_dim} and decoder.embedding_size={theirs.embedding_dim}: "
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
    ) -> TokenLoss:
        """The loss of known translations, summed over their words and end marks.

        tokens: how many those are. None: they are counted, and the host waits for a GPU to do it.
        """
        vectors, _ = self.decoder.unroll(target[:, :-1], self.encoder(source, lengths))
        outputs = target[:, 1:].flatten()
        real = outputs != PAD
        rows = (real.nonzero() if tokens is None else real.nonzero_static(size=tokens)).squeeze(1)
        vocabulary = self.decoder.vocabulary
        return projected_cross_entropy(
            vectors.flatten(0, 1).index_select(0, rows), vocabulary.weight, vocabulary.bias, outputs[rows], smoothing
        )

    def score(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, "batch"],
        target: Int[Tensor, "batch target"],
    ) -> tuple[Float[Tensor, "batch time"], Float[Tensor, "batch time source"]]:
        """Log-probability of each target word and end mark (0 where padded), and the weights it was read with."""
        vectors, weights = self.decoder.unroll(target[:, :-1], self.encoder(source, lengths))
        outputs = target[:, 1:]
        chosen = self.decoder.log_probabilities(vectors).gather(-1, outputs.unsqueeze(-1)).squeeze(-1)
        return chosen.masked_fill(outputs == PAD, 0.0), weights

    def weights(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, "batch"],
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch time source"]:
        """The weights that ``score`` gives, without the cost of the vocabulary."""
        _, weights = self.decoder.unroll(target[:, :-1], self.encoder(source, lengths))
        return weights
