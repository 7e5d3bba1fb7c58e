"""Damaged files for every reader: each must give a value, or one line that names the file.

    python benchmarks/fuzz.py --inputs 100000                        # all readers, one after the other: hours
    python benchmarks/fuzz.py --inputs 2000 --readers json,segments  # some of them
    python benchmarks/fuzz.py --inputs 100000 --keep                 # counts to benchmarks/results/fuzz.csv

An input is a valid file with some changes: bytes flipped, cut out, repeated, exchanged for another file's, numbers and
texts that readers have stumbled over. A number names each input, and the same number always gives the same one. A
reader runs in a process of its own with limits of time and memory, because some faults end the process: an abort in
native code, or a file of some bytes that asks for gigabytes.
"""

import argparse
import faulthandler
import gzip
import io
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import numpy as np
from machine import keep, show

from lookback.common.errors import InputError

SECONDS, MEMORY = 10, 3 << 30
"""Limits of one input: seconds of the processor, and bytes of address space beside those the process has at first."""
SILENCE = 300
"""Seconds until a process that says nothing is killed: it may wait for ever without using the processor."""
LONGEST_MESSAGE = 2000
TOKENS = (
    b"NaN", b"-Infinity", b"1e999", b"-1", b"0.5", b"1e308", b"9" * 20, b"9" * 5000, b"null", b"true", b"[]", b"{}",
    b'""', b'"', b"'", b"\\", b"\\ud800", b"\\u0000", b"[" * 2000, b'{"a":' * 2000, b"\n", b"\r", b"\r\n", b"\0",
    b"\t", b",", b",,,", b" ", b"\x1a", b"\x1b", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbf\xbe", b"\xef\xbb\xbf",
    b"\xe2\x80\xa8", b"\xf0\x9f\x98\x80", b"0-0", b"3p4", b"1-", b"-1-0", b"9999999999-0", b"\x1f\x8b", b"PAR1",
    b"PK\x03\x04", b"\x00\x00\x00\x80", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"(9223372036854775807,)", b"|O",
    b"<U4", b"<i1", b"<f8", b"<m8", b"True", b"a" * 3000, b" ||| ",
)  # fmt: skip


class Fault(Exception):
    """A reader did something else than to read or to refuse."""


