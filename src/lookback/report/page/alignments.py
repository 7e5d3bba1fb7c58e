"""The alignment viewer's data."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookback.evaluation import BOUNDS, label
from lookback.evaluation.length_curve import cut
from lookback.report.evidence.contrasts import BASELINE
from lookback.report.evidence.rows import ranked
from lookback.report.page.payload import packed
from lookback.report.page.systems import names, opponent
from lookback.runs import Run
from lookback.runs.alignments import AlignedSentence, Alignments, read_alignments

BUDGET = 350_000
"""Characters that the viewer may take in a page of `RUNS` runs"""
RUNS = 12
MORE = 29_000
"""Characters more for each run beyond"""
LOOKS_BUDGET = 200_000
"""Characters that the weights of single layers and heads may take in a page"""
ZERO = ord("0")
"""Character of 0 %"""
_TRIED = 2
"""Runs that are compressed to know what all of them would take"""

Sample = list[tuple[Run, Alignments, list[AlignedSentence]]]
"""Of each run the same sentences, in the same order"""


def alignments(runs: Sequence[Run]) -> dict[str, Any] | None:
    """What the alignment viewer shows of scored `runs` of one test set; None where no run has alignments.npz.

        systems       of each run its name; its moments, [epochs, updates or None] each; its weights, a text a sentence;
                      and, where several layers and heads look, its looks (`_looks`)
        opponent      place of the system that stands beside the first one at the start
        nowhere       names of the runs that look nowhere: their attention is `none`
        has_gold      whether the test set has gold links
        left_out      [moments, sentences] that had to go for the page to stay small (`BUDGET`)
        sentences     {"id", "bucket", "source", "target", "sure", "possible"}, shortest bucket first: words without end
                      marks, links as [source word, target word]

    A weight is a character, `ZERO` for 0 % and so on: whole percents, except that the largest weight of a row is made
    one percent larger where rounding would not leave it the first of the largest. Those of one cell at all moments
    stand together, cells row by row, end marks last. What a model that diverged left as NaN is 0 %.

    The sentences are those that most runs have, so that all systems show the same ones; a run without them is left
    out. Where all is too much, moments are thinned first, then the sentences of each bucket; the last moment stays.
    """
    nowhere = [run for run in ranked(runs) if run.attention == BASELINE]
    sample = _sample([run for run in ranked(runs) if run.attention != BASELINE])
    if not sample:
        return None
    first = sample[0][2]
    lengths = np.array([max(1, len(sentence.source)) for sentence in first])
    labelled = [(label(bucket), chosen.tolist()) for bucket, chosen in cut(lengths, BOUNDS) if len(chosen)]
    buckets = [rows for _, rows in labelled]
    budget = BUDGET + MORE * max(0, len(sample) - RUNS)
    moments, chosen = _fitting(sample, buckets, budget)
    gold = next((entry for entry in sample if entry[1].has_gold), sample[0])
    bucket_of = {row: name for name, rows in labelled for row in rows}
    every = max(len(about.epochs) for _, about, _ in sample)
    return {
        "systems": [
            {"name": name, **_system(about, [of[row] for row in chosen], moments), **looks}
            for name, (_, about, of), looks in zip(
                names([run for run, _, _ in sample]), sample, _looks(sample, buckets, chosen), strict=True
            )
        ],
        "opponent": opponent([run for run, _, _ in sample]),
        "nowhere": names(nowhere),
        "has_gold": gold[1].has_gold,
        "left_out": [every - min(every, moments), len(first) - len(chosen)],
        "sentences": [
            {
                "id": first[row].id,
                "bucket": bucket_of[row],
                "source": first[row].source,
                "target": first[row].target,
                "sure": gold[2][row].sure,
                "possible": gold[2][row].possible,
            }
            for row in chosen
        ],
    }


def percents(weights: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Whole percents of `weights (…, columns)`, rows that sum to 1; a row's largest is where it was before rounding.

    No percent is further than 1.5 from its weight.
    """
    known = np.clip(np.nan_to_num(weights.astype(np.float64)), 0, 1)
    rounded = np.rint(100 * known).astype(np.uint8)
    largest = known.argmax(axis=-1, keepdims=True)
    lost = rounded.argmax(axis=-1, keepdims=True) != largest
    np.put_along_axis(rounded, largest, np.take_along_axis(rounded, largest, axis=-1) + lost, axis=-1)
    return rounded


