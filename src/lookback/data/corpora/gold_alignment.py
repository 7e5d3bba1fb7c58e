"""Gold word alignments of a test set, in Pharaoh format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lookback.common.errors import InputError
from lookback.data.corpora.lines import check_file, read_lines

if TYPE_CHECKING:
    from datasets import Dataset

BASES = (0, 1)
_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")


class Link(NamedTuple):
    """One link. Its words are counted as in the file, from 0 or from 1."""

    source: int
    target: int
    is_sure: bool

    def fits(self, lengths: tuple[int, int], base: int) -> bool:
        return all(
            base <= word < base + length for word, length in zip((self.source, self.target), lengths, strict=True)
        )


def with_alignment(pairs: Dataset, path: str | Path, base: int) -> Dataset:
    """The pairs with the gold links of a file as two more features, `alignment` and `possible`.

    Line N of the file holds the links of pair N, none if it is blank: `i-j` (sure) and `ipj` (possible) between word i
    of the source and word j of the target, counted from `base`. Words are what `str.split()` gives. Both features are
    sorted lists of [source word, target word], counted from 0; `possible` has those that are not sure. Source and
    target are those of the pairs: a file of the other direction is not reversed. It is refused if a link of it names a
    word that is not there.

    Args:
        pairs: features `source` and `target`, strings.
        path: the file, plain or .gz.
        base: 0 or 1, the number of the first word.

    Errors: ValueError for another base. InputError, one line with file and line number, for text that is no link, for a
    word that the sentence does not have (with the base or the direction that would fit), and if the file does not have
    a line for each pair.
    """
    from datasets import List, Value

    if base not in BASES:
        raise ValueError(f"alignment_base: {base}, expected 0 or 1, the number of a sentence's first word")
    path = Path(path).expanduser()
    check_file(path)
    lines = [_links(line, path, number) for number, line in enumerate(read_lines(path), start=1)]
    if len(lines) != len(pairs):
        raise InputError(f"{path}: has {len(lines):,} lines for {len(pairs):,} pairs; expected a line a pair")
    lengths = [(len(row["source"].split()), len(row["target"].split())) for row in pairs]
    _check(lines, lengths, path, base)
    kind = List(List(Value("int32")))
    sure = [{(link.source, link.target) for link in links if link.is_sure} for links in lines]
    every = [{(link.source, link.target) for link in links} for links in lines]
    possible = [links - sure_links for links, sure_links in zip(every, sure, strict=True)]
    for name, sentences in (("alignment", sure), ("possible", possible)):
        column = [[[i - base, j - base] for i, j in sorted(links)] for links in sentences]
        pairs = pairs.add_column(name, column, feature=kind)
    return pairs


def _links(line: str, path: Path, number: int) -> list[Link]:
    links = []
    for text in line.split():
        match = _LINK.fullmatch(text)
        if match is None:
            raise InputError(
                f"{path}:{number}: {text!r} is no link, expected i-j (sure) or ipj (possible), words by their number"
            )
        links.append(Link(int(match[1]), int(match[3]), match[2] == "-"))
    return links


def _check(lines: Sequence[list[Link]], lengths: Sequence[tuple[int, int]], path: Path, base: int) -> None:
    for number, (links, (source, target)) in enumerate(zip(lines, lengths, strict=True), start=1):
        for link in links:
            if link.fits((source, target), base):
                continue
            side, word, length = "source", link.source, source
            if base <= link.source < base + source:
                side, word, length = "target", link.target, target
            room = f"expected {base} to {base + length - 1}" if length else "expected no link there"
            raise InputError(
                f"{path}:{number}: {link.source}{'-' if link.is_sure else 'p'}{link.target} names {side} word {word} "
                f"of {length}, {room}; {_what_fits(lines, lengths, base)}"
            )


def _what_fits(lines: Sequence[list[Link]], lengths: Sequence[tuple[int, int]], base: int) -> str:
    """A guess at the mistake: the words are counted from another number, or the file is of the other direction."""

    def fits(other_base: int, reverse: bool) -> bool:
        pairs = [pair[::-1] if reverse else pair for pair in lengths]
        return all(link.fits(pair, other_base) for links, pair in zip(lines, pairs, strict=True) for link in links)

    if fits(1 - base, reverse=False):
        return f"alignment_base={1 - base} fits every line"
    for other_base in (base, 1 - base):
        if fits(other_base, reverse=True):
            also = "" if other_base == base else f", with alignment_base={other_base}"
            return f"i-j turned round to j-i fits every line{also}: is it of the other direction?"
    return f"counting from {1 - base} does not fit either"
