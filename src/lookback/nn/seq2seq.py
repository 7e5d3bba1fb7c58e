"""The translator's network: an encoder, and a decoder that looks back at what it left."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from lookback.nn.decoder import RecurrentDecoder
from lookback.nn.encoder import RecurrentEncoder
from lookback.nn.loss import TokenLoss, projected_cross_entropy
from lookback.symbols import PAD


class Seq2Seq(nn.Module):
    """Encoder and decoder; targets are ``<s> w_1 … w_T </s>``, padded."""

    def __init__(self, encoder: RecurrentEncoder, decoder: RecurrentDecoder) -> None:
        super().__init__()
        if decoder.attention.memory_size != encoder.memory_size:
            raise ValueError(
                f"memory_size={decoder.attention.memory_size}: the attention must read states of the encoder's "
                f"memory_size={encoder.memory_size}"
            )
        self.encoder = encoder
        self.decoder = decoder

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, "batch"],
        target: Int[Tensor, "batch target"],
        smoothing: float = 0.0,
    ) -> TokenLoss:
        """The loss of known translations, summed over their words and end marks."""
        vectors, _ = self.decoder.unroll(target[:, :-1], self.encoder(source, lengths))
        outputs = target[:, 1:]
        real = outputs != PAD
        vocabulary = self.decoder.vocabulary
        return projected_cross_entropy(vectors[real], vocabulary.weight, vocabulary.bias, outputs[real], smoothing)

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
