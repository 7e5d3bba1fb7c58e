"""Whether a model's attention does anything: checks of the weights with which it writes given translations.

The limits lie between what trained and broken attentions measure. 28 trained runs (BLEU 20 to 99; additive, dot and
general attention) measured: on one word 0.09 to 0.12, entropy 0.00 to 0.57, never looked at 0.01 to 0.09, on the end
mark 0.00 to 0.01. 14 that had hardly begun (BLEU under 6) had an entropy of 0.93 to 1.00. An attention that always
looks at the same place measures 1 on that word and leaves all other words unread.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lookback.evaluation import A_LOOK
from lookback.translation.doctor.finding import Finding, judged, skipped

ON_ONE_WORD = 0.5
ENTROPY = 0.9
NEVER_LOOKED_AT = 0.25
ON_THE_END_MARK = 0.5
SHORTEST = 5
"""Source tokens that a sentence needs: in a shorter one, every place gets a large share of the looks."""
NAMES = ("attention on one word", "attention entropy", "words never looked at", "attention on the end mark")


def attention_health(weights: Iterable[NDArray[np.float64]]) -> list[Finding]:
    """The findings about the attention of a sample.

    Args:
        weights: of each sentence (target tokens + 1, source tokens + 1), rows that sum to 1, end marks last.
    """
    # the target's end mark is no look for a word
    tables = [table[:-1] for table in weights if len(table) > 1 and table.shape[1] > SHORTEST]
    if not tables:
        return [skipped(name, f"no sentence of the sample has {SHORTEST} source tokens or more") for name in NAMES]
    measured = [float(np.mean([measure(table) for table in tables])) for measure in _MEASURES]
    limits = (ON_ONE_WORD, ENTROPY, NEVER_LOOKED_AT, ON_THE_END_MARK)
    said = (
        ("share of all looks that the most read place of a sentence gets", "attention has collapsed on one place"),
        ("entropy of a look over that of an even look", "attention is almost even: it has not learnt where to look"),
        ("share of source tokens that no target token looked at", "attention leaves much of the source unread"),
        ("share of all looks that the source's end mark gets", "attention rests on the end mark, which is no word"),
    )
    return [
        judged(name, value, limit, ok=what, otherwise=f"{what}: {why}", verdict="warning")
        for name, value, limit, (what, why) in zip(NAMES, measured, limits, said, strict=True)
    ]


def _on_one_word(weights: NDArray[np.float64]) -> float:
    return float(weights.mean(axis=0).max())


def _entropy(weights: NDArray[np.float64]) -> float:
    logarithms = np.log(weights, out=np.zeros_like(weights), where=weights > 0)  # 0 · ln 0 = 0
    return float(-(weights * logarithms).sum(axis=1).mean() / np.log(weights.shape[1]))


def _never_looked_at(weights: NDArray[np.float64]) -> float:
    return float((~(weights[:, :-1].sum(axis=0) >= A_LOOK)).mean())  # NaN is no look


def _on_the_end_mark(weights: NDArray[np.float64]) -> float:
    return float(weights[:, -1].mean())


_MEASURES = (_on_one_word, _entropy, _never_looked_at, _on_the_end_mark)
"""In the order of ``NAMES``."""
