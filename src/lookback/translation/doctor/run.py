"""All checks of one run, on its own test set or on other text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from lookback.common.checks import FilePath, Size, checked
from lookback.common.configs import build
from lookback.common.errors import InputError
from lookback.common.special_tokens import PAD
from lookback.data.corpora.text import read_pairs
from lookback.nn import Seq2Seq
from lookback.runs import Prediction, read_predictions
from lookback.runs.directory import RunDirectory
from lookback.search import Search
from lookback.translation.doctor.attention_health import NAMES, attention_health
from lookback.translation.doctor.computation import Case, answers_differ, examine
from lookback.translation.doctor.finding import Finding, guarded, judged, skipped
from lookback.translation.doctor.text import Pair, decoding, overlap, writes_again
from lookback.translation.doctor.text import unknown_words as unknown_words_of
from lookback.translation.translator import Translator

_COMPARED = 12
"""Sentences that are computed in several ways, each also alone."""
_BATCH = 64

_Item = TypeVar("_Item")


@checked
def doctor(
    run: Path | str,
    source: Path | str | None = None,
    target: Path | str | None = None,
    sentences: Size = 200,
    trust: str | Sequence[str] = (),
    unknown_words: FilePath | None = None,
) -> list[Finding]:
    """Examines a trained run, on the CPU.

    Args:
        run: the run directory.
        source: a text file, one sentence a line. None: the test set of the run.
        target: its translation. None: that of the run's test set.
        sentences: how many sentences are looked at, from all parts of the text.
        trust: names that the run's config may use beside lookback's own, see ``Translator.load``.
        unknown_words: what the run's test wrote for unknown words, see ``Translator.load``.

    Returns:
        A finding for each check.

    Raises:
        InputError: if there is no trained run that can be loaded, or no text.
        ValueError: if an argument has a value that is not allowed.
    """
    directory = RunDirectory.existing(run)
    predictions = _predictions(directory)
    every = _pairs(directory, predictions, source, target)
    pairs = _some([pair for pair in every if pair.source.split() and pair.target.split()], sentences)
    if not pairs:
        raise InputError(f"{source or directory.test}: no pair of it has words on both sides; expected some text")
    words = None if unknown_words is None else str(unknown_words)
    translator, again = (Translator.load(run, "cpu", words, trust) for _ in range(2))
    search = build(translator.config.search, Search)
    compared = _some(sorted(pairs, key=lambda pair: len(pair.source)), _COMPARED)
    tests = _some([prediction for prediction in predictions if prediction.source.split()], sentences)
    findings = examine(_precise(_case(again, compared)))
    again.model.float()
    findings += guarded("loading", lambda: [_loading(_case(translator, compared), _case(again, compared))])
    if tests:
        findings += guarded("same as in its test", lambda: [writes_again(translator, search, tests)])
    else:
        findings.append(skipped("same as in its test", "the run has no test/predictions.jsonl"))
    if translator.looks_back:
        findings += guarded("attention", lambda: attention_health(_weights(translator, pairs)))
    else:
        findings += [skipped(name, translator.why_no_alignment) for name in NAMES]
    findings += guarded("translations", lambda: decoding(translator, search, pairs))
    findings.append(unknown_words_of("source", translator.source_tokenizer, [pair.source for pair in pairs]))
    findings.append(unknown_words_of("target", translator.target_tokenizer, [pair.target for pair in pairs]))
    return findings + overlap(translator, every)


def _predictions(directory: RunDirectory) -> list[Prediction]:
    path = directory.test / "predictions.jsonl"
    return read_predictions(path) if path.exists() else []


def _pairs(
    directory: RunDirectory, predictions: Sequence[Prediction], source: Path | str | None, target: Path | str | None
) -> list[Pair]:
    """The text: of the two files, or of the run's own test set.

    Raises:
        InputError: if there is none, or if one file is given without the other.
    """
    if (source is None) != (target is None):
        raise InputError(
            f"{'source' if source is None else 'target'}=null: expected both source and target, or neither"
        )
    if source is not None and target is not None:
        blocks = read_pairs(source, target)
        return [Pair(*texts) for block in blocks for texts in zip(*(side.to_pylist() for side in block), strict=True)]
    if not predictions:
        raise InputError(
            f"source=null: expected source and target, because {directory.path} has no test/predictions.jsonl"
        )
    return [Pair(prediction.source, prediction.reference) for prediction in predictions]


def _some(items: Sequence[_Item], count: int) -> list[_Item]:
    """At most ``count`` items, at regular distances."""
    return [items[i] for i in np.unique(np.linspace(0, len(items) - 1, min(count, len(items))).astype(np.int64))]


def _case(translator: Translator, pairs: Sequence[Pair]) -> Case:
    return Case.of(
        translator.model,
        translator.source_tokenizer.encode([pair.source for pair in pairs]),
        translator.target_tokenizer.encode([pair.target for pair in pairs]),
    )


def _precise(case: Case) -> Case:
    """The case in float64, or in float32 if the network has parts that do not follow it into float64."""
    network = case.network
    assert isinstance(network, Seq2Seq)
    network.double()
    try:
        with torch.inference_mode():
            case.answers()
            case.answers_by_steps()
    except Exception:  # whatever a user's own class raises; if it does so in float32 too, the checks say it
        network.float()
        return case.in_float32()
    return case


@torch.inference_mode()
def _loading(one: Case, other: Case) -> Finding:
    """Two models that are loaded from one checkpoint say the same."""
    return judged(
        "loading",
        answers_differ(one, other),
        1e-5,
        ok="the weights are finite, fit the config, and give the same numbers whenever they are loaded",
        otherwise="loaded twice, the checkpoint gives two models: a part of the network is not in its state_dict; "
        "make it a parameter or a buffer",
    )


@torch.inference_mode()
def _weights(translator: Translator, pairs: Sequence[Pair]) -> list[NDArray[np.float64]]:
    """The attention weights of each pair, tokens by tokens, end marks last."""
    found = []
    ordered = sorted(pairs, key=lambda pair: len(pair.source))
    for start in range(0, len(ordered), _BATCH):
        case = _case(translator, ordered[start : start + _BATCH])
        _, weights = case.answers()
        sizes = zip((case.target != PAD).sum(1).tolist(), case.lengths.tolist(), strict=True)
        found += [
            table[: rows - 1, :columns].double().numpy() for table, (rows, columns) in zip(weights, sizes, strict=True)
        ]
    return found
