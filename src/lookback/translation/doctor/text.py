"""Checks of a run's text: what it writes, what it knows, and what it was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lookback.common.configs import build, explain
from lookback.common.suggestions import listed
from lookback.data import Corpus, Tokenizer
from lookback.runs import Prediction
from lookback.search import Search
from lookback.translation.doctor.finding import Finding, judged, skipped
from lookback.translation.translator import Translator

OTHERS = 0.1
TRUNCATED = 0.05
EMPTY = 0.01
UNKNOWN = 0.1
TEST_PAIRS = 0.01
TEST_SOURCES = 0.1


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


def writes_again(translator: Translator, search: Search, predictions: Sequence[Prediction]) -> Finding:
    """The loaded model writes what the model of the training wrote in its test.

    Another processor, or a test in another precision, may choose otherwise between two words that are equally likely.

    Args:
        translator: the loaded model.
        search: the one of its test.
        predictions: some of its test.
    """
    lines = [prediction.source for prediction in predictions]
    found = translator.search(lines, search)
    texts = [translator.writer.text(line, best) for line, (best, *_) in zip(lines, found, strict=True)]
    others = sum(text != prediction.hypothesis for text, prediction in zip(texts, predictions, strict=True))
    return judged(
        "same as in its test",
        others / len(predictions),
        OTHERS,
        ok=f"the loaded model writes {len(texts) - others} of {len(texts)} translations as its test did",
        otherwise=f"the loaded model writes {others} of {len(texts)} translations otherwise than its test did: "
        "something that was trained is not in the checkpoint",
    )


def decoding(translator: Translator, search: Search, pairs: Sequence[Pair]) -> list[Finding]:
    """Whether translations end, and whether there are any."""
    hypotheses = [best for best, *_ in translator.search([pair.source for pair in pairs], search)]
    truncated = sum(hypothesis.truncated for hypothesis in hypotheses)
    empty = sum(not hypothesis.tokens for hypothesis in hypotheses)
    return [
        judged(
            "truncated translations",
            truncated / len(pairs),
            TRUNCATED,
            ok=f"{truncated} of {len(pairs)} translations met their length limit",
            otherwise=f"{truncated} of {len(pairs)} translations met their length limit: the model does not end them",
            verdict="warning",
        ),
        judged(
            "empty translations",
            empty / len(pairs),
            EMPTY,
            ok=f"{empty} of {len(pairs)} translations have no word",
            otherwise=f"{empty} of {len(pairs)} translations have no word, though their sources have some",
            verdict="warning",
        ),
    ]


def unknown_words(side: str, tokenizer: Tokenizer, texts: Sequence[str]) -> Finding:
    """How many words of a side the model does not know."""
    unknown = [word for text in texts for word in tokenizer.unknown_words(text)]
    words = sum(len(tokenizer.alignment_words(text)) for text in texts)
    examples = f" ({listed(list(dict.fromkeys(unknown)))})" if unknown else ""
    said = f"{len(unknown):,} of {words:,} {side} words are unknown to this model{examples}"
    return judged(
        f"unknown {side} words",
        len(unknown) / max(words, 1),
        UNKNOWN,
        ok=said,
        otherwise=f"{said}: is this the language, and the writing, that it was trained on?",
        verdict="warning",
    )


def overlap(translator: Translator, pairs: Sequence[Pair]) -> list[Finding]:
    """How much of a test set the model was trained on, if its corpus can be read again."""
    names = ("test pairs in training", "test sources in training")
    try:
        corpus = build(translator.config.data, Corpus)
        if corpus.streaming:
            return [skipped(name, "the training split is a stream, which is not read as a whole") for name in names]
        texts = corpus.load("train")
    except Exception as error:  # of an earlier version's corpus, too
        if (why := explain(error)) is None:
            raise
        return [skipped(name, f"the training split cannot be read again: {why[:200]}") for name in names]
    from datasets import Dataset

    from lookback.data.preparation.filtering import Limits, Selection

    test = Dataset.from_dict({side: [getattr(pair, side) for pair in pairs] for side in Pair._fields})
    shared = Selection.of(texts, Limits(corpus.train_max_length, corpus.max_length_ratio), test).overlap
    findings = []
    for name, what, limit in zip(names, ("pairs", "sources"), (TEST_PAIRS, TEST_SOURCES), strict=True):
        said = f"{shared[what]:,} of {len(pairs):,} test {what} are trained on"
        share = shared[what] / len(pairs)
        findings.append(
            judged(
                name,
                share,
                limit,
                ok=said,
                otherwise=f"{said}: scores on them say nothing about new text",
                # most of a test set that was trained on measures memory, whatever the rest of it measures
                verdict="fault" if share > 0.5 and what == "pairs" else "warning",
            )
        )
    return findings
