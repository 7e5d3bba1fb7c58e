"""Aligns the words of a text and its translation, and writes a line of links for each pair of lines."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict

import numpy as np
import pyarrow as pa
from annotated_types import Interval, doc
from numpy.typing import NDArray
from omegaconf import DictConfig

from lookback.commands.streams import check_open
from lookback.common.checks import FilePath, Size, Trust
from lookback.common.errors import InputError
from lookback.common.files import atomic_write
from lookback.common.schema import check_config
from lookback.common.words import Link
from lookback.data.corpora.corpus import AlignmentBase
from lookback.data.corpora.gold_alignment import with_alignment
from lookback.data.corpora.text import read_pairs
from lookback.evaluation import SHIFTS, LinkCounts, count_links, shifted_links, symmetrise
from lookback.evaluation.alignment.attention_quality import gold_of
from lookback.evaluation.alignment.quality import Symmetrisation
from lookback.translation.devices import check_devices, in_order
from lookback.translation.translator import Translator

if TYPE_CHECKING:
    from datasets import Dataset

_BATCHES = 16
"""How many batches of pairs are sorted by length together. More batches mean less padding, and the same links."""


class Pair(NamedTuple):
    """A pair of lines with the attention weights of one or two models.

    Attributes:
        source: a line of the source file.
        target: the same line of the target file.
        forward: the weights of the run, (target words + 1, source words + 1), end marks last; None if a line has no
            words.
        backward: the weights of the reverse run, (source words + 1, target words + 1), end marks last; None if a line
            has no words, or if there is no reverse run.
    """

    source: str
    target: str
    forward: NDArray[np.float64] | None
    backward: NDArray[np.float64] | None

    @property
    def words_differ(self) -> bool:
        """Whether the two runs split the lines into different numbers of words."""
        return (
            self.forward is not None and self.backward is not None and self.forward.shape != self.backward.shape[::-1]
        )

    def links(self, shift: int) -> list[Link]:
        """The links of the run, (source word, target word), in rising order.

        Args:
            shift: which weights belong to a target word, see ``shifted_links``.
        """
        return [] if self.forward is None else sorted(shifted_links(self.forward, shift))

    def reverse_links(self, shift: int) -> list[Link]:
        """The links of the reverse run, also as (source word, target word) in rising order.

        Args:
            shift: as in ``links``.
        """
        return [] if self.backward is None else sorted((i, j) for j, i in shifted_links(self.backward, shift))


class AlignSettings(TypedDict):
    """The keys of ``conf/align.yaml``."""

    run: FilePath
    trust: Trust
    source: FilePath
    target: FilePath
    shift: Annotated[int, Interval(ge=-1, le=0), doc("0 or -1")]
    reverse: FilePath | None
    symmetrisation: Symmetrisation
    gold: FilePath | None
    alignment_base: AlignmentBase
    batch_size: Size
    devices: Size
    out: FilePath | None


def align(config: DictConfig) -> None:
    """Writes the links between the words of ``config.source`` and ``config.target`` in Pharaoh format.

    Each pair of lines has a line of links ``i-j`` in rising order: source word i and target word j of the raw lines,
    counted from 0. A pair in which a line has no words has an empty line.

    If ``config.gold`` is given, a table of error rates is printed: of each run at both shifts, and of the links that
    were written. It goes to standard output if the links go to a file, else to standard error.

    Args:
        config: as ``conf/align.yaml`` composes it.

    Raises:
        InputError: if a setting or a file is wrong.
    """
    check_config(config, AlignSettings)
    check_devices(config.devices)
    if config.out is None:
        check_open("stdout", "out=FILE")
    elif Path(config.out).exists():
        raise InputError(f"out={config.out}: is there already; expected a new file")
    gold = None if config.gold is None else _read_gold(config)
    # read both files to their end first, so that a mistake in line 700,000 is found before anything is written
    deque(read_pairs(config.source, config.target), maxlen=0)
    load = partial(_load, config.run, config.reverse, config.trust)
    models = load(None if config.devices == 1 else "cpu")

    def links_to_write(pair: Pair) -> list[Link]:
        links = pair.links(config.shift)
        if config.reverse is None:
            return links
        return symmetrise(links, pair.reverse_links(config.shift), config.symmetrisation)

    systems: dict[tuple[str, str], Callable[[Pair], list[Link]]] = {}
    for shift in SHIFTS:
        systems["run", str(shift)] = partial(Pair.links, shift=shift)
    if config.reverse is not None:
        for shift in SHIFTS:
            systems["reverse", str(shift)] = partial(Pair.reverse_links, shift=shift)
        systems[config.symmetrisation, str(config.shift)] = links_to_write
    counts = dict.fromkeys(systems, LinkCounts())
    scored = 0
    with _open_output(config.out) as write:
        blocks = _blocks(config.source, config.target, _BATCHES * config.batch_size)
        work = partial(_weighed, batch_size=config.batch_size)
        found = in_order(work, models, load, blocks, config.devices)
        for number, pair in enumerate(pair for _, pairs in found for pair in pairs):
            if pair.words_differ:
                raise InputError(
                    f"{config.source}:{number + 1}: the reverse run has other words here than the run, as tokenizers "
                    "may in a script without spaces; expected runs with the same tokenizers"
                )
            write(" ".join(f"{i}-{j}" for i, j in links_to_write(pair)) + "\n")
            if gold is None or pair.forward is None:
                continue
            right = gold_of(gold[number], pair.forward.shape)
            if right is not None:
                scored += 1
                for name, links in systems.items():
                    counts[name] += count_links(links(pair), right.sure, right.possible)
    if gold is not None:
        _print_scores(counts, scored, sys.stdout if config.out else sys.stderr)


class Models(NamedTuple):
    """The models of a run and of the reverse run, if there is one."""

    forward: Translator
    backward: Translator | None


class Block(NamedTuple):
    """Aligned lines that are computed together."""

    sources: list[str]
    targets: list[str]


def _blocks(source: Path | str, target: Path | str, size: int) -> Iterator[Block]:
    """The lines of two aligned files, in blocks of ``size`` or fewer."""
    for block in read_pairs(source, target):
        for start in range(0, block.num_rows, size):
            yield Block(*(side.to_pylist() for side in block.slice(start, size).columns))


def _weighed(models: Models, block: Block, batch_size: int) -> list[Pair]:
    """The pairs of a block with the attention weights of the models."""
    sources, targets = block
    forward = models.forward.attention_weights(sources, targets, batch_size)
    backward: list[NDArray[np.float64] | None] = [None] * len(forward)
    if models.backward is not None:
        backward = models.backward.attention_weights(targets, sources, batch_size)
    return list(map(Pair, sources, targets, forward, backward))


def _read_gold(config: DictConfig) -> Dataset:
    """The pairs with their gold links, all in memory, because hand-aligned files have only some hundreds."""
    from datasets import Dataset

    pairs = Dataset(pa.Table.from_batches(read_pairs(config.source, config.target)))
    return with_alignment(pairs, config.gold, config.alignment_base)


def _load(run: str, reverse: str | None, trust: str | Sequence[str], device: str | None) -> Models:
    """The models of the two runs, on a device.

    Raises:
        InputError: if there is no trained run, or if its model does not look back.
    """
    found = []
    for key, path in (("run", run), ("reverse", reverse)):
        if path is None:
            continue
        try:
            translator = Translator.load(path, device, unknown_words="keep", trust=trust)  # no word is written
        except InputError as error:
            raise InputError(str(error) if key == "run" else f"{key}: {error}") from None
        if not translator.looks_back:
            raise InputError(f"{key}={path}: {translator.why_no_alignment}")
        found.append(translator)
    return Models(found[0], found[1] if len(found) > 1 else None)


@contextmanager
def _open_output(path: str | None) -> Iterator[Callable[[str], Any]]:
    """A function that writes text to standard output or to a new file. The file appears when it is complete."""
    if path is None:
        yield sys.stdout.write
        sys.stdout.flush()
        return
    with atomic_write(Path(path)) as file:
        yield lambda text: file.write(text.encode())


def _print_scores(counts: dict[tuple[str, str], LinkCounts], sentences: int, stream: Any) -> None:
    """Prints the error rates of each system of links, and how many pairs have gold links."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("links", "shift", "AER", "precision", "recall"):
        table.add_column(name, justify="left" if name == "links" else "right")
    for (name, shift), total in counts.items():
        shares = (total.aer, total.precision, total.recall)
        table.add_row(name, shift, *("–" if share is None else f"{share:.3f}" for share in shares))
    console = Console(file=stream, highlight=False)
    console.print(table)
    console.print(f"{sentences:,} sentence pairs with gold links")
