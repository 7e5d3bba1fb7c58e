"""Beam search."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lookback.common.checks import check_sizes
from lookback.common.special_tokens import EOS
from lookback.nn import Network
from lookback.search.hypothesis import Hypothesis, LengthRule, best_first
from lookback.search.translating import Translating


class BeamSearch:
    """Keep the ``beam_size`` likeliest beginnings of a translation at each step; give the ``n_best`` best translations.

    A beginning whose end mark is among the ``beam_size`` best extensions is complete; a sentence is done when
    ``beam_size`` are. A beam of 1 is greedy search. Hypotheses are ranked by log-probability over length
    (``length_normalization`` 1, the default), without which a beam prefers short translations; 0 turns that off.
    """

    def __init__(
        self,
        beam_size: int = 5,
        n_best: int = 1,
        limit_factor: float = 2.0,
        limit_extra: int = 10,
        length_normalization: float = 1.0,
    ) -> None:
        check_sizes({"beam_size": beam_size, "n_best": n_best})
        if n_best > beam_size:
            raise ValueError(f"n_best={n_best}: expected 1 to beam_size={beam_size}")
        self.beam_size = beam_size
        self.n_best = n_best
        self.rule = LengthRule(limit_factor, limit_extra, length_normalization)

    @torch.inference_mode()
    def __call__(
        self, network: Network, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> list[list[Hypothesis]]:
        limits = self.rule.limits(lengths)
        translating = Translating(network, source, lengths)
        limit = torch.tensor(limits, device=source.device)
        finished = torch.zeros_like(limit)
        totals = torch.zeros(len(limits), 1, device=source.device)
        for step in range(max(limits)):
            next_words, weights = translating.step()
            # at most one end mark a beginning: twice the beam always holds a full beam of continuing candidates
            best, origin, words = next_words.best(totals, 2 * self.beam_size)
            is_end = words == EOS
            totals, kept = best.masked_fill(is_end, -math.inf).topk(self.beam_size)
            # the first step has one beginning to look from, where the others have a beam
            translating.record(best, origin, words, kept, weights.expand(-1, self.beam_size, -1))
            translating.go_on(origin.gather(1, kept), words.gather(1, kept))

            finished = finished + (is_end & (best > -math.inf))[:, : self.beam_size].sum(1)
            rows = translating.leave((finished < self.beam_size) & (step + 1 < limit))
            if rows is not None:
                if len(rows) == 0:
                    break
                totals, finished, limit = totals[rows], finished[rows], limit[rows]

        records = zip(*translating.recorded(), strict=True)
        return [
            _Steps(*(values[:limit] for values in record)).hypotheses(self.beam_size, self.n_best, length, self.rule)
            for record, limit, length in zip(records, limits, lengths.tolist(), strict=True)
        ]


@dataclass(frozen=True)
class _End:
    """A translation that ends with step ``step``: by an end mark behind slot ``slot`` of the beam before it, or, if
    ``truncated``, as it stands in slot ``slot`` after it.
    """

    step: int
    slot: int
    log_probability: float
    score: float
    truncated: bool


@dataclass(frozen=True)
class _Steps:
    """What a search did for one sentence, a row a step: back-pointers, so that searching copies no token lists.

    best, origins, words: its candidates, best first: the log-probability of each, the slot of the beam that it extends,
        and the word by which it does.
    kept: the candidates that are the beam's slots after the step.
    weights: where each slot of the beam before the step looked.
    """

    best: Float[Tensor, "steps candidates"]
    origins: Int[Tensor, "steps candidates"]
    words: Int[Tensor, "steps candidates"]
    kept: Int[Tensor, "steps beam"]
    weights: Float[Tensor, "steps beam source"]

    def hypotheses(self, beam_size: int, n_best: int, length: int, rule: LengthRule) -> list[Hypothesis]:
        """The best translations of the sentence, which has ``length`` tokens; only these are put together."""
        words, origins = self.words.gather(1, self.kept).tolist(), self.origins.gather(1, self.kept).tolist()
        hypotheses = []
        for end in best_first(self._ends(beam_size, rule), n_best):
            # the slots that it passed through, last first: slots[i] is where it stood before step end.step - i
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
        """All translations that were finished; and, if that is no full beam, the best unfinished ones at the limit."""
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
