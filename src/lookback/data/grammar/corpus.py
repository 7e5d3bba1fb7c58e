"""The built-in corpus as data: splits, their sizes and lengths, and the cache."""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import pyarrow.parquet as pq
from annotated_types import Interval

from lookback.common.checks import FilePath, Seed, checked
from lookback.data.grammar.derive import AgreeingPair, Deriver, Pair
from lookback.data.grammar.drawing import Drawing
from lookback.data.preparation.cache import cached_folder

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

SHORTEST, LONGEST = 3, 200  # words of the shortest sentence of the grammar, and of the longest that is allowed
Length = Annotated[int, Interval(ge=SHORTEST, le=LONGEST)]
Pairs = Annotated[int, Interval(ge=1, le=10_000_000)]  # ten million take hours to generate
READY = Path(__file__).parent / "ready"  # the corpus of the default arguments: a first training need not generate it


@checked
class GrammarCorpus:
    """English and French sentences of a grammar written for this project, with their gold word alignment.

    Source length (words, the end mark included) is spread evenly from ``min_length`` to the longest of the split. No
    source of one split occurs in another; within validation and test none occurs twice. The test split depends on
    neither the other two nor ``train_max_length``: runs that differ there are scored on the same sentences. The corpus
    of the default arguments comes with the package; any other is generated, about a millisecond a pair.

    Args:
        train_pairs: number of training pairs. The shortest sentences repeat there, because there are not enough of
            them.
        validation_pairs: number of validation pairs.
        test_pairs: number of test pairs.
        min_length: words of the shortest source, 3 or more.
        max_length: words of the longest source, at most 200.
        train_max_length: words of the longest training and validation source (a model is chosen on what it is trained
            for); None means ``max_length``. The attribute of this name always holds the number.
        lexicon: the size of the lexicon: ``small``, ``medium`` or ``full``.
        dependencies: the distance between words that belong together. ``local``: close together, and nearly in the same
            order in both languages. ``long``: relative clauses between a subject and the words that agree with it,
            objects and reasons at the start, adverbs moved over their clause. The rows of ``long`` also have the
            feature ``agreement``.
        seed: every draw comes from it, the same on every platform.
        cache: folder that holds corpora; None means a folder in the cache of ``datasets``.

    Raises:
        ValueError: if a value is out of its range; the message names argument, value and range.
    """

    bleu_tokenize = "none"  # the text is tokenised already
    max_length_ratio: float | None = None  # every pair of the grammar is a translation
    streaming = False

    def __init__(
        self,
        train_pairs: Pairs = 40_000,
        validation_pairs: Pairs = 1_000,
        test_pairs: Pairs = 3_000,
        min_length: Length = 4,
        max_length: Length = 60,
        train_max_length: Length | None = None,
        lexicon: Literal["small", "medium", "full"] = "medium",
        dependencies: Literal["local", "long"] = "local",
        seed: Seed = 1,
        cache: FilePath | None = None,
    ) -> None:
        self.pairs = {"train": train_pairs, "validation": validation_pairs, "test": test_pairs}
        if not min_length <= max_length:
            raise ValueError(f"max_length={max_length}: expected {min_length} (min_length) to {LONGEST} words")
        if train_max_length is not None and not min_length <= train_max_length <= max_length:
            raise ValueError(
                f"train_max_length={train_max_length}: expected null, or {min_length} (min_length) to {max_length} "
                "(max_length) words"
            )
        self.min_length = min_length
        self.max_length = max_length
        self.train_max_length = train_max_length or max_length
        self.lexicon = lexicon
        self.dependencies = dependencies
        self.seed = seed
        self.cache = cache

    def load(self, split: str) -> "Dataset":
        """The split "train", "validation" or "test", memory-mapped from the cache, which is filled first if need be.

        Features: ``source`` and ``target`` (words joined by one space), ``alignment`` (sorted pairs of 0-based
        positions, source word and target word). With ``dependencies=long`` also ``agreement``: the target words whose
        form a noun or pronoun elsewhere decides, each with its position (``target``), the source words in between
        (``distance``) and the other forms of the word (``others``).

        Raises:
            InputError: if the splits ask for more different sentences of some length than there are.
        """
        from datasets import Dataset

        doing = "Unpacking" if self.ready.is_dir() else "Generating"
        title = f"{doing} the built-in corpus, once: {sum(self.pairs.values()):,} pairs"
        folder = cached_folder("grammar", self._key(), title, self._write, self.cache)
        return Dataset.load_from_disk(str(folder / split))

    def generate(self) -> dict[str, list[Pair | AgreeingPair]]:
        """Derive the pairs of every split, without using the cache."""
        drawing = Drawing(self.pairs, self.min_length, Deriver(self.lexicon, self.dependencies), self.seed)
        # The test split comes first, because it must not depend on the others.
        test = drawing.split("test", self.max_length)
        validation = drawing.split("validation", self.train_max_length)
        train = drawing.split("train", self.train_max_length)
        return {"train": train, "validation": validation, "test": test}

    def generated(self) -> "DatasetDict":
        """The pairs of ``generate`` with the features that ``load`` has."""
        from datasets import Dataset, DatasetDict, Features, List, Value

        features = Features(
            {"source": Value("string"), "target": Value("string"), "alignment": List(List(Value("int32")))}
        )
        if self.dependencies == "long":
            dependent = {"target": Value("int32"), "distance": Value("int32"), "others": List(Value("string"))}
            features["agreement"] = List(dependent)
        splits = DatasetDict()
        for split, pairs in self.generate().items():
            columns: dict[str, list] = {field: [getattr(pair, field) for pair in pairs] for field in features}
            if self.dependencies == "long":
                columns["agreement"] = [[word._asdict() for word in words] for words in columns["agreement"]]
            splits[split] = Dataset.from_dict(columns, features)
        return splits

    @property
    def ready(self) -> Path:
        """The folder of this corpus in the package. It exists only for the corpus of the default arguments."""
        return READY / self._key()

    def _key(self) -> str:
        """The key of the corpus in the cache: a hash of its arguments and of the modules that write its sentences."""
        lengths = [self.min_length, self.max_length, self.train_max_length]
        arguments = [self.pairs, *lengths, self.lexicon, self.dependencies, self.seed]
        digest = hashlib.sha256(json.dumps(arguments).encode())
        for module in sorted(set(Path(__file__).parent.glob("[!_]*.py")) - {Path(__file__)}):
            digest.update(module.read_text(encoding="utf-8").encode())
        return digest.hexdigest()[:24]

    def _write(self, folder: Path) -> None:
        from datasets import Dataset, DatasetDict

        if self.ready.is_dir():
            tables = {split: pq.read_table(self.ready / f"{split}.parquet") for split in self.pairs}
            splits = DatasetDict({split: Dataset(table) for split, table in tables.items()})
        else:
            splits = self.generated()
        splits.save_to_disk(folder)