def _bytes_changed(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """``data`` with some changes at random places, parts of ``other`` among them."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 5, 10))):
        at, size = chance.randrange(len(changed) + 1), chance.choice((1, 1, 2, 4, 16, 100))
        match chance.randrange(9):
            case 0 if changed:
                changed[min(at, len(changed) - 1)] ^= 1 << chance.randrange(8)
            case 1:
                changed[at : at + size] = chance.randbytes(size)
            case 2:
                del changed[at : at + size]
            case 3:
                changed[at:at] = changed[at : at + size] * chance.choice((1, 2, 50))
            case 4:
                del changed[at:]
            case 5:
                start = chance.randrange(len(other) + 1)
                changed[at : at + size] = other[start : start + size]
            case 6 if numbers := list(re.finditer(rb"-?\d+", changed)):
                found = chance.choice(numbers)
                changed[found.start() : found.end()] = chance.choice(TOKENS[:11])
            case _:
                changed[at : at + chance.choice((0, 0, 1, 4))] = chance.choice(TOKENS)
    return bytes(changed)


def changed_text(seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """One of ``seeds``, changed."""
    return _bytes_changed(chance.choice(seeds), chance.choice(seeds), chance)


def changed_gzip(seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """Changed text that is compressed, or whose compressed bytes are changed too."""
    texts = [gzip.decompress(seed) for seed in seeds]
    packed = gzip.compress(changed_text(texts, chance), compresslevel=1, mtime=0)
    return packed if chance.random() < 0.5 else _bytes_changed(packed, packed, chance)


def changed_json(seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """A changed text, or lines of JSON with a value, a key or a whole record exchanged."""
    if chance.random() < 0.5:
        return changed_text(seeds, chance)
    lines = chance.choice(seeds).splitlines() or [b"{}"]
    at = chance.randrange(len(lines))
    try:
        whole = json.loads(chance.choice(seeds)) if len(lines) < 2 or chance.random() < 0.3 else json.loads(lines[at])
    except ValueError:
        return changed_text(seeds, chance)
    text = json.dumps(_value_changed(whole, chance)).encode()
    lines[at] = text
    return b"\n".join(lines) if len(lines) > 1 else text


def _value_changed(value: Any, chance: random.Random) -> Any:
    """A JSON value with a part of it, at any depth, exchanged."""
    odd = (None, True, -1, 0, 1.5, 1e308, 10**30, 10**400, float("nan"), float("inf"), "", "\ud800", "\0", "x" * 5000)
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        match chance.randrange(6):
            case 0:
                return {name: inside for name, inside in value.items() if name != key}
            case 1:
                return {**value, chance.choice(("odd", "a\nb", "", key + "\u2028")): None}
        return {**value, key: _value_changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        return [*value[:at], _value_changed(value[at], chance), *value[at + chance.randrange(1, 3) :]]
    return chance.choice((*odd, [], {}, [value], {"a": value}))


def changed_npz(seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """A changed file, or one whose arrays are changed inside, so that its checksums are right."""
    whole = chance.choice(seeds)
    if chance.random() < 0.3:
        return _bytes_changed(whole, chance.choice(seeds), chance)
    members = _members(whole)
    name, other = chance.choice(list(members)), chance.choice(list(members.values()))
    match chance.randrange(8):
        case 0:
            del members[name]
        case 1:
            members[name] = other
        case 2 | 3 | 4:
            members[name] = _array_changed(members[name], chance)
        case _:
            members[name] = _bytes_changed(members[name], other, chance)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as file:
        for member, content in members.items():
            file.writestr(member, content)
    return packed.getvalue()


def _members(whole: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(whole)) as file:
        return {name: file.read(name) for name in file.namelist()}


def _array_changed(member: bytes, chance: random.Random) -> bytes:
    """An array with other numbers, another type or another shape."""
    array = np.load(io.BytesIO(member))
    with np.errstate(all="ignore"):
        match chance.randrange(5):
            case 0 if array.size and array.dtype.kind in "iuf":
                array.flat[chance.randrange(array.size)] = chance.choice((-1, 0, 2, 127, 2**15 - 1))
            case 1 if array.size and array.dtype.kind == "f":
                array.flat[chance.randrange(array.size)] = chance.choice((np.nan, np.inf, -np.inf, -0.0))
            case 2 if array.dtype.kind in "iuf":
                array = array.astype(
                    chance.choice(("<u8", "<i8", "<f8", "<f2", "<i1", "<c8", "?", "<U3", "<f4", ">i4"))
                )
            case 3:
                array = array[: chance.randrange(len(array) + 1)] if array.ndim else np.array([array])
            case _:
                array = np.concatenate([array, array]) if array.ndim else array[None, None]
    written = io.BytesIO()
    np.save(written, array)
    return written.getvalue()


@dataclass
class Reader:
    """What reads one kind of file.

    Attributes:
        name: in the table.
        suffix: of the files.
        seeds: whole files that it reads.
        read: reads a file to its end; raises InputError where it refuses it.
        change: makes an input from the seeds.
    """

    name: str
    suffix: str
    seeds: Sequence[bytes]
    read: Callable[[Path], Any]
    change: Callable[[Sequence[bytes], random.Random], bytes] = changed_text

    def input(self, number: int) -> bytes:
        """The input of this number."""
        return self.change(self.seeds, random.Random(f"{self.name} {number}"))

    def check(self, path: Path, data: bytes) -> bool:
        """Whether the reader takes an input (True) or refuses it (False).

        Raises:
            Fault: if it does anything else, or takes longer than ``SECONDS``.
        """
        path.write_bytes(data)
        try:
            with _time_limit(), redirect_stderr(io.StringIO()):
                self.read(path)
        except InputError as error:
            said = str(error)
            if len(said.splitlines()) != 1 or len(said) > LONGEST_MESSAGE:
                raise Fault(
                    f"a message of {len(said.splitlines())} lines, {len(said)} characters: {said[:80]!r}"
                ) from error
            if path.stem not in said and "standard input" not in said:
                raise Fault(f"a message without the file: {said[:200]!r}") from error
            return False
        except Fault:
            raise
        except BaseException as error:
            raise Fault(
                f"{type(error).__module__}.{type(error).__name__}: {_place(error)}: {str(error)[:120]!r}"
            ) from error
        return True


def _place(error: BaseException) -> str:
    """The last line of this project that an error went through."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "lookback" in file and "site-packages" not in file:
            place = f"{Path(file).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


@contextmanager
def _time_limit() -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise Fault(f"took longer than {SECONDS} seconds")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


ENGLISH = "a small dog runs .\nthe cat that sleeps , dreams\n\nnaïve “words” 漢字 here\n"
FRENCH = "un petit chien court .\nle chat qui dort , rêve\n\ndes mots « naïfs » ici\n"
LINKS = "0-0 1-2 2p1 3-3\n0-0 1-1 2-2 5p4\n\n0-0 1-1\n"
RECORDS = [
    {"source": english, "target": french, "n": number, "translation": {"en": english, "fr": french}}
    for number, (english, french) in enumerate(zip(ENGLISH.splitlines(), FRENCH.splitlines(), strict=True))
]


def readers(folder: Path, names: Sequence[str] | None = None) -> list[Reader]:
    """The readers of these names, or all of them.

    Args:
        folder: an empty folder for the files beside the inputs.
        names: keys of ``READERS``.
    """
    return [READERS[name](folder) for name in (READERS if names is None else names)]


def _text(folder: Path) -> Reader:
    from lookback.data.corpora.text import read_pairs

    other = folder / "other.txt"
    other.write_text(FRENCH)
    seeds = [ENGLISH.encode(), ENGLISH.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + ENGLISH.encode()]
    return Reader("text", ".txt", seeds, lambda path: list(read_pairs(path, other)))


def _gzip(folder: Path) -> Reader:
    from lookback.data.corpora.lines import check_file, read_lines

    def read(path: Path) -> None:
        check_file(path)
        list(read_lines(path))

    return Reader(
        "text, gzip",
        ".txt.gz",
        [gzip.compress(text.encode(), mtime=0) for text in (ENGLISH, FRENCH)],
        read,
        changed_gzip,
    )


def _records(format: str, suffix: str, seeds: Sequence[bytes], change: Callable[..., bytes]) -> Reader:
    from lookback.data.corpora.records import RecordsCorpus

    def read(path: Path) -> None:
        corpus = RecordsCorpus(
            path=format,
            files={"train": str(path), "validation": None, "test": None},
            train={"split": "train"},
            validation={"split": "validation"},
            test={"split": "test"},
            source_language=None,
            target_language=None,
            source_field="source",
            target_field="target",
            train_max_length=None,
            max_length_ratio=None,
            bleu_tokenize="13a",
            streaming=True,
        )
        for _ in corpus.load("train"):
            pass

    return Reader(format, suffix, seeds, read, change)


def _json(folder: Path) -> Reader:
    lines = "\n".join(json.dumps(record, ensure_ascii=False) for record in RECORDS).encode()
    return _records(
        "json", ".jsonl", [lines, json.dumps(RECORDS).encode(), json.dumps(RECORDS, indent=1).encode()], changed_json
    )


def _csv(folder: Path) -> Reader:
    rows = "".join(f'"{record["source"]}",{record["n"]},"{record["target"]}"\n' for record in RECORDS)
    return _records(
        "csv", ".csv", [f"source,n,target\n{rows}".encode(), b"source,target\nI see,je vois\n"], changed_text
    )


def _parquet(folder: Path) -> Reader:
    import pyarrow as pa
    from pyarrow import parquet

    seeds = []
    for options in (
        {},
        {"compression": "gzip", "use_dictionary": False},
        {"data_page_version": "2.0", "row_group_size": 2},
    ):
        written = io.BytesIO()
        parquet.write_table(pa.Table.from_pylist(RECORDS), written, **options)
        seeds.append(written.getvalue())
    return _records("parquet", ".parquet", seeds, changed_text)


def _alignment(folder: Path) -> Reader:
    from lookback.data.corpora.gold_alignment import read_gold

    pairs = list(zip(ENGLISH.splitlines(), FRENCH.splitlines(), strict=True))
    seeds = [LINKS.encode(), LINKS.replace("\n", "\r\n").encode()]
    return Reader("alignment", ".align", seeds, lambda path: read_gold(path, pairs, 0))


def _translate(folder: Path) -> Reader:
    """Standard input through a tokenizer, of words or of pieces as the input has it, and the search of a small network,
    as ``translate.py`` reads it."""
    import hydra
    import pyarrow as pa
    import torch

    from lookback.commands.launch import config_directory
    from lookback.commands.translate import translate
    from lookback.common.configs import build
    from lookback.runs.directory import RunDirectory
    from lookback.translation.build import build_model
    from lookback.translation.translator import Translator

    sides = {"source": ENGLISH.splitlines(), "target": FRENCH.splitlines()}
    sizes = [f"{part}.{size}=6" for part in ("encoder", "decoder") for size in ("embedding_size", "hidden_size")]
    torch.manual_seed(1)
    translators = []
    with hydra.initialize_config_dir(str(config_directory()), version_base="1.3"):
        settings = [
            "run=made",
            "scores=true",
            "alignments=true",
            "search=greedy",
            "search.limit_factor=0.1",
            "search.limit_extra=2",
        ]
        command = hydra.compose("translate", settings)
        for tokenizer in ("word", "unigram"):
            config = hydra.compose("train", [*sizes, "decoder.readout_size=6", f"tokenizer={tokenizer}"])
            source, target = build(config.tokenizer).learn(lambda side: iter([pa.array(sides[side])]))
            model = build_model(config, len(source), len(target)).eval()
            translators.append(Translator(RunDirectory("made"), config, source, target, model, "copy"))

    def read(path: Path) -> None:
        data, output = path.read_bytes(), io.StringIO()
        load = patch.object(Translator, "load", return_value=translators[zlib.crc32(data) % len(translators)])
        with path.open() as lines, patch.object(sys, "stdin", lines), load, redirect_stdout(output):
            translate(command)
        asked, given = data.removesuffix(b"\n").count(b"\n") + 1, output.getvalue().count("\n")
        if data and asked != given:
            raise Fault(f"{asked} lines have {given} translations")

    return Reader("translate", ".txt", [ENGLISH.encode(), FRENCH.encode(), b"a dog\n"], read)


def _tested(folder: Path) -> Path:
    """What a training leaves in its folder ``test``."""
    from lookback.evaluation import count, results
    from lookback.runs import COST, TRAINING_DATA, Prediction, write_predictions, write_results
    from lookback.runs.alignments import AlignedSentence, Alignments, write_alignments
    from lookback.runs.budgets import Budgets, write_budgets

    pairs = [(english, french) for english, french in zip(ENGLISH.splitlines(), FRENCH.splitlines(), strict=True)]
    predictions = [
        Prediction(number, source, target, target, -0.5, len(source.split()), False)
        for number, (source, target) in enumerate(pairs)
        if source
    ]
    segments = count(predictions, "13a", [[(0, 0)] for _ in predictions])
    record = results(
        predictions,
        "13a",
        arm="bahdanau",
        attention="bahdanau",
        seed=1,
        data="text",
        perplexity=4.5,
        aer=None,
        attention_by_length=None,
        convergence=None,
        cost=dict.fromkeys(COST),  # type: ignore[arg-type]
        training_data=dict.fromkeys(TRAINING_DATA),  # type: ignore[arg-type]
        versions={"lookback": "1"},
        git=None,
        data_fingerprint="f00d",
        segments=segments,
    )
    write_results(folder / "results.json", record)
    write_predictions(folder / "predictions.jsonl", predictions)
    segments.save(folder / "segments.npz")
    words = [(tuple(source.split()), tuple(target.split())) for source, target in pairs if source]
    sentences = [
        AlignedSentence(
            number,
            source,
            target,
            np.full((2, len(target) + 1, len(source) + 1), 1 / (len(source) + 1), np.float16),
            ((0, 0),),
            ((1, 1),),
        )
        for number, (source, target) in enumerate(words)
    ]
    write_alignments(folder / "alignments.npz", Alignments((0.5, 1.0), (3, 6), True, tuple(sentences)))
    statistics = np.stack([segments.bleu_statistics, segments.bleu_statistics])
    ids = np.arange(len(predictions))
    write_budgets(
        folder / "budgets.npz", Budgets(ids, segments.source_length, (3, 6), (0.5, 1.0), statistics, (30, 60))
    )
    return folder


def _results(folder: Path) -> Reader:
    from lookback.runs import read_results

    now = (_tested(folder) / "results.json").read_bytes()
    before = {**json.loads(now), "schema": 3}
    for key in ("arm", "position_recall", "convergence", "agreement"):
        del before[key]
    for bucket in (*before["by_length"], *before["by_equal_count"]):
        del bucket["omitted"], bucket["repeated"], bucket["repeated_trigrams"], bucket["never_looked_at"]
    return Reader("results.json", ".json", [now, json.dumps(before).encode()], read_results, changed_json)


def _predictions(folder: Path) -> Reader:
    from lookback.runs import read_predictions

    seeds = [(_tested(folder) / "predictions.jsonl").read_bytes()]
    return Reader("predictions.jsonl", ".jsonl", seeds, read_predictions, changed_json)


def _arrays(name: str, read: Callable[[Path], Any], folder: Path) -> Reader:
    return Reader(name, ".npz", [(_tested(folder) / name).read_bytes()], read, changed_npz)


def _segments(folder: Path) -> Reader:
    from lookback.runs import Segments

    return _arrays("segments.npz", Segments.load, folder)


def _alignments(folder: Path) -> Reader:
    from lookback.runs.alignments import read_alignments

    return _arrays("alignments.npz", read_alignments, folder)


def _budgets(folder: Path) -> Reader:
    from lookback.runs.budgets import read_budgets

    return _arrays("budgets.npz", read_budgets, folder)


READERS: dict[str, Callable[[Path], Reader]] = {
    "text": _text,
    "gzip": _gzip,
    "json": _json,
    "csv": _csv,
    "parquet": _parquet,
    "alignment": _alignment,
    "translate": _translate,
    "results": _results,
    "predictions": _predictions,
    "segments": _segments,
    "alignments": _alignments,
    "budgets": _budgets,
}
"""What makes the reader of each name, in an empty folder."""


ACCEPTED, REFUSED = "accepted", "refused"


def outcome(reader: Reader, number: int, folder: Path) -> str:
    """What becomes of an input: ``ACCEPTED``, ``REFUSED``, or what the fault is."""
    try:
        return ACCEPTED if reader.check(folder / f"damaged{reader.suffix}", reader.input(number)) else REFUSED
    except Fault as fault:
        return str(fault)


def work(name: str, first: int, last: int) -> None:
    """Tries the inputs from ``first`` up to ``last``. Prints each number, which this process may not survive, then its
    outcome as JSON."""
    faulthandler.enable()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # to cut a file off on a disk waits for the disk
    with tempfile.TemporaryDirectory(prefix="lookback-fuzz-", dir=memory) as place:
        os.environ["HF_DATASETS_CACHE"] = place
        folder = Path(place)
        (reader,) = readers(folder, [name])
        for seed in reader.seeds:  # they are right, and imports are no part of the limits
            if not reader.check(folder / f"damaged{reader.suffix}", seed):
                raise SystemExit(f"{name}: a seed is refused")
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        for number in range(first, last):
            print(number, flush=True)
            print(json.dumps(outcome(reader, number, folder)), flush=True)


@dataclass
class Found:
    """What became of the inputs of one reader.

    Attributes:
        inputs: how many were tried.
        accepted: how many gave a value.
        refused: how many gave one line.
        faults: the first input and the number of inputs of each fault.
    """

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    faults: dict[str, list[int]] = field(default_factory=dict)

    def add(self, number: int, what: str) -> None:
        """Counts an outcome."""
        self.inputs += 1
        self.accepted += what == ACCEPTED
        self.refused += what == REFUSED
        if what not in (ACCEPTED, REFUSED):
            self.faults.setdefault(what, [number, 0])[1] += 1


def found_by(name: str, inputs: int, first: int) -> Found:
    """Tries inputs in processes of their own: one that dies, or says nothing any more, is a fault."""
    found, next_one, last = Found(), first, first + inputs
    while next_one < last:
        # a process takes some thousand inputs, because libraries keep what they have seen
        command = [sys.executable, __file__, "--work", name, str(next_one), str(min(last, next_one + 5000))]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            watch = threading.Timer(0, lambda: None)
            present = None
            for line in process.stdout:
                watch.cancel()
                watch = threading.Timer(SILENCE, process.send_signal, [signal.SIGABRT])
                watch.start()
                said = json.loads(line)
                if isinstance(said, int):
                    present = said
                elif present is not None:
                    found.add(present, said)
                    next_one, present = present + 1, None
                    if found.inputs % 1000 == 0:
                        print(f"{name}: {found.inputs:,} of {inputs:,}", file=sys.stderr, flush=True)
            watch.cancel()
            error = process.stderr.read().decode(errors="replace").strip().splitlines()
            code = process.wait()
        if present is not None:
            stack = [line.strip() for line in error if line.lstrip().startswith("File ")][:4] or error[-1:]
            found.add(present, f"the process ended with {code}: {'; '.join(stack)}")
            next_one = present + 1
        elif code:
            sys.exit(f"{name}: {error[-1] if error else code}")
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--inputs", type=int, default=1000, help="of each reader")
    options.add_argument("--first", type=int, default=0, help="number of the first input")
    options.add_argument("--readers", default=",".join(READERS), help="some of these, with commas")
    options.add_argument("--faults", type=Path, help="a folder for the first input of each fault")
    options.add_argument("--keep", action="store_true", help="the counts of each reader in place of its last ones")
    options.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.work:
        name, first, last = arguments.work
        work(name, int(first), int(last))
        return
    rows, faults = [], []
    for name in arguments.readers.split(","):
        started = time.monotonic()
        found = found_by(name, arguments.inputs, arguments.first)
        rows.append(
            {
                "reader": name,
                "inputs": found.inputs,
                "accepted": found.accepted,
                "refused": found.refused,
                "faults": sum(count for _, count in found.faults.values()),
                "ms": round(1000 * (time.monotonic() - started) / max(1, found.inputs), 2),
            }
        )
        faults += [(name, first, count, what) for what, (first, count) in found.faults.items()]
        if arguments.faults and found.faults:
            _write_inputs(name, [first for first, _ in found.faults.values()], arguments.faults)
        if arguments.keep:
            keep("fuzz", rows[-1:], by=["reader"])
    show(rows)
    for name, first, count, what in faults:
        print(f"{name}, input {first} (and {count - 1} more): {what}")
    sys.exit(bool(faults))


def _write_inputs(name: str, numbers: Sequence[int], out: Path) -> None:
    """Writes inputs as files, to look at them."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        (reader,) = readers(Path(place), [name])
        for number in numbers:
            (out / f"{name}-{number}{reader.suffix}").write_bytes(reader.input(number))


if __name__ == "__main__":
    main()
