"""What every search returns, and how all searches limit and rank translations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeVar, runtime_checkable

from annotated_types import Interval
from jaxtyping import Float, Int
from torch import Tensor

from lookback.common.checks import checked
from lookback.nn import Network

LimitFactor = Annotated[float, Interval(ge=0, le=1000)]
LimitExtra = Annotated[int, Interval(ge=1, le=10_000)]
Breadth = Annotated[int, Interval(ge=1, le=2_000)]
"""How many translations of a sentence are followed at once. The config of a stranger's run may ask for any number."""
LengthExponent = Annotated[float, Interval(ge=0, le=100)]
"""Above it, the power of a length is no number any more."""


@dataclass(frozen=True)
class Hypothesis:
    """A translation and its attention weights.

    Attributes:
        tokens: token ids, without the end mark.
        log_probability: of all tokens and, unless truncated, of the end mark; in nats.
        score: ``log_probability / length ** length_normalization``, by which the hypotheses of a sentence are ranked.
            The length counts the end mark.
        alignment: the attention weights: a row for each token (and for the end mark, unless truncated), a column for
            each source token, the source's end mark last.
        truncated: whether the length limit cut it off before its end mark.
    """

    tokens: list[int]
    log_probability: float
    score: float
    alignment: Float[Tensor, "target source"]
    truncated: bool


@runtime_checkable
class Search(Protocol):
    """``search(network, source, lengths)``: the best hypotheses of each sentence, best first.

    The hypotheses of a sentence do not depend on the other sentences of the batch. The network must be in evaluation
    mode. To search many batches with the same weights, pass ``network.laid_out()``.

    Attributes:
        n_best: how many hypotheses a sentence has at most.
        rule: how long they may be, and how they are scored.
    """

    n_best: int
    rule: "LengthRule"

    def __call__(
        self, network: Network, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> list[list[Hypothesis]]: ...


@checked
@dataclass(frozen=True)
class LengthRule:
    """How long a translation may be, and how its length enters its score.

    The translation of a sentence of S tokens, without its end mark, may have ⌊limit_factor · S⌋ + limit_extra tokens,
    with its end mark.

    Attributes:
        limit_factor: 0 or more.
        limit_extra: 1 or more.
        length_normalization: the exponent of the length that divides the log-probability. 0 ranks by log-probability.

    Raises:
        ValueError: if an argument has a value that is not allowed.
    """

    limit_factor: LimitFactor = 2.0
    limit_extra: LimitExtra = 10
    length_normalization: LengthExponent = 1.0

    def limits(self, lengths: Int[Tensor, "batch"], network: Network | None = None) -> list[int]:
        """The most tokens of each sentence's translation, at least 1. ``lengths`` count the source's end mark."""
        most = getattr(network, "longest", None)  # of learned positions; other networks may not have it
        limits = (math.floor(self.limit_factor * (length - 1)) + self.limit_extra for length in lengths.tolist())
        return [limit if most is None else min(limit, most) for limit in limits]

    def score(self, log_probability: float, length: int) -> float:
        """The score of a translation of ``length`` tokens, its end mark counted."""
        return log_probability / length**self.length_normalization


@runtime_checkable
class Ranked(Protocol):
    """Anything that ``best_first`` can rank."""

    @property
    def truncated(self) -> bool: ...
    @property
    def score(self) -> float: ...


RankedType = TypeVar("RankedType", bound=Ranked)


def best_first(hypotheses: Sequence[RankedType], n_best: int) -> list[RankedType]:
    """The ``n_best`` best hypotheses: complete translations before truncated ones, then by score."""
    return sorted(hypotheses, key=lambda hypothesis: (hypothesis.truncated, -hypothesis.score))[:n_best]
