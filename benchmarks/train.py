"""How fast a training step is, and in how much memory: ours beside JoeyNMT, OpenNMT-py and the machine's limit.

    python benchmarks/train.py --joeynmt PYTHON --opennmt PYTHON
    python benchmarks/train.py --sizes paper --attentions bahdanau --lengths 30 --joeynmt PYTHON --opennmt PYTHON
    python benchmarks/train.py --attentions general bahdanau local_m local_p --lengths 400
    python benchmarks/train.py --attentions bahdanau --lengths 25 --threads 1 2 --joeynmt PYTHON --opennmt PYTHON

A step is forward, loss, backward and Adam, on random words: source and target of one length, without padding. PYTHON is
the interpreter of an environment where the peer is installed, torch first so that no CUDA build is pulled; without it
the peer is left out:

    pip install torch==2.13.0 joeynmt==2.3.0 importlib_metadata
    pip install torch==2.13.0
    pip install --no-deps OpenNMT-py==3.5.1
    pip install configargparse pyyaml sentencepiece "ctranslate2<5" waitress flask rapidfuzz sacrebleu pyonmttok

Each system is a process of its own, pinned to as many cores as it has threads, and they are called in turn (A B C A B
C …), after one call each that does not count. Times are user and system time of the process, or the wall's where there
is more than one thread or a GPU: the median of the rounds, and the quartiles. Memory is the peak over the built model
after one tiny step. Results of the same cases are replaced, those of others stay.

sizes: `small` has embeddings of 256, an encoder of 256 in each direction, attention 256, decoder 256, 8,000 words and
64 sentences; `paper` is Bahdanau et al. 2015: 620, 1000, 1000, 1000, maxout 500, 30,000 words, 80 sentences. The peers
have no maxout: in `paper` their vector before the vocabulary is of 1000, twice ours; `paper-attentional` gives ours the
same. The Transformer of `small` has 3 layers of 256 on each side, 4 heads and 1,024 inner values; that of `paper` is
the base model of Vaswani et al. 2017: 6 of 512, 8, 2,048. Words and sentences are those of the size.
attentions: those of conf/attention in the recurrent decoder, with input feeding where `-feeding` says so, and
`transformer`, the model.
systems: `lookback` is ours as it trains by default; `not fused` is it with torch's plain Adam, which the peers use too;
`plain` is it without the decoder's fast path, where it has one; `limit` is the matrix products of our step and nothing
else (peers/products.py), where they are defined simply. Ours and the limit are in the given precision, the peers always
in float32. A peer is left out where it does not have the attention. OpenNMT-py's coverage_attn is none: it sums the
looks for a loss, but no energy sees the sum.
differences: our bahdanau attends before the update and feeds the context, the peers' attends after it and feeds the
attention vector, as our `concat-feeding` does. OpenNMT-py's recurrent encoder has half the width (its directions share
one size), and ours too for `dot` and `scaled_dot`, which compare states of equal size. Ours keeps its readout for
`none`, where OpenNMT-py has none. The Transformers are alike, norms first with one behind each stack, sinusoidal
positions, the target's embedding tied to the vocabulary, no dropout, and equal in their parameters, but that JoeyNMT's
attentions have biases, and its vocabulary none; the peers' attentions are products and a softmax on a CPU, ours is one
function of torch. `parameters` counts what is learned.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from growth import growth
from machine import keep, show
from side_by_side import LIMIT, SIZES, Options, brief, compared, cores, in_turn, interpreters, parser, started

from cases import ATTENTIONS, LIMITED, LOOPS  # isort: skip (in the folder that side_by_side adds)

CASE = ("sizes", "attention", "length", "precision", "device", "threads")
"""What a measurement is of."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--attentions", nargs="+", choices=ATTENTIONS, default=ATTENTIONS)
    options.add_argument("--lengths", type=int, nargs="+", default=[10, 25, 50, 100], help="words a sentence")
    options.add_argument("--threads", type=int, nargs="+", default=[1])
    arguments = options.parse_args()

    rows, fits = [], []
    for attention in arguments.attentions:
        found = _measured(arguments, attention)
        keep("train", found, by=(*CASE, "clock"), folder=arguments.results)
        rows += found
        if len(arguments.lengths) > 2:
            fitted = growth(found, CASE)
            keep("train_lengths", fitted, by=[name for name in CASE if name != "length"], folder=arguments.results)
            fits += fitted
    show([brief(row, ("attention", "length", "threads")) for row in rows])
    if fits:
        show([{name: value for name, value in fit.items() if name not in CASE or name == "attention"} for fit in fits])


def _measured(arguments: argparse.Namespace, attention: str) -> list[dict[str, object]]:
    clock = "cpu" if arguments.threads == [1] and arguments.device == "cpu" else "wall"
    batch = SIZES[arguments.sizes].batch
    systems = [system for threads in arguments.threads for system in _systems(arguments, attention, threads)]
    rows = []
    with ExitStack() as stack:
        workers = started(systems, stack)
        for length in sorted(arguments.lengths):
            print(f"{arguments.sizes}, {attention}, {length} words", file=sys.stderr, flush=True)
            question = {"batch": batch, "source": length, "target": length}
            answers = in_turn(workers, question, arguments.rounds)
            for threads in arguments.threads:
                case = (arguments.sizes, attention, length, arguments.precision, arguments.device, threads)
                of = {
                    name: found
                    for (name, _, options), found in zip(systems, answers, strict=True)
                    if len(options.cores) == threads
                }
                compared_rows = compared(dict(zip(CASE, case, strict=True)), of, clock, tokens=batch * length)
                for row in compared_rows:
                    losses = of[str(row["system"])][-1]
                    row["loss"] = "" if row["system"] == LIMIT else round(losses["loss"], 5)
                rows += compared_rows
    return rows


def _systems(arguments: argparse.Namespace, attention: str, threads: int) -> Iterator[tuple[str, str, Options]]:
    """Names, interpreters and options of the workers."""

    def options(system: str, fast: bool = True, fused: bool = True) -> Options:
        return Options(
            system,
            "train",
            arguments.sizes,
            attention,
            arguments.precision,
            arguments.device,
            cores(threads),
            fast,
            fused,
        )

    yield "lookback", sys.executable, options("lookback")
    yield "not fused", sys.executable, options("lookback", fused=False)
    if attention in LOOPS:
        yield "plain", sys.executable, options("lookback", fast=False)
    for peer, python in interpreters(arguments, attention).items():
        yield peer, python, options(peer)
    if attention in LIMITED:
        yield LIMIT, sys.executable, options(LIMIT)


if __name__ == "__main__":
    main()
