"""The interface of every ``data=…``: parallel text in three splits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, Protocol, TypedDict, runtime_checkable

from annotated_types import Interval, doc

from lookback.common.checks import MOST, FilePath, Text

if TYPE_CHECKING:
    from datasets import Dataset, IterableDataset

SPLITS = ("train", "validation", "test")
SIDES = ("source", "target")

BleuTokenizer = Literal[
    "13a", "none", "intl", "char", "zh", "ja-mecab", "ko-mecab", "spm", "flores101", "flores200", "spBLEU-1K"
]
"""sacreBLEU's tokenizers."""
LengthRatio = Annotated[float, Interval(ge=1, le=MOST)]
AlignmentBase = Annotated[int, Interval(ge=0, le=1), doc("0 or 1")]
"""The number of a sentence's first word."""


class Files(TypedDict):
    """The two files of a split; null: not given."""

    source: FilePath | None
    target: FilePath | None


class TestFiles(Files):
    """Those of the test set, and its gold word alignment."""

    alignment: NotRequired[FilePath | None]


class SplitFiles(TypedDict):
    """The files of all splits, each a file or a pattern; null: not given."""

    train: NotRequired[FilePath | None]
    validation: NotRequired[FilePath | None]
    test: NotRequired[FilePath | None]


class SplitName(TypedDict):
    """A split or a slice of one, as ``datasets`` knows them."""

    split: Text


class TestSplitName(SplitName):
    """That of the test set, and the file of its gold word alignment."""

    alignment: NotRequired[FilePath | None]


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


def check_subset(subset_seed: int | None, limit: int | None, streaming: bool) -> None:
    """Check that a draw from the training pairs has a number of pairs, and all pairs to draw from.

    Raises:
        ValueError: in one line, if it has not.
    """
    if subset_seed is not None and limit is None:
        raise ValueError(f"subset_seed={subset_seed}: expected limit beside it, the number of pairs to draw")
    if subset_seed is not None and streaming:
        raise ValueError(
            f"subset_seed={subset_seed}: expected null with streaming: the length of a stream is not known, "
            "limit takes its first pairs"
        )
