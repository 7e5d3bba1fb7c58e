"""Gold word alignments of a test set, in Pharaoh format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lookback.common.errors import InputError
from lookback.common.words import Link
from lookback.data.corpora.lines import check_file, read_lines

if TYPE_CHECKING:
    from datasets import Dataset

BASES = (0, 1)
_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")


class _WrittenLink(NamedTuple):
    """One link as it is written in the file, where words are counted from 0 or from 1."""

    source: int
    target: int
    is_sure: bool

    def fits(self, lengths: tuple[int, int], base: int) -> bool:
        return all(
            base <= word < base + length for word, length in zip((self.source, self.target), lengths, strict=True)
        )


class Gold(NamedTuple):
    """The gold links of a pair, in order; ``possible`` are those that are not sure."""

    sure: list[Link]
    possible: list[Link]


def read_gold(path: str | Path, texts: Iterable[tuple[str, str]], base: int) -> list[Gold]:
    """Read the gold links of sentence pairs from a file.

    Line N of the file holds the links of pair N, none if it is blank: ``i-j`` (sure) and ``ipj`` (possible) between
    word i of the source and word j of the target, counted from ``base``. Words are those of ``str.split()``. A file of
    the other direction is not reversed. A link to a word that does not exist is refused.

    Args:
        path: the file, plain or .gz.
        texts: the source and the target of each pair.
        base: 0 or 1, the number of the first word.

    Returns:
        The links of each pair.

    Raises:
        ValueError: for another base.
        InputError: in one line with file and line number: for text that is no link, for a word that the sentence does
            not have (with the base or the direction that would fit), and if the file does not have a line for each
            pair.
    """
    if base not in BASES:
        raise ValueError(f"alignment_base={base!r}: expected 0 or 1, the number of a sentence's first word")
    path = Path(path).expanduser()
    check_file(path)
    lines = [_parsed_links(line, path, number) for number, line in enumerate(read_lines(path), start=1)]
    lengths = [(len(source.split()), len(target.split())) for source, target in texts]
    if len(lines) != len(lengths):
        raise InputError(f"{path}: has {len(lines):,} lines for {len(lengths):,} pairs, expected a line a pair")
    _check_links(lines, lengths, path, base)
    found = []
    for links in lines:
        every = {(link.source - base, link.target - base) for link in links}
        sure = {(link.source - base, link.target - base) for link in links if link.is_sure}
        found.append(Gold(sorted(sure), sorted(every - sure)))
    return found


def with_alignment(pairs: Dataset, path: str | Path, base: int) -> Dataset:
    """The pairs with the gold links of a file as two more features, ``alignment`` (sure) and ``possible``.

    Both are lists of [source word, target word], counted from 0.

    Raises:
        ValueError: as ``read_gold``.
        InputError: as ``read_gold``.
    """
    from datasets import List, Value

    found = read_gold(path, ((row["source"], row["target"]) for row in pairs), base)
    kind = List(List(Value("int32")))
    for name, links in (("alignment", [gold.sure for gold in found]), ("possible", [gold.possible for gold in found])):
        pairs = pairs.add_column(name, [list(map(list, each)) for each in links], feature=kind)
    return pairs


def _parsed_links(line: str, path: Path, number: int) -> list[_WrittenLink]:
    links = []
    for text in line.split():
        match = _LINK.fullmatch(text)
        if match is None:
            raise InputError(
                f"{path}:{number}: {text!r} is no link, expected i-j (sure) or ipj (possible), words by their number"
            )
        links.append(_WrittenLink(int(match[1]), int(match[3]), match[2] == "-"))
    return links


def _check_links(
    lines: Sequence[list[_WrittenLink]], lengths: Sequence[tuple[int, int]], path: Path, base: int
) -> None:
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
                f"of {length}, {room}; {_likely_mistake(lines, lengths, base)}"
            )


def _likely_mistake(lines: Sequence[list[_WrittenLink]], lengths: Sequence[tuple[int, int]], base: int) -> str:
    """The probable mistake: words are counted from the other number, or the file has the other direction."""

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
