"""Translate a stream of lines: as many lines out as in, in their order, as soon as they can be had."""

import queue
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from omegaconf import DictConfig

from lookback.common.checks import check_switches
from lookback.common.configs import build
from lookback.common.errors import InputError, config_errors
from lookback.common.suggestions import listed
from lookback.data.corpora.lines import check_file, read_lines
from lookback.translation.translator import Translator

SEPARATOR = " ||| "


def translate(config: DictConfig) -> None:
    """Translate ``config.input`` (standard input where it is null) to standard output.

    A line is a translation. ``scores`` and ``alignments`` follow it after `` ||| ``: ``source-target`` as in Pharaoh,
    0-based, words of the line as it was read and of the translation as it is written. Where a search gives several for
    a line, the number of the input line (0-based) comes first, as in Moses' n-best lists.
    """
    with config_errors():
        check_switches({"scores": config.scores, "alignments": config.alignments, "warnings": config.warnings})
    translator = Translator.load(config.run, unknown_words=config.unknown_words)
    if config.alignments and not translator.looks_back:
        raise InputError(f"alignments=true: {config.run} {translator.why_no_alignment}")
    search = build(config.search)
    path = Path(config.input).expanduser() if config.input else None
    if path:
        check_file(path)
    writer = translator.writer
    lines = read_lines(path) if path else read_stream()
    number = 0
    unknown = UnknownWords(translator) if config.warnings else None
    for batch in as_available(lines, config.batch_size):
        for line, hypotheses in zip(batch, translator.search(batch, search), strict=True):
            for hypothesis in hypotheses:
                # a tokenizer with bytes can write line breaks, too: a line stays a line
                fields = [writer.text(line, hypothesis).replace("\r", " ").replace("\n", " ")]
                if search.n_best > 1:
                    fields.insert(0, str(number))
                if config.scores:
                    fields.append(f"{hypothesis.score:.4f}")
                if config.alignments:
                    fields.append(" ".join(f"{i}-{j}" for i, j in writer.links(line, hypothesis)))
                sys.stdout.write(SEPARATOR.join(fields) + "\n")
            if unknown is not None:
                unknown.look_at(line, number)
            number += 1
        sys.stdout.flush()
    if unknown is not None:
        unknown.sum_up()


class UnknownWords:
    """Says on standard error when a line has words that the model has never seen: the first time, and how often."""

    def __init__(self, translator: Translator) -> None:
        self._tokenizer = translator.source_tokenizer
        self._lines = 0
        self._words = 0

    def look_at(self, line: str, number: int) -> None:
        """Look at line ``number``, from 0."""
        unknown = self._tokenizer.unknown_words(line)
        if not unknown:
            return
        if not self._lines:
            words = len(self._tokenizer.alignment_words(line))
            print(
                f"warning: {len(unknown)} of {words} words of line {number + 1} are unknown to this model: "
                f"{listed(unknown)}; what is written for such a line may have little to do with it",
                file=sys.stderr,
                flush=True,
            )
        self._lines += 1
        self._words += len(unknown)

    def sum_up(self) -> None:
        """Say how many there were, where there was more than the first line."""
        if self._lines > 1:
            print(f"warning: {self._words:,} unknown words in {self._lines:,} lines", file=sys.stderr, flush=True)


def read_stream() -> Iterator[str]:
    """Lines of standard input, without their ends. Raises InputError with the line's number for invalid UTF-8."""
    # not sys.stdin: Python cannot end while a thread waits for a line in it
    with open(sys.stdin.fileno(), "rb", closefd=False) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise InputError(f"standard input:{number}: not UTF-8 at byte {error.start + 1} of the line") from None


def as_available(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    """Batches of up to ``size`` lines: those that are there already, so that nobody waits for a batch to fill."""
    if not isinstance(size, int) or size < 1:
        raise InputError(f"batch_size={size}: expected a whole number, 1 or more")
    waiting: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=4 * size)

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
        batch: list[str] = []
        while len(batch) < size and (not batch or not waiting.empty()):
            item = waiting.get()
            if isinstance(item, str):
                batch.append(item)
                continue
            open_, end = False, item
            break
        if batch:
            yield batch
    if end is not None:
        raise end
