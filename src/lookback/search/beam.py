"""Beam search."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lookback.common.checks import checked
from lookback.common.special_tokens import EOS
from lookback.nn import Network
from lookback.search.active_sentences import ActiveSentences
from lookback.search.hypothesis import (
    Breadth,
    Hypothesis,
    LengthExponent,
    LengthRule,
    LimitExtra,
    LimitFactor,
    best_first,
)


@checked
class BeamSearch:
    """Keeps the ``beam_size`` likeliest partial translations at each step, and returns the ``n_best`` best ones.

    A partial translation is complete if its end mark is among the ``beam_size`` best extensions of a step. A sentence
    is finished when it has ``beam_size`` complete translations. A beam of 1 is greedy search. Translations are ranked
    by log-probability over length (``length_normalization=1``), because by log-probability alone
    (``length_normalization=0``) a beam prefers short translations.

    Args:
        beam_size: how many partial translations are kept.
        n_best: how many translations are returned, 1 to ``beam_size``.
        limit_factor: see ``LengthRule``.
        limit_extra: see ``LengthRule``.
        length_normalization: see ``LengthRule``.

    Raises:
        ValueError: if an argument has a value that is not allowed.
    """

    def __init__(
        self,
        beam_size: Breadth = 5,
        n_best: Breadth = 1,
        limit_factor: LimitFactor = 2.0,
        limit_extra: LimitExtra = 10,
        length_normalization: LengthExponent = 1.0,
    ) -> None:
        if n_best > beam_size:
            raise ValueError(f"n_best={n_best}: expected 1 to beam_size={beam_size}")
        self.beam_size = beam_size
        self.n_best = n_best
        self.rule = LengthRule(limit_factor, limit_extra, length_normalization)

    @torch.inference_mode()
    def __call__(
        self, network: Network, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> list[list[Hypothesis]]:
        limits = self.rule.limits(lengths, network)
        active = ActiveSentences(network, source, lengths)
        limit = torch.tensor(limits, device=source.device)
        finished = torch.zeros_like(limit)
        totals = torch.zeros(len(limits), 1, device=source.device)
        for step in range(max(limits)):
            next_words, weights = active.step()
            # each partial translation has one extension by the end mark, so twice the beam holds a full beam of others
            best, origin, words = next_words.best(totals, 2 * self.beam_size)
            is_end = words == EOS
            totals, kept = best.masked_fill(is_end, -math.inf).topk(self.beam_size)
            # expand: at the first step there is one partial translation, at the others a full beam
            active.record(best, origin, words, kept, weights.expand(-1, self.beam_size, -1))
            active.advance(origin.gather(1, kept), words.gather(1, kept))

            finished = finished + (is_end & (best > -math.inf))[:, : self.beam_size].sum(1)
            rows = active.drop_finished((finished < self.beam_size) & (step + 1 < limit))
            if rows is not None:
                if len(rows) == 0:
                    break
                totals, finished, limit = totals[rows], finished[rows], limit[rows]

        records = zip(*active.recorded(), strict=True)
        return [
            _Steps(*(values[:limit] for values in record)).hypotheses(self.beam_size, self.n_best, length, self.rule)
            for record, limit, length in zip(records, limits, lengths.tolist(), strict=True)
        ]


@dataclass(frozen=True)
class _End:
    """The end of a translation.

    Attributes:
        step: the last step of the translation.
        slot: where the translation is in the beam before that step, which adds its end mark; or, if ``truncated``, in
            the beam after that step.
        log_probability: of the whole translation.
        score: by which it is ranked.
        truncated: whether the length limit cut it off.
    """

    step: int
    slot: int
    log_probability: float
    score: float
    truncated: bool


@dataclass(frozen=True)
class _Steps:
    """The search of one sentence, a row for each step, with back-pointers instead of copied token lists.

    Attributes:
        best: the log-probabilities of the candidates, best first.
        origins: the beam slot that each candidate extends.
        words: the word by which it extends it.
        kept: the candidates that are in the beam after the step.
        weights: the attention weights of each slot of the beam before the step.
    """

    best: Float[Tensor, "steps candidates"]
    origins: Int[Tensor, "steps candidates"]
    words: Int[Tensor, "steps candidates"]
    kept: Int[Tensor, "steps beam"]
    weights: Float[Tensor, "steps beam source"]

    def hypotheses(self, beam_size: int, n_best: int, length: int, rule: LengthRule) -> list[Hypothesis]:
        """The best translations of the sentence, which has ``length`` tokens. Only these are assembled."""
        words, origins = self.words.gather(1, self.kept).tolist(), self.origins.gather(1, self.kept).tolist()
        hypotheses = []
        for end in best_first(self._ends(beam_size, rule), n_best):
            # follow the back-pointers: slots[i] is the translation's slot before step end.step - i
            slot, tokens, slots = end.slot, [], []
            if not end.truncated:
                slots.append(slot)
            for step in range(end.step if end.truncated else end.step - 1, -1, -1):
                tokens.append(words[step][slot])
                slot = origins[step][slot]
                slots.append(slot)
            alignment = self.weights[torch.arange(end.step + 1), torch.tensor(slots[::-1]), :length]
            hypotheses.append(Hypothesis(tokens[::-1], end.log_probability, end.score, alignment, end.truncated))
        return hypotheses

    def _ends(self, beam_size: int, rule: LengthRule) -> list[_End]:
        """All complete translations and, if they are fewer than the beam, the best ones that the limit cut off."""
        is_end = (self.words == EOS) & (self.best > -math.inf)
        ends: list[_End] = []
        for step, candidate in is_end[:, :beam_size].nonzero().tolist():
            if len(ends) >= beam_size and step > ends[-1].step:
                return ends
            log_probability = float(self.best[step, candidate])
            score = rule.score(log_probability, step + 1)
            ends.append(_End(step, int(self.origins[step, candidate]), log_probability, score, truncated=False))
        last = len(self.best) - 1
        unfinished = self.best[last].masked_fill(self.words[last] == EOS, -math.inf)[self.kept[last]]
        for slot, log_probability in enumerate(unfinished.tolist()):
            if len(ends) < beam_size and log_probability > -math.inf:
                ends.append(_End(last, slot, log_probability, rule.score(log_probability, last + 1), truncated=True))
        return ends
