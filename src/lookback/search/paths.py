"""Searches that follow single paths: greedy takes the likeliest word at each step, sampling draws one."""

import zlib
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lookback.nn import Seq2Seq
from lookback.search.hypothesis import Hypothesis, LengthRule, best_first, next_log_probabilities
from lookback.symbols import BOS, EOS

Choose = Callable[[Tensor, int], Tensor]
"""log-probabilities (batch, n, vocabulary) at a step, and the step's number → chosen words (batch, n)."""


class GreedySearch:
    """The likeliest word at each step."""

    def __init__(self, limit_factor: float = 2.0, limit_extra: int = 10, length_normalization: float = 1.0) -> None:
        self.n_best = 1
        self.rule = LengthRule(limit_factor, limit_extra, length_normalization)

    @torch.inference_mode()
    def __call__(
        self, model: Seq2Seq, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> list[list[Hypothesis]]:
        return follow_paths(model, source, lengths, self.n_best, lambda scores, step: scores.argmax(-1), self.rule)


class SamplingSearch:
    """Words drawn from the model's distribution, sharpened or flattened by ``temperature``, ``samples`` a sentence.

    Randomness is a function of ``seed`` and of the source sentence alone: the same sentence gives the same samples in
    any batch.
    """

    def __init__(
        self,
        samples: int = 1,
        temperature: float = 1.0,
        seed: int = 0,
        limit_factor: float = 2.0,
        limit_extra: int = 10,
        length_normalization: float = 1.0,
    ) -> None:
        if samples < 1:
            raise ValueError(f"samples={samples}: expected 1 or more")
        if temperature <= 0:
            raise ValueError(
                f"temperature={temperature}: expected more than 0; for the likeliest words use search=greedy"
            )
        self.n_best = self.samples = samples
        self.temperature = temperature
        self.seed = seed
        self.rule = LengthRule(limit_factor, limit_extra, length_normalization)

    @torch.inference_mode()
    def __call__(
        self, model: Seq2Seq, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> list[list[Hypothesis]]:
        steps = max(self.rule.limits(lengths))
        uniform = torch.from_numpy(
            np.stack(
                [
                    np.random.default_rng([self.seed, zlib.crc32(np.asarray(row[:length], np.int64).tobytes())]).random(
                        (steps, self.samples)
                    )
                    for row, length in zip(source.tolist(), lengths.tolist(), strict=True)
                ]
            )
        ).to(source.device)

        def draw(scores: Float[Tensor, "batch n vocabulary"], step: int) -> Int[Tensor, "batch n"]:
            # inverse of the cumulative distribution, at one uniform number a path
            cumulative = torch.softmax(scores.double() / self.temperature, dim=-1).cumsum(-1)
            threshold = uniform[:, step].unsqueeze(-1) * cumulative[..., -1:]
            return torch.searchsorted(cumulative, threshold, right=True).squeeze(-1).clamp(max=scores.shape[-1] - 1)

        return follow_paths(model, source, lengths, self.samples, draw, self.rule)


def follow_paths(
    model: Seq2Seq,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, "batch"],
    n: int,
    choose: Choose,
    rule: LengthRule,
) -> list[list[Hypothesis]]:
    """Extend ``n`` independent paths a sentence word by word until each has its end mark or its limit."""
    memory = model.encoder(source, lengths)
    reader = model.decoder.attention.over(memory)
    limits = rule.limits(lengths)
    limit = torch.tensor(limits, device=source.device).unsqueeze(1)
    state = model.decoder.start(memory)
    state = state.reorder(torch.zeros(len(source), n, dtype=torch.long, device=source.device))
    words = torch.full((len(source), n), BOS, device=source.device)
    running = torch.ones_like(words, dtype=torch.bool)
    chosen_words, chosen_scores, weights = [], [], []
    for step in range(max(limits)):
        state, vectors, looked = model.decoder.step(state, words, reader)
        scores = next_log_probabilities(model, vectors)
        words = choose(scores, step)
        chosen_words.append(words)
        chosen_scores.append(scores.gather(-1, words.unsqueeze(-1)).squeeze(-1))
        weights.append(looked)
        running = running & (words != EOS) & (step + 1 < limit)
        if not running.any():
            break

    all_words = torch.stack(chosen_words, dim=-1).tolist()
    all_scores = torch.stack(chosen_scores, dim=-1).double().cpu()
    all_weights = torch.stack(weights, dim=2).cpu()
    results = []
    for b, length in enumerate(lengths.tolist()):
        paths = []
        for k in range(n):
            tokens = all_words[b][k][: limits[b]]
            truncated = EOS not in tokens
            size = len(tokens) if truncated else tokens.index(EOS) + 1
            log_probability = float(all_scores[b, k, :size].sum())
            paths.append(
                Hypothesis(
                    tokens if truncated else tokens[: size - 1],
                    log_probability,
                    rule.score(log_probability, size),
                    all_weights[b, k, :size, :length],
                    truncated,
                )
            )
        results.append(best_first(paths, n))
    return results
