"""Checks that a network computes what the protocol promises. They use the protocol alone, so any network passes here.

In float64 two correct ways to compute a number differ by 1e-12 or so, and wrong ones by far more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from lookback.common.special_tokens import BOS, EOS, PAD
from lookback.nn import Network, Seq2Seq, length_mask
from lookback.search import BeamSearch, GreedySearch, Search, score
from lookback.translation.doctor.finding import Finding, guarded, judged

_MORE_PADDING = 5
_BEAM = 4

Answers = tuple[Tensor, Tensor]
"""The log-probability of each target token, and its attention weights; 0 at padding"""


@dataclass(frozen=True)
class Case:
    """A network in evaluation mode, and the pairs of sentences that it is asked about.

    Attributes:
        network: in float64, if it can compute in that.
        source: (batch, source) token ids, padded.
        lengths: (batch,) how many tokens each source has, its end mark counted.
        target: (batch, target) ``<s> w_1 … w_T </s>``, padded.
        tolerance: the largest difference between two ways to compute one number.
        ties: the largest share of sentences for which two ways to search may find other words, because two words are
            equally likely within the tolerance.
    """

    network: Network
    source: Tensor
    lengths: Tensor
    target: Tensor
    tolerance: float = 1e-8
    ties: float = 0.0

    @classmethod
    def of(cls, network: Network, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> "Case":
        """The case of these sentences: token ids without special tokens."""
        return cls(
            network,
            _padded([[*tokens, EOS] for tokens in sources]),
            torch.tensor([len(tokens) + 1 for tokens in sources]),
            _padded([[BOS, *tokens, EOS] for tokens in targets]),
        )

    def in_float32(self) -> "Case":
        """The same case, for a network that cannot compute in float64."""
        return replace(self, tolerance=1e-3, ties=0.1)

    def of_sentences(self, rows: Sequence[int]) -> "Case":
        """Some of the sentences, padded as they are here."""
        return replace(self, source=self.source[rows], lengths=self.lengths[rows], target=self.target[rows])

    def padded(self) -> "Case":
        """The same sentences with more padding."""
        source, target = (F.pad(ids, (0, _MORE_PADDING), value=PAD) for ids in (self.source, self.target))
        return replace(self, source=source, target=target)

    def answers(self) -> Answers:
        """What the network says of the targets, all steps at once."""
        scores, weights = score(self.network, self.source, self.lengths, self.target)
        return scores, self._of_targets(weights)

    def answers_by_steps(self) -> Answers:
        """The same, one step after the other."""
        state = self.network.start(self.network.encode(self.source, self.lengths))
        scores, weights = [], []
        for step in range(self.target.shape[1] - 1):
            state, vector, look = self.network.step(state, self.target[:, step : step + 1])
            following = self.target[:, step + 1 : step + 2]
            scores.append(torch.log_softmax(self.network.logits(vector)[:, 0], dim=-1).gather(1, following))
            weights.append(look)
        padding = self.target[:, 1:] == PAD
        return torch.cat(scores, dim=1).masked_fill(padding, 0.0), self._of_targets(torch.cat(weights, dim=1))

    def _of_targets(self, weights: Tensor) -> Tensor:
        return weights.masked_fill((self.target[:, 1:] == PAD).unsqueeze(-1), 0.0)


def repetition(case: Case) -> Finding:
    """The same question twice has the same answer."""
    return judged(
        "repetition",
        _difference(case.answers(), case.answers()),
        0.0,
        ok="the same sentences give the same numbers again",
        otherwise="the same sentences give other numbers the second time: something is drawn at random (dropout that "
        "stays on?), or is remembered on a module between two batches",
    )


def padding(case: Case) -> Finding:
    """More padding changes nothing."""
    scores, weights = case.padded().answers()
    steps, size = case.target.shape[1] - 1, case.source.shape[1]
    return judged(
        "padding",
        _difference((scores[:, :steps], weights[:, :steps, :size]), case.answers()),
        case.tolerance,
        ok=f"{_MORE_PADDING} more columns of padding change no log-probability and no weight",
        otherwise="padding changes log-probabilities or weights: something reads it; mask it, as masked_softmax does",
    )


def batch_size(case: Case) -> Finding:
    """A sentence has the same numbers alone as in a batch of the same padding."""
    alone = [case.of_sentences([row]).answers() for row in range(len(case.source))]
    together = torch.cat([scores for scores, _ in alone]), torch.cat([weights for _, weights in alone])
    return judged(
        "batch size",
        _difference(together, case.answers()),
        case.tolerance,
        ok="each sentence has the same numbers alone as in a batch",
        otherwise="a sentence has other numbers alone than in a batch: something is computed across sentences",
    )


def batch_order(case: Case) -> Finding:
    """The order of the sentences in a batch changes nothing."""
    backwards = list(range(len(case.source)))[::-1]
    scores, weights = case.of_sentences(backwards).answers()
    return judged(
        "batch order",
        _difference((scores.flip(0), weights.flip(0)), case.answers()),
        case.tolerance,
        ok="the sentences of a batch in another order have the same numbers",
        otherwise="a sentence has other numbers in another place of the batch: something depends on its place",
    )


def steps(case: Case) -> Finding:
    """All steps at once give what single steps give."""
    return judged(
        "steps",
        _difference(case.answers_by_steps(), case.answers()),
        case.tolerance,
        ok="step by step the network says what it says of all steps at once",
        otherwise="step and unroll give other numbers: search does not use the model that was trained",
    )


def masked_weights(case: Case) -> Finding:
    """No weight lies on padding."""
    more = case.padded()
    hidden = ~length_mask(more.lengths, more.source.shape[1]).unsqueeze(1)
    found = [weights.masked_select(hidden) for _, weights in (more.answers(), more.answers_by_steps())]
    return judged(
        "masked weights",
        float(torch.cat(found).abs().max()),
        0.0,
        ok="attention weights of padding are exactly 0",
        otherwise="attention looks at padding: its weights must be exactly 0 there",
    )


def row_sums(case: Case) -> Finding:
    """The weights of a step sum to 1, or to less where the attention says so."""
    real = case.target[:, 1:] != PAD
    sums = torch.cat([weights.sum(-1)[real] for _, weights in (case.answers(), case.answers_by_steps())])
    return judged(
        "row sums",
        float((sums - 1).max() if _may_sum_to_less(case.network) else (sums - 1).abs().max()),
        case.tolerance,
        ok="the attention weights of each step sum to 1",
        otherwise="the attention weights of a step do not sum to 1: they are not normalised",
    )


def _may_sum_to_less(network: Network) -> bool:
    return isinstance(network, Seq2Seq) and not network.decoder.attention.sums_to_one


def search_in_batches(case: Case) -> Finding:
    """A search finds the same translation of a sentence alone as in a batch."""
    search = BeamSearch(_BEAM)
    together = _found(search, case)
    alone = [_found(search, case.of_sentences([row]))[0] for row in range(len(case.source))]
    return judged(
        "search in batches",
        _share_of_others(together, alone),
        case.ties,
        ok=f"a beam of {_BEAM} finds the same translations alone as in a batch",
        otherwise="a search finds other translations alone than in a batch: a state does not keep its sentences apart",
    )


def beam_of_one(case: Case) -> Finding:
    """A beam of 1 finds what greedy search finds."""
    return judged(
        "beam of 1",
        _share_of_others(_found(BeamSearch(1), case), _found(GreedySearch(), case)),
        case.ties,
        ok="a beam of 1 finds what greedy search finds",
        otherwise="a beam of 1 finds other translations than greedy search: two searches of one model disagree",
    )


def forced_scores(case: Case) -> Finding:
    """A hypothesis of a beam has the score and the weights that forced decoding gives it."""
    found = BeamSearch(_BEAM, _BEAM)(case.network, case.source, case.lengths)
    hypotheses = [(row, hypothesis) for row, several in enumerate(found) for hypothesis in several]
    rows = [row for row, _ in hypotheses]
    targets = _padded([[BOS, *hypothesis.tokens, EOS] for _, hypothesis in hypotheses])
    scores, weights = replace(case.of_sentences(rows), target=targets).answers()
    differences = []
    for (_, hypothesis), forced, looks in zip(hypotheses, scores, weights, strict=True):
        size, width = hypothesis.alignment.shape  # one that the length limit cut off has no end mark
        differences.append(
            _difference(
                (torch.tensor([hypothesis.log_probability], dtype=torch.float64), hypothesis.alignment),
                (forced[:size].sum(0, keepdim=True), looks[:size, :width]),
            )
        )
    return judged(
        "forced scores",
        max(differences),
        case.tolerance,
        ok=f"each translation of a beam of {_BEAM} has the score and the weights of its forced decoding",
        otherwise="a beam's translation has another score or other weights when the model is forced to write it: what "
        "an attention remembers must lie in its state, which beams reorder",
    )


Check = Callable[[Case], Finding]

CHECKS: dict[str, Check] = {
    "repetition": repetition,
    "padding": padding,
    "batch size": batch_size,
    "batch order": batch_order,
    "steps": steps,
    "masked weights": masked_weights,
    "row sums": row_sums,
    "search in batches": search_in_batches,
    "beam of 1": beam_of_one,
    "forced scores": forced_scores,
}
"""By the name of each check."""


@torch.inference_mode()
def examine(case: Case) -> list[Finding]:
    """The findings of all checks."""
    return [finding for name, check in CHECKS.items() for finding in guarded(name, partial(_alone, check, case))]


def _alone(check: Check, case: Case) -> list[Finding]:
    return [check(case)]


def answers_differ(one: Case, other: Case) -> float:
    """The largest difference between what two networks say of the same sentences; infinite where one is NaN."""
    return _difference(one.answers(), other.answers())


def _padded(rows: Sequence[Sequence[int]]) -> Tensor:
    size = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (size - len(row))] for row in rows])


def _difference(one: Answers, other: Answers) -> float:
    """The largest difference between two answers; infinite where one is NaN."""
    largest = 0.0
    for mine, theirs in zip(one, other, strict=True):
        if mine.shape != theirs.shape:
            return float("inf")
        if mine.numel():
            largest = max(largest, float((mine - theirs).abs().nan_to_num(nan=float("inf")).max()))
    return largest


def _found(search: Search, case: Case) -> list[list[int]]:
    """The tokens of the best translation of each sentence."""
    return [best.tokens for best, *_ in search(case.network, case.source, case.lengths)]


def _share_of_others(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> float:
    return sum(mine != theirs for mine, theirs in zip(one, other, strict=True)) / len(one)
