"""BLEU from sufficient statistics (Papineni et al. 2002): sacrebleu counts the n-grams, the rest is arithmetic.

The statistics of a set of sentences are the sum of its sentences' statistics. So the score of any bucket, and of any
resample of a bucket, is a sum (or a matrix product) of rows that were counted once, followed by `bleu`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sacrebleu.metrics import BLEU

from lookback.common.errors import InputError
from lookback.evaluation.scores.sacrebleu_parts import bleu_tokens

ORDERS = 4
CORRECT = slice(0, ORDERS)
TOTAL = slice(ORDERS, 2 * ORDERS)
HYPOTHESIS_LENGTH = 2 * ORDERS
REFERENCE_LENGTH = 2 * ORDERS + 1
COLUMNS = 2 * ORDERS + 2

TOKENIZERS = tuple(BLEU.TOKENIZERS)
"""sacrebleu's, by the names that a signature has"""


def sentence_statistics(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> NDArray[np.int64]:
    """Count, for each sentence, what BLEU needs to know of it.

    `tokenize` is sacrebleu's tokenizer: "13a" for ordinary text, "none" where the text is already tokenised.

    Returns `(sentences, 10)`: n-grams of the hypothesis that are in the reference (clipped) for n = 1..4, n-grams of
    the hypothesis for n = 1..4, hypothesis length, reference length; the lengths in tokens of `tokenize`.

    Raises `ValueError` if the two sequences differ in length (sacrebleu would silently drop the rest).
    """
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references: expected as many of each")
    metric = _metric(tokenize, effective_order=True)  # the order changes scores only, and True keeps sacrebleu quiet
    rows = np.empty((len(hypotheses), COLUMNS), dtype=np.int64)
    for row, hypothesis, reference in zip(rows, hypotheses, references, strict=True):
        score = metric.sentence_score(hypothesis, [reference])
        row[CORRECT], row[TOTAL] = score.counts, score.totals
        row[HYPOTHESIS_LENGTH], row[REFERENCE_LENGTH] = score.sys_len, score.ref_len
    return rows


def bleu(
    statistics: ArrayLike, *, effective_order: bool = False, brevity_penalty: bool = True
) -> NDArray[np.float64] | np.float64:
    """Score summed statistics `(..., 10)`; gives `(...)` in 0..100, over as many leading axes (resamples) as there are.

    Equal to sacrebleu's corpus BLEU with exponential smoothing: the k-th n-gram order without a match counts 1/2^k
    matches. Without one 4-gram in the output, sacrebleu calls BLEU undefined and gives 0; with `effective_order` (also
    sacrebleu's) the mean is taken over the orders that exist, so that perfect sentences of three words score 100.
    `brevity_penalty=False` leaves the penalty out, which tells wrong words from missing words.
    """
    statistics = np.asarray(statistics, dtype=np.float64)
    correct, total = statistics[..., CORRECT], statistics[..., TOTAL]
    hypothesis, reference = statistics[..., HYPOTHESIS_LENGTH], statistics[..., REFERENCE_LENGTH]

    exists = total > 0
    missed = exists & (correct == 0)
    matches = np.where(missed, 0.5 ** np.cumsum(missed, axis=-1), correct)
    log_precision = np.log(np.where(exists, 100 * matches / np.where(exists, total, 1), 1.0))
    orders = exists.sum(axis=-1) if effective_order else ORDERS
    score = np.exp(log_precision.sum(axis=-1) / np.maximum(orders, 1))

    defined = correct.any(axis=-1) & (effective_order | exists.all(axis=-1))
    if brevity_penalty:
        score = score * np.exp(np.minimum(0.0, 1 - reference / np.maximum(hypothesis, 1)))
    return np.where(defined, score, 0.0)[()]


def omitted(statistics: ArrayLike) -> NDArray[np.float64]:
    """Words of the references that the translations lack, in percent, of summed statistics `(..., 10)`: `(...)`.

    A word that occurs c times in a reference and h times in its translation is missing max(0, c − h) times: it is what
    BLEU's clipped count of single words leaves of the reference. NaN without a word in the references.
    """
    statistics = np.asarray(statistics, dtype=np.float64)
    found, words = statistics[..., CORRECT.start], statistics[..., REFERENCE_LENGTH]
    return np.where(words > 0, 100 * (1 - found / np.where(words > 0, words, 1)), np.nan)


def tokenized(texts: Sequence[str], tokenize: str) -> list[list[str]]:
    """The tokens of each text, as BLEU counts them with sacrebleu's tokenizer `tokenize`."""
    metric = _metric(tokenize, effective_order=True)
    return [bleu_tokens(metric, text) for text in texts]


def signature(tokenize: str, effective_order: bool = False) -> str:
    """What a BLEU score must be published with: sacrebleu's signature, its version included."""
    metric = _metric(tokenize, effective_order)
    metric.corpus_score(["a"], [["a"]])  # sacrebleu knows the number of references only after a score
    return str(metric.get_signature())


def signature_tokenizer(signature: str) -> str:
    """The `tokenize` that a signature names: `nrefs:1|case:mixed|eff:no|tok:13a|…` gives 13a.

    Raises `InputError` for a signature that names none that sacrebleu has.
    """
    named = [part.removeprefix("tok:") for part in signature.split("|") if part.startswith("tok:")]
    if len(named) != 1 or named[0] not in TOKENIZERS:
        raise InputError(f"signature {signature!r}: expected sacrebleu's, with tok:{' or tok:'.join(TOKENIZERS)}")
    return named[0]


def _metric(tokenize: str, effective_order: bool) -> Any:
    if tokenize not in TOKENIZERS:
        raise ValueError(f"tokenize={tokenize!r} is not one of {', '.join(TOKENIZERS)}")
    return BLEU(tokenize=tokenize, effective_order=effective_order, force=True)
