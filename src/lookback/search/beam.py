"""Beam search."""

import math

import torch
from jaxtyping import Int
from torch import Tensor

from lookback.nn import Seq2Seq
from lookback.search.hypothesis import Hypothesis, LengthRule, best_first, next_log_probabilities
from lookback.symbols import BOS, EOS


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
        if beam_size < 1:
            raise ValueError(f"beam_size={beam_size}: expected 1 or more")
        if not 1 <= n_best <= beam_size:
            raise ValueError(f"n_best={n_best}: expected 1 to beam_size={beam_size}")
        self.beam_size = beam_size
        self.n_best = n_best
        self.rule = LengthRule(limit_factor, limit_extra, length_normalization)

    @torch.inference_mode()
    def __call__(
        self, model: Seq2Seq, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> list[list[Hypothesis]]:
        memory = model.encoder(source, lengths)
        reader = model.decoder.attention.over(memory)
        limits = self.rule.limits(lengths)
        history = _History(lengths.tolist(), self.rule)
        unfinished = set(range(len(source)))

        state = model.decoder.start(memory)
        words = torch.full((len(source), 1), BOS, device=source.device)
        totals = torch.zeros(words.shape, dtype=memory.states.dtype, device=source.device)
        for step in range(max(limits)):
            state, vectors, weights = model.decoder.step(state, words, reader)
            scores = next_log_probabilities(model, vectors)
            vocabulary = scores.shape[-1]
            candidates = (totals.unsqueeze(-1) + scores).flatten(1)
            # at most one end mark a beginning: twice the beam always holds a full beam of continuing candidates
            best, flat = candidates.topk(min(2 * self.beam_size, candidates.shape[1]))
            origin, word = flat // vocabulary, flat % vocabulary

            is_end = (word == EOS) & (best > -math.inf)
            for b, k in is_end[:, : self.beam_size].nonzero().tolist():
                if b in unfinished and step < limits[b]:
                    history.finish(b, step, int(origin[b, k]), float(best[b, k]))

            keep = is_end.long().argsort(dim=1, stable=True)[:, : self.beam_size]
            totals = best.gather(1, keep).masked_fill(is_end.gather(1, keep), -math.inf)
            origin, words = origin.gather(1, keep), word.gather(1, keep)
            state = state.reorder(origin)
            history.extend(origin, words, weights)
            for b in list(unfinished):
                if len(history.finished[b]) >= self.beam_size:
                    unfinished.discard(b)
                elif step + 1 >= limits[b]:
                    history.truncate(b, step, totals[b].tolist(), self.beam_size)
                    unfinished.discard(b)
            if not unfinished:
                break
        return [best_first(hypotheses, self.n_best) for hypotheses in history.hypotheses()]


class _History:
    """Back-pointers of a search: a word and its origin a slot and step, so that searching copies no token lists."""

    def __init__(self, lengths: list[int], rule: LengthRule) -> None:
        self.lengths = lengths
        self.rule = rule
        self.steps: list[tuple[Tensor, Tensor, Tensor]] = []
        # (step of the last token, its slot before that step, log-probability, words if truncated) a translation
        self.finished: list[list[tuple[int, int, float, bool]]] = [[] for _ in lengths]

    def extend(self, origin: Int[Tensor, "batch n"], words: Int[Tensor, "batch n"], weights: Tensor) -> None:
        """Slot k is now the former slot ``origin[k]`` plus ``words[k]``; ``weights`` are by the former slots."""
        self.steps.append((origin, words, weights))

    def finish(self, sentence: int, step: int, slot: int, log_probability: float) -> None:
        """The end mark follows slot ``slot`` of the step before ``step``."""
        self.finished[sentence].append((step, slot, log_probability, False))

    def truncate(self, sentence: int, step: int, log_probabilities: list[float], beam_size: int) -> None:
        """Fill the beam with the best unfinished translations, as they stand after ``step``."""
        for slot, log_probability in enumerate(log_probabilities):
            if len(self.finished[sentence]) < beam_size and log_probability > -math.inf:
                self.finished[sentence].append((step, slot, log_probability, True))

    def hypotheses(self) -> list[list[Hypothesis]]:
        """All translations of each sentence, in the order in which they were finished."""
        origins = [origin.tolist() for origin, _, _ in self.steps]
        words = [word.tolist() for _, word, _ in self.steps]
        weights = [weight.cpu() for _, _, weight in self.steps]
        results = []
        for b, ends in enumerate(self.finished):
            hypotheses = []
            for last, slot, log_probability, truncated in ends:
                tokens, rows = [], []
                if not truncated:
                    rows.append(weights[last][b, slot])
                for step in range(last if truncated else last - 1, -1, -1):
                    tokens.append(words[step][b][slot])
                    slot = origins[step][b][slot]
                    rows.append(weights[step][b, slot])
                alignment = torch.stack(rows[::-1])[:, : self.lengths[b]]
                score = self.rule.score(log_probability, len(rows))
                hypotheses.append(Hypothesis(tokens[::-1], log_probability, score, alignment, truncated))
            results.append(hypotheses)
        return results
