"""JoeyNMT's own preparation of two text files, timed. Runs in JoeyNMT's environment; data_prepare.py starts it.

    python joeynmt_prepare.py SOURCE TARGET VOCABULARY_SIZE MAX_LENGTH

load: `joeynmt.data.load_data`: read the files, split, count, build both vocabularies.
ids: every pair once through the dataset (split, length filter) and the vocabularies, as its collate function does for
each batch of each epoch, without tensors. Much of `load` is one line of JoeyNMT that looks each word up in a list while
the vocabulary grows (`Vocabulary.add_tokens`, quadratic in the size of the vocabulary); it is counted as `vocabulary`,
so that a ratio without it can be given too.

Prints one JSON line. Imports are not timed.
"""

import json
import logging
import resource
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

from joeynmt.config import _check_special_symbols
from joeynmt.data import load_data
from joeynmt.vocabulary import Vocabulary

BATCH = 64


def main() -> None:
    source, target, vocabulary_size, max_length = sys.argv[1:]
    logging.disable(logging.INFO)
    symbols = SimpleNamespace(**_check_special_symbols({}))
    side = {"level": "word", "lowercase": False, "voc_limit": int(vocabulary_size), "voc_min_freq": 1}
    with tempfile.TemporaryDirectory() as folder:
        # it takes one prefix and two endings
        for path, ending in ((source, "src"), (target, "trg")):
            (Path(folder) / f"corpus.{ending}").symlink_to(Path(path).resolve())
        config = {
            "train": f"{folder}/corpus",
            "dataset_type": "plain",
            "special_symbols": symbols,
            "src": {**side, "lang": "src", "max_length": int(max_length), "special_symbols": symbols},
            "trg": {**side, "lang": "trg", "max_length": -1, "special_symbols": symbols},
        }
        spent = _time_vocabularies()
        start, cpu = time.perf_counter(), time.process_time()
        _, _, data, _, _ = load_data(config, ["train"])
        load = time.perf_counter() - start
        batch, kept = [], 0
        for i in range(len(data)):
            example = data[i]
            if example[1] is None:  # too long
                continue
            batch.append(example)
            if len(batch) == BATCH:
                kept += _encode(data, batch)
                batch = []
        kept += _encode(data, batch) if batch else 0
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    report = {"pairs": len(data), "kept": kept, "seconds": seconds, "cpu_seconds": cpu}
    phases = {"load": load, "vocabulary": sum(spent), "ids": seconds - load}
    print(json.dumps({**report, "phases": phases, "peak_mib": _peak()}))


def _time_vocabularies() -> list[float]:
    """Seconds of each vocabulary's construction, filled in as they are built."""
    spent: list[float] = []
    construct = Vocabulary.__init__

    def timed(self: Vocabulary, *arguments: object, **named: object) -> None:
        start = time.perf_counter()
        construct(self, *arguments, **named)
        spent.append(time.perf_counter() - start)

    Vocabulary.__init__ = timed
    return spent


def _encode(data: object, batch: list) -> int:
    _, sources, targets = zip(*batch, strict=True)
    data.sequence_encoder["src"](sources, bos=False, eos=True)
    data.sequence_encoder["trg"](targets, bos=True, eos=True)
    return len(batch)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
