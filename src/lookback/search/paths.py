"""Searches without a beam: greedy search takes the likeliest word at each step, sampling draws one."""

import zlib
from collections.abc import Callable
from typing import Annotated

import numpy as np
import torch
from annotated_types import Interval, doc
from jaxtyping import Int
from torch import Tensor

from lookback.common.checks import Seed, checked
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
from lookback.search.next_words import NextWords

Temperature = Annotated[
    float, Interval(ge=1e-6, le=1000), doc("a number, 0.000001 to 1,000; for the likeliest words use search=greedy")
]
Choose = Callable[[NextWords, Tensor, int], Tensor]
"""(the next words of the active sentences, the sentences' numbers, the step's number) → chosen words (sentences, n)."""


@checked
class GreedySearch:
    """Takes the likeliest word at each step.

    Args:
        limit_factor: see ``LengthRule``.
        limit_extra: see ``LengthRule``.
        length_normalization: see ``LengthRule``. It changes the score only.
    """

    def __init__(
        self, limit_factor: LimitFactor = 2.0, limit_extra: LimitExtra = 10, length_normalization: LengthExponent = 1.0
    ) -> None:
        self.n_best = 1
        self.rule = LengthRule(limit_factor, limit_extra, length_normalization)

    @torch.inference_mode()
    def __call__(
        self, network: Network, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> list[list[Hypothesis]]:
        def likeliest(next_words: NextWords, sentences: Tensor, step: int) -> Int[Tensor, "sentences n"]:
            return next_words.likeliest()

        return follow_paths(network, source, lengths, self.n_best, likeliest, self.rule)


@checked
class SamplingSearch:
    """Draws translations word by word from the model's distribution.

    The random numbers depend only on ``seed`` and on the source sentence, so that a sentence has the same samples in
    any batch.

    Args:
        samples: how many translations are drawn for each sentence.
        temperature: divides the logits. Under 1 the distribution is sharper, over 1 flatter.
        seed: of the random numbers.
        limit_factor: see ``LengthRule``.
        limit_extra: see ``LengthRule``.
        length_normalization: see ``LengthRule``.

    Raises:
        ValueError: if an argument has a value that is not allowed.
    """

    def __init__(
        self,
        samples: Breadth = 1,
        temperature: Temperature = 1.0,
        seed: Seed = 0,
        limit_factor: LimitFactor = 2.0,
        limit_extra: LimitExtra = 10,
        length_normalization: LengthExponent = 1.0,
    ) -> None:
        self.n_best = self.samples = samples
        self.temperature = temperature
        self.seed = seed
        self.rule = LengthRule(limit_factor, limit_extra, length_normalization)

    @torch.inference_mode()
    def __call__(
        self, network: Network, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> list[list[Hypothesis]]:
        steps = max(self.rule.limits(lengths, network))
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

        def draw(next_words: NextWords, sentences: Tensor, step: int) -> Int[Tensor, "sentences n"]:
            # the inverse of the cumulative distribution at a uniform number for each path
            cumulative = torch.softmax(next_words.logits().double() / self.temperature, dim=-1).cumsum(-1)
            threshold = uniform[sentences, step].unsqueeze(-1) * cumulative[..., -1:]
            return torch.searchsorted(cumulative, threshold, right=True).squeeze(-1).clamp(max=cumulative.shape[-1] - 1)

        return follow_paths(network, source, lengths, self.samples, draw, self.rule)


def follow_paths(
    network: Network,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, "batch"],
    n: int,
    choose: Choose,
    rule: LengthRule,
) -> list[list[Hypothesis]]:
    """Extends ``n`` independent paths of each sentence until each has its end mark or reaches its limit.

    Args:
        network: whose steps are taken.
        source: the tokens of the batch.
        lengths: how many tokens each sentence has, with its end mark.
        n: how many paths each sentence has.
        choose: chooses the next word of each path.
        rule: the limits, and how a path is scored.

    Returns:
        The hypotheses of each sentence, best first.
    """
    limits = rule.limits(lengths, network)
    active = ActiveSentences(network, source, lengths, n)
    limit = torch.tensor(limits, device=source.device)
    running = torch.ones_like(active.words, dtype=torch.bool)
    for step in range(max(limits)):
        next_words, weights = active.step()
        words = choose(next_words, active.sentences, step)
        active.record(words, next_words.log_probabilities(words), weights)
        active.words = words
        running = running & (words != EOS)
        rows = active.drop_finished(running.any(1) & (step + 1 < limit))
        if rows is not None:
            if len(rows) == 0:
                break
            running, limit = running[rows], limit[rows]

    all_words, all_scores, all_weights = active.recorded()
    results = []
    for b, length in enumerate(lengths.tolist()):
        paths = []
        for k in range(n):
            tokens = all_words[b, : limits[b], k].tolist()
            truncated = EOS not in tokens
            size = len(tokens) if truncated else tokens.index(EOS) + 1
            log_probability = float(all_scores[b, :size, k].double().sum())
            paths.append(
                Hypothesis(
                    tokens if truncated else tokens[: size - 1],
                    log_probability,
                    rule.score(log_probability, size),
                    all_weights[b, :size, k, :length],
                    truncated,
                )
            )
        results.append(best_first(paths, n))
    return results