def _sample(runs: Sequence[Run]) -> Sample:
    """The runs that have alignments, and the sentences that they share; without those that lack one of them."""
    paths = [(run, run.scored_in / "alignments.npz") for run in runs]
    read = [(run, read_alignments(path)) for run, path in paths if path.exists()]
    # runs may have been cut into words differently, so that a row of the test set does not tell
    having = Counter(_pair(sentence) for _, about in read for sentence in about.sentences)
    shared = [pair for pair, count in having.items() if count == max(having.values())]
    sample: Sample = []
    for run, about in read:
        of = {_pair(sentence): sentence for sentence in about.sentences}
        if having and all(pair in of for pair in shared):
            sample.append((run, about, [of[pair] for pair in shared]))
    return sample


def _pair(sentence: AlignedSentence) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    return sentence.id, sentence.source, sentence.target


def _fitting(sample: Sample, buckets: Sequence[Sequence[int]], budget: int) -> tuple[int, list[int]]:
    """How many moments of training, and which sentences, fit into the budget."""
    tried = sample[:: -(-len(sample) // _TRIED)]
    for moments, rows in _choices(sample, buckets):
        few = [_system(about, [of[row] for row in rows], moments) for _, about, of in tried]
        if len(packed(few)) * len(sample) / len(tried) > budget:
            continue
        systems = [_system(about, [of[row] for row in rows], moments) for _, about, of in sample]
        words = [(sentence.source, sentence.target) for sentence in (sample[0][2][row] for row in rows)]
        if len(packed([systems, words])) <= budget:
            break
    return moments, rows


def _choices(sample: Sample, buckets: Sequence[Sequence[int]]) -> Iterator[tuple[int, list[int]]]:
    """Numbers of moments and rows of sentences to keep, from all to one of each."""
    every, most = max(len(about.epochs) for _, about, _ in sample), max(map(len, buckets))
    for each in range(most, 0, -1):
        rows = [row for bucket in buckets for row in bucket[:each]]
        # few moments are worse than few sentences, as long as each bucket has one
        for moments in dict.fromkeys((every, 12, 8) if each > 1 else (every, 12, 8, 6, 4)):
            if moments <= every:
                yield moments, rows
    while len(rows) > 1:  # sentences are very long: the longest go
        rows = rows[:-1]
        yield min(every, 4), rows
    yield 1, rows


def _system(about: Alignments, sentences: Sequence[AlignedSentence], moments: int) -> dict[str, Any]:
    last = len(about.epochs) - 1
    kept = np.unique(np.linspace(last, 0, moments).round().astype(np.int64)).tolist()
    updates = about.updates or [None] * len(about.epochs)
    return {
        "moments": [[about.epochs[moment], updates[moment]] for moment in kept],
        "weights": [_text(percents(sentence.weights[kept])) for sentence in sentences],
    }


def _looks(sample: Sample, buckets: Sequence[Sequence[int]], chosen: Sequence[int]) -> list[dict[str, Any]]:
    """Of each run what `systems` has of its layers and heads: nothing where one alone looks, or no sentence fits.

        looks         names, aer: of each; mean_aer: of their mean (None where there is no gold); weights: a text a
                      sentence of `chosen`, or None where it is left out, those of a cell side by side. They are of the
                      last moment.

    Sentences are left out evenly over the buckets, as far as `LOOKS_BUDGET` asks for it, then the longest.
    """
    having = [(about, of) for _, about, of in sample if about.looks]
    few = [[row for row in bucket if row in set(chosen)] for bucket in buckets]
    kept = [[row for rows in few for row in rows[:each]] for each in range(max(map(len, few)), 0, -1)]
    kept += [kept[-1][:most] for most in range(len(kept[-1]) - 1, 0, -1)]
    rows: list[int] = []
    for rows in kept if having else []:
        if len(packed([[_look_text(of[row]) for row in rows] for _, of in having])) <= LOOKS_BUDGET:
            break
    else:
        rows = []
    return [
        {"looks": _of_looks(run, about, [_look_text(of[row]) if row in rows else None for row in chosen])}
        if about.looks and rows
        else {}
        for run, about, of in sample
    ]


def _of_looks(run: Run, about: Alignments, weights: Sequence[str | None]) -> dict[str, Any]:
    """The record of a run's layers and heads, with their alignment error rates on the whole test set."""
    results: Mapping[str, Any] = run.results or {}
    aer_of = {look["look"]: look["shift_0"] for look in results.get("aer_by_look") or []}
    mean = results.get("aer")
    return {
        "names": about.looks,
        "aer": [aer_of.get(name) for name in about.looks],
        "mean_aer": mean["shift_0"]["aer"] if mean else None,
        "weights": weights,
    }


def _look_text(sentence: AlignedSentence) -> str:
    assert sentence.looks is not None
    return _text(percents(sentence.looks))


def _text(percent: NDArray[np.uint8]) -> str:
    """A character a number: those of a cell side by side, since gzip finds more that repeats in them."""
    cells = np.moveaxis(percent, 0, -1).ravel()
    return (cells + np.uint8(ZERO)).tobytes().decode("latin-1")
