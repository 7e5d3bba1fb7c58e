"""What every `data=…` is: parallel text in three splits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from datasets import Dataset

SPLITS = ("train", "validation", "test")


@runtime_checkable
class Corpus(Protocol):
    """Parallel text. A *word* is what `str.split()` gives on the raw text; lengths are counted in words of the source.

    Attributes:
        train_max_length: the longest source of a training pair, in words; None means no limit. `TranslationData`
            drops longer training pairs, reports draw the limit on the length axis.
        max_length_ratio: training pairs whose longer side has more than this many times the words of the shorter are
            dropped too; None means no limit.
        bleu_tokenize: the sacreBLEU tokenizer that this text is scored with: "none" where the text is tokenised
            already, "13a" where it is not.
    """

    train_max_length: int | None
    max_length_ratio: float | None
    bleu_tokenize: str

    def load(self, split: str) -> Dataset:
        """The split "train", "validation" or "test", with the string features `source` and `target`; no other is read.

        A corpus with gold word alignments adds `alignment`: a list of [source word, target word] pairs, both 0-based.
        Row i of a split is sentence i everywhere else, so a corpus leaves no line of a test set out.

        Errors: `InputError` where the text cannot be read as it was promised.
        """
        ...
