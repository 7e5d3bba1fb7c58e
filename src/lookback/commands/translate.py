"""Translates a stream of lines, in their order. A line waits for no other that is not there yet."""

import queue
import sys
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TypedDict

from omegaconf import DictConfig

from lookback.commands.streams import check_open
from lookback.common.checks import FilePath, Size, Trust
from lookback.common.configs import build
from lookback.common.errors import InputError
from lookback.common.schema import Node, check_config
from lookback.common.suggestions import listed
from lookback.data.corpora.lines import check_file, read_lines
from lookback.search import Search
from lookback.translation.devices import check_devices, in_order
from lookback.translation.translator import SearchPrecision, Translator

SEPARATOR = " ||| "
_BATCHES = 16
"""How many batches of lines are sorted by length together. More batches take less time, and are written later."""


class TranslateSettings(TypedDict):
    """The keys of ``conf/translate.yaml``."""

    run: FilePath
    trust: Trust
    input: FilePath | None
    search: Node
    scores: bool
    alignments: bool
    unknown_words: FilePath | None
    batch_size: Size
    precision: SearchPrecision
    devices: Size
    warnings: bool


def translate(config: DictConfig) -> None:
    """Translates ``config.input``, or standard input if it is null, to standard output.

    Each line of the output is a translation. With ``scores`` and ``alignments`` these follow it, separated by
    `` ||| ``. An alignment has the links ``source-target`` in Pharaoh format, 0-based: words of the line as it was read
    and of the translation as it is written. If the search returns several translations of a line, each begins with the
    0-based number of the input line, as in n-best lists of Moses.

    Args:
        config: as ``conf/translate.yaml`` composes it.

    Raises:
        InputError: if a setting or the input is wrong.
    """
    check_config(config, TranslateSettings)
    check_devices(config.devices)
    if config.devices > 1 and not config.input:
        raise InputError(f"devices={config.devices}: expected input=FILE, because standard input is translated at once")
    check_open("stdout", "a file or a pipe for the translations")
    load = partial(
        Translator.load, config.run, unknown_words=config.unknown_words, trust=config.trust, precision=config.precision
    )
    translator = load(device=None if config.devices == 1 else "cpu")
    if config.alignments and not translator.looks_back:
        raise InputError(f"alignments=true: {config.run} {translator.why_no_alignment}")
    search = build(config.search, Search)
    path = Path(str(config.input)).expanduser() if config.input else None
    if path:
        check_file(path)
    lines = read_lines(path) if path else read_stream()
    number = 0
    unknown = UnknownWords(translator) if config.warnings else None
    work = partial(
        _written, search=search, batch_size=config.batch_size, scores=config.scores, alignments=config.alignments
    )
    blocks = as_available(lines, _BATCHES * config.batch_size)
    for block, found in in_order(work, translator, load, blocks, config.devices):
        for line, translations in zip(block, found, strict=True):
            for fields in translations:
                sys.stdout.write(SEPARATOR.join([str(number), *fields] if search.n_best > 1 else fields) + "\n")
            if unknown is not None:
                unknown.count(line, number)
            number += 1
        sys.stdout.flush()
    if unknown is not None:
        unknown.warn_of_total()


def _written(
    translator: Translator, lines: list[str], search: Search, batch_size: int, scores: bool, alignments: bool
) -> list[list[list[str]]]:
    """What is written for each line: the fields of each of its translations."""
    writer = translator.writer
    found = []
    for line, hypotheses in zip(lines, translator.search(lines, search, batch_size), strict=True):
        translations = []
        for hypothesis in hypotheses:
            # a tokenizer with bytes can write line breaks, but a translation must stay one line
            fields = [writer.text(line, hypothesis).replace("\r", " ").replace("\n", " ")]
            if scores:
                fields.append(f"{hypothesis.score:.4f}")
            if alignments:
                fields.append(" ".join(f"{i}-{j}" for i, j in writer.links(line, hypothesis)))
            translations.append(fields)
        found.append(translations)
    return found


class UnknownWords:
    """Warns on standard error of words that the model does not know: at the first such line, and of all at the end.

    Args:
        translator: the model.
    """

    def __init__(self, translator: Translator) -> None:
        self._tokenizer = translator.source_tokenizer
        self._lines = 0
        self._words = 0

    def count(self, line: str, number: int) -> None:
        """Counts the unknown words of a line, and warns if it is the first line that has some.

        Args:
            line: the text.
            number: of the line, from 0.
        """
        unknown = self._tokenizer.unknown_words(line)
        if not unknown:
            return
        if not self._lines:
            words = len(self._tokenizer.alignment_words(line))
            each_once = listed(list(dict.fromkeys(unknown)))
            print(
                f"warning: {len(unknown)} of {words} words of line {number + 1} are unknown to this model: "
                f"{each_once}; what is written for such a line may have little to do with it",
                file=sys.stderr,
                flush=True,
            )
        self._lines += 1
        self._words += len(unknown)

    def warn_of_total(self) -> None:
        """Prints how many there were, if more than one line had some."""
        if self._lines > 1:
            print(f"warning: {self._words:,} unknown words in {self._lines:,} lines", file=sys.stderr, flush=True)


def read_stream() -> Iterator[str]:
    """The lines of standard input, without their ends.

    Raises:
        InputError: with the line's number, if a line is not UTF-8.
    """
    # not sys.stdin, because Python cannot exit while a thread waits for a line of it
    check_open("stdin", "text, or input=FILE")
    with open(sys.stdin.fileno(), "rb", closefd=False) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise InputError(f"standard input:{number}: not UTF-8 at byte {error.start + 1} of the line") from None


def as_available(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    """Blocks of the lines that are already there, so that nobody waits for a block to fill.

    Args:
        lines: read in a thread.
        size: the most lines of a block.
    """
    waiting: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=2 * size)

    def read() -> None:
        try:
            for line in lines:
                waiting.put(line)
            waiting.put(None)
        except BaseException as error:
            waiting.put(error)

    threading.Thread(target=read, daemon=True).start()
    end: BaseException | None = None
    open_ = True
    while open_:
        block: list[str] = []
        while len(block) < size and (not block or not waiting.empty()):
            item = waiting.get()
            if isinstance(item, str):
                block.append(item)
                continue
            open_, end = False, item
            break
        if block:
            yield block
    if end is not None:
        raise end
