"""Draws the splits of a corpus: how many sentences of which length, and none twice."""

from collections.abc import Mapping
from random import Random

from lookback.common.errors import InputError
from lookback.data.grammar.derive import AgreeingPair, Deriver, Pair

_ATTEMPTS = 1000  # draws for one new sentence before its length is taken to be used up


class Drawing:
    """The splits of one corpus, drawn one after the other: no source of one is in another.

    Args:
        pairs: how many each split has.
        min_length: words of the shortest source; every length up to the split's longest is equally frequent.
        deriver: what writes a sentence.
        seed: of every draw.
    """

    def __init__(self, pairs: Mapping[str, int], min_length: int, deriver: Deriver, seed: int) -> None:
        self.pairs = pairs
        self.min_length = min_length
        self.deriver = deriver
        self.seed = seed
        self._taken: set[str] = set()  # the sources of validation and test so far

    def split(self, split: str, longest: int) -> list[Pair | AgreeingPair]:
        """The pairs of a split, their lengths shuffled."""
        random = Random(f"{self.seed} {split}")  # Python seeds from a string by SHA-512: alike on every platform
        lengths = [self.min_length + i % (longest - self.min_length + 1) for i in range(self.pairs[split])]
        random.shuffle(lengths)
        return [self._new(split, length, random) for length in lengths]

    def _new(self, split: str, length: int, random: Random) -> Pair | AgreeingPair:
        for _ in range(_ATTEMPTS):
            pair = self.deriver.derive(length, random)
            if pair.source not in self._taken:
                if split != "train":
                    self._taken.add(pair.source)
                return pair
        raise InputError(
            f"{split}_pairs={self.pairs[split]}: no new sentence of {length} words after {_ATTEMPTS} draws; "
            "expected fewer pairs, a larger min_length or a larger lexicon"
        )
