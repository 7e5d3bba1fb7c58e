"""The interface of every ``data=…``: parallel text in three splits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lookback.common.checks import check_switches

if TYPE_CHECKING:
    from datasets import Dataset, IterableDataset

SPLITS = ("train", "validation", "test")
SIDES = ("source", "target")


@runtime_checkable
class Corpus(Protocol):
    """Parallel text. Lengths are counted in words of the raw source, as ``lookback.common.words.words`` gives them.

    Attributes:
        train_max_length: the longest source of a training pair, in words; None means no limit. ``TranslationData``
            drops longer training pairs, and reports draw the limit on the length axis.
        max_length_ratio: training pairs whose longer side has more than this many times the words of the shorter are
            dropped too; None means no limit.
        bleu_tokenize: the sacreBLEU tokenizer that this text is scored with: "13a" for raw text, "none" for text that
            is tokenised already.
        streaming: whether the training split is a stream, an IterableDataset.
    """

    train_max_length: int | None
    max_length_ratio: float | None
    bleu_tokenize: str
    streaming: bool

    def load(self, split: str) -> Dataset | IterableDataset:
        """The split "train", "validation" or "test", with the string features ``source`` and ``target``.

        Other splits are not read. No text is None. With ``streaming``, the training split is an IterableDataset; the
        other splits are always Datasets.

        A corpus with gold word alignments adds ``alignment``, the sure links: a list of [source word, target word]
        pairs, both counted from 0. It may add ``possible``, the links that are possible but not sure. Row i of a split
        is sentence i everywhere else, so a corpus leaves out no line of a test set.

        Raises:
            InputError: if the text cannot be read.
        """
        ...


def check_settings(
    train_max_length: int | None,
    max_length_ratio: float | None,
    bleu_tokenize: str,
    limit: int | None,
    subset_seed: int | None,
    streaming: bool,
    alignment_base: int,
) -> None:
    """Check the settings that corpora share.

    Raises:
        ValueError: in one line that names the setting that is out of range.
    """
    from sacrebleu.metrics.bleu import BLEU

    for name, count, none in (("train_max_length", train_max_length, "no limit"), ("limit", limit, "all pairs")):
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise ValueError(f"{name}={count!r}: expected a whole number, 1 or more, or null for {none}")
    if max_length_ratio is not None and not (isinstance(max_length_ratio, int | float) and max_length_ratio >= 1):
        raise ValueError(f"max_length_ratio={max_length_ratio!r}: expected 1 or more, or null for no limit")
    if bleu_tokenize not in BLEU.TOKENIZERS:
        raise ValueError(f"bleu_tokenize={bleu_tokenize!r}: expected one of {', '.join(BLEU.TOKENIZERS)}")
    if subset_seed is not None and not (isinstance(subset_seed, int) and subset_seed >= 0):
        raise ValueError(f"subset_seed={subset_seed!r}: expected a whole number, 0 or more, or null")
    if subset_seed is not None and limit is None:
        raise ValueError(f"subset_seed={subset_seed}: expected limit beside it, the number of pairs to draw")
    if subset_seed is not None and streaming:
        raise ValueError(
            f"subset_seed={subset_seed}: expected null with streaming: the length of a stream is not known, "
            "limit takes its first pairs"
        )
    check_switches({"streaming": streaming})
    if alignment_base not in (0, 1):
        raise ValueError(f"alignment_base={alignment_base!r}: expected 0 or 1, the number of a sentence's first word")
