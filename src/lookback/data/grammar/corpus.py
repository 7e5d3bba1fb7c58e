"""The built-in corpus as data: splits, their sizes and lengths, and the cache."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from lookback.data.grammar.derive import Deriver, Pair
from lookback.data.grammar.lexicon import SIZES

if TYPE_CHECKING:
    from datasets import DatasetDict

SHORTEST, LONGEST = 3, 200  # words of the shortest sentence; the longest that anyone should be asked to read
_ATTEMPTS = 1000  # draws for one new sentence before its length is taken to be used up


class GrammarCorpus:
    """English and French sentences of a grammar written for this project, with their gold word alignment.

    Source length (words, the end mark included) is spread evenly from `min_length` to the longest of the split. No source of one
    split occurs in another; within validation and test none occurs twice. The test split does not depend on the other two nor on
    `train_max_length`, so runs that differ there are scored on the same sentences.

    Args:
        train_pairs: number of training pairs. Very short sentences may repeat there: there are not enough of them.
        validation_pairs: number of validation pairs.
        test_pairs: number of test pairs.
        min_length: words of the shortest source, 3 or more.
        max_length: words of the longest source, at most 200.
        train_max_length: words of the longest training and validation source (a model is chosen on what it is trained for);
            None means `max_length`.
        lexicon: how many words there are: `small`, `medium` or `full`.
        seed: every draw comes from it; the same on every platform.
        cache: folder that keeps generated corpora; None means the folder that `datasets` keeps its own in.

    Raises:
        ValueError: for a value out of its range; the message names argument, value and range.
    """

    bleu_tokenize = "none"  # the text is tokenised already

    def __init__(
        self,
        train_pairs: int = 40_000,
        validation_pairs: int = 1_000,
        test_pairs: int = 3_000,
        min_length: int = 4,
        max_length: int = 60,
        train_max_length: int | None = None,
        lexicon: str = "medium",
        seed: int = 1,
        cache: str | None = None,
    ) -> None:
        for name, pairs in (("train_pairs", train_pairs), ("validation_pairs", validation_pairs), ("test_pairs", test_pairs)):
            if pairs < 1:
                raise ValueError(f"{name}={pairs}: expected at least 1")
        if not SHORTEST <= min_length <= LONGEST:
            raise ValueError(f"min_length={min_length}: expected {SHORTEST} to {LONGEST} words")
        if not min_length <= max_length <= LONGEST:
            raise ValueError(f"max_length={max_length}: expected min_length={min_length} to {LONGEST} words")
        if train_max_length is not None and not min_length <= train_max_length <= max_length:
            raise ValueError(
                f"train_max_length={train_max_length}: expected None or min_length={min_length} to max_length={max_length} words")
        if lexicon not in SIZES:
            raise ValueError(f"lexicon={lexicon!r}: expected one of {', '.join(SIZES)}")
        self.pairs = {"train": train_pairs, "validation": validation_pairs, "test": test_pairs}
        self.min_length = min_length
        self.max_length = max_length
        self.train_max_length: int | None = train_max_length or max_length
        self.lexicon = lexicon
        self.seed = seed
        self.cache = cache

    def load(self) -> "DatasetDict":
        """The splits `train`, `validation`, `test`, memory-mapped from the cache; generated first if they are not there yet.

        Features: `source` and `target` (words joined by one space), `alignment` (sorted pairs of 0-based source and target words).
        """
        from datasets import DatasetDict, config

        root = Path(self.cache) if self.cache is not None else Path(config.HF_DATASETS_CACHE) / "lookback_grammar"
        folder = root / self._key()
        if not folder.is_dir():
            root.mkdir(parents=True, exist_ok=True)
            self._write(root, folder)
        return DatasetDict.load_from_disk(str(folder))

    def generate(self) -> dict[str, list[Pair]]:
        """Derive all pairs anew."""
        deriver = Deriver(self.lexicon)
        taken: set[str] = set()
        found = {}
        for split in ("test", "validation", "train"):  # the test split first: what it holds must not depend on the others
            longest = self.max_length if split == "test" else self.train_max_length
            found[split] = list(self._split(split, longest, deriver, taken))
        return found

    def _split(self, split: str, longest: int, deriver: Deriver, taken: set[str]) -> Iterator[Pair]:
        random = Random(f"{self.seed} {split}")  # a string seed is hashed by SHA-512: alike on every platform
        lengths = [self.min_length + i % (longest - self.min_length + 1) for i in range(self.pairs[split])]
        random.shuffle(lengths)
        for length in lengths:
            for _ in range(_ATTEMPTS):
                pair = deriver.derive(length, random)
                if pair.source not in taken:
                    break
            else:
                raise ValueError(f"{split}_pairs={self.pairs[split]}: no new sentence of {length} words left after {_ATTEMPTS} draws; "
                                 "ask for fewer pairs, a larger min_length or a larger lexicon")
            if split != "train":
                taken.add(pair.source)
            yield pair

    def _key(self) -> str:
        """A name for what `load` returns: all arguments and the grammar's own source decide it, nothing else."""
        arguments = [self.pairs, self.min_length, self.max_length, self.train_max_length, self.lexicon, self.seed]
        digest = hashlib.sha256(json.dumps(arguments, sort_keys=True).encode())
        for module in sorted(Path(__file__).parent.glob("*.py")):
            digest.update(module.read_text(encoding="utf-8").encode())
        return digest.hexdigest()[:24]

    def _write(self, root: Path, folder: Path) -> None:
        """Generate into a folder of its own, then give it its name in one step: nobody ever sees half a corpus."""
        from datasets import Dataset, DatasetDict, Features, List, Value

        features = Features({"source": Value("string"), "target": Value("string"), "alignment": List(List(Value("int32")))})
        pairs = self.generate()
        partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=root))
        try:
            DatasetDict({
                split: Dataset.from_dict({field: [getattr(pair, field) for pair in pairs[split]] for field in Pair._fields}, features)
                for split in self.pairs
            }).save_to_disk(str(partial))
            try:
                os.replace(partial, folder)
            except OSError:  # another process was faster: its corpus is the same
                if not folder.is_dir():
                    raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
