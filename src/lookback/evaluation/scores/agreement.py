"""Agreement by distance: does a word have the form that a noun far away in the sentence asks for?

A corpus may say of each reference which of its words agree with a noun or a pronoun elsewhere, how many source words
lie in between, and which other forms the word has (`lookback.data.grammar`, `dependencies=long`). What a translation
made of such a word is read off its own words, without an alignment:

- a word is judged where the reference has its form once and no other form of it: else it would be open which word of
  the translation stands for it;
- it is right where the translation has the form at least once, wrong where it has another form of the word instead, and
  missing where it has none of them.

Accuracy is right / (right + wrong). Its limits: a form counts wherever it stands, so one that belongs to another word
(`est` of a clause that the reference words otherwise) passes for right; a synonym counts as missing; and forms that are
equal in spelling (`rouge`, masculine and feminine) cannot be wrong in what they share. A translation that leaves most
words out is judged on the few that are left, so read accuracy beside the share that is missing.
"""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from lookback.evaluation.statistics.resampling import RESAMPLES, interval, resample
from lookback.runs import Agreement, Prediction

DISTANCES = ((0, 0), (1, 3), (4, 7), (8, 15), (16, None))
"""Source words between a word and what it agrees with: the buckets, `hi` None for the open one."""
RIGHT, WRONG, MISSING = range(3)


class AgreeingWord(TypedDict):
    """A word of a reference that agrees with another one."""

    target: int
    """Its 0-based position in the reference"""
    distance: int
    """From what it agrees with, in source words"""
    others: list[str]
    """Its other forms"""


def judged(reference: Sequence[str], hypothesis: Sequence[str], word: AgreeingWord) -> int | None:
    """RIGHT, WRONG or MISSING for a word of a reference; None where the words alone cannot tell.

    Raises:
        ValueError: if the reference has no such position.
    """
    if not 0 <= word["target"] < len(reference):
        raise ValueError(
            f"agreement: target={word['target']}: expected a word of the reference, 0 to {len(reference) - 1}"
        )
    form, others = reference[word["target"]], set(word["others"])
    if sum(other == form or other in others for other in reference) > 1:
        return None
    if form in hypothesis:
        return RIGHT
    return MISSING if others.isdisjoint(hypothesis) else WRONG


def agreement(
    predictions: Sequence[Prediction],
    words: Sequence[Sequence[AgreeingWord]],
    distances: Sequence[tuple[int, int | None]] = DISTANCES,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Agreement]:
    """Agreement accuracy of a test set by distance, nearest first.

    Args:
        predictions: the translations of N sentences.
        words: for each of them the words of its reference that agree.
        distances: first and last distance of each bucket; None for an open one.
        resamples: bootstrap resamples of the sentences, of full size.
        seed: of the resamples.

    Returns:
        `{"lo", "hi", "n", "accuracy", "ci", "missing"}` a bucket: n words right or wrong; accuracy 0..1, None where n
        is 0; ci the percentile interval [2.5 %, 97.5 %] over sentences, None where n is 0; missing, the share 0..1 of
        the judged words that the translation has in no form, None where no word is judged.

    Raises:
        ValueError: if there are not as many lists of words as predictions, or a position is not in the reference.
    """
    if len(predictions) != len(words):
        raise ValueError(f"agreement: words of {len(words)} sentences: expected {len(predictions)}, one a prediction")
    counts = np.zeros((len(distances), len(predictions), 3), dtype=np.int64)
    for sentence, (prediction, agreeing) in enumerate(zip(predictions, words, strict=True)):
        reference, hypothesis = prediction.reference.split(), prediction.hypothesis.split()
        for word in agreeing:
            verdict = judged(reference, hypothesis, word)
            bucket = _bucket(word["distance"], distances)
            if verdict is not None and bucket is not None:
                counts[bucket, sentence, verdict] += 1
    found: list[Agreement] = []
    for (low, high), count in zip(distances, counts, strict=True):
        right, wrong, missing = (int(total) for total in count.sum(axis=0))
        n = right + wrong
        drawn = resample(count[:, :MISSING], resamples, (seed, low)) if n else np.zeros((0, 2))
        drawn = drawn[drawn.sum(axis=1) > 0]  # a resample may hold no word of the bucket
        found.append(
            {
                "lo": low,
                "hi": high,
                "n": n,
                "accuracy": right / n if n else None,
                "ci": interval(drawn[:, RIGHT] / drawn.sum(axis=1)) if n else None,
                "missing": missing / (n + missing) if n + missing else None,
            }
        )
    return found


def _bucket(distance: int, distances: Sequence[tuple[int, int | None]]) -> int | None:
    for index, (low, high) in enumerate(distances):
        if low <= distance and (high is None or distance <= high):
            return index
    return None
