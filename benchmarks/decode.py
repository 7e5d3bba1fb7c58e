"""How fast search is: ours beside JoeyNMT, OpenNMT-py and the machine's limit.

    python benchmarks/decode.py --joeynmt PYTHON --opennmt PYTHON
    python benchmarks/decode.py --batches 32 --beams 5 --precision bfloat16 --joeynmt PYTHON --opennmt PYTHON

Greedy search (a beam of 1) and beam search of random sentences by models with random weights, for a fixed number of
steps: the end mark is ruled out, by its bias in ours and by the least length in the peers. Environments, sizes, clocks,
turns and the limit are those of train.py. Ours keeps the alignments and so does JoeyNMT's greedy search; JoeyNMT's beam
search has none to give for a recurrent model, and OpenNMT-py's search fails where it is asked to keep them.

`same_outputs` is the share of sentences whose words are those of a textbook's search (peers/plain_search.py) by the
same model in float32.
"""

import argparse
import sys
from contextlib import ExitStack

from machine import keep, show
from side_by_side import LIMIT, Options, Worker, brief, compared, cores, in_turn, interpreters, parser, started

from cases import ATTENTIONS  # isort: skip (in the folder that side_by_side adds)

CASE = ("sizes", "attention", "precision", "device", "threads", "source", "steps", "beam", "batch")
"""What a measurement is of."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--attention", choices=ATTENTIONS, default="bahdanau")
    options.add_argument("--beams", type=int, nargs="+", default=[1, 5, 10])
    options.add_argument("--batches", type=int, nargs="+", default=[1, 32, 256], help="sentences at a time")
    options.add_argument("--source", type=int, default=25, help="words of a source sentence")
    options.add_argument("--steps", type=int, default=50, help="words of a translation")
    options.add_argument("--threads", type=int, default=1)
    arguments = options.parse_args()

    peers = interpreters(arguments, arguments.attention)
    systems = [("lookback", sys.executable), *peers.items(), (LIMIT, sys.executable)]
    wanted = [(name, python, _options(arguments, name, arguments.precision)) for name, python in systems]
    plain = ("plain", sys.executable, _options(arguments, "lookback", "float32", fast=False))
    rows = []
    with ExitStack() as stack:
        *workers, reference = started([*wanted, plain], stack)
        for batch in sorted(arguments.batches):
            for beam in sorted(arguments.beams):
                print(f"{arguments.sizes}, {batch} sentences, beam {beam}", file=sys.stderr, flush=True)
                found = _measured(arguments, batch, beam, workers, reference)
                keep("decode", found, by=(*CASE, "clock"), folder=arguments.results)
                rows += found
    show([{**brief(row, ("batch", "beam")), "same outputs": row["same_outputs"]} for row in rows])


def _options(arguments: argparse.Namespace, system: str, precision: str, fast: bool = True) -> Options:
    return Options(
        system,
        "decode",
        arguments.sizes,
        arguments.attention,
        precision,
        arguments.device,
        cores(arguments.threads),
        fast,
    )


def _measured(
    arguments: argparse.Namespace, batch: int, beam: int, workers: list[Worker], reference: Worker
) -> list[dict[str, object]]:
    question = {"batch": batch, "source": arguments.source, "target": arguments.steps, "beam": beam}
    answers = in_turn(workers, question, arguments.rounds)
    of = {worker.name: found for worker, found in zip(workers, answers, strict=True)}
    outputs = {name: found[-1]["outputs"] for name, found in of.items() if name != LIMIT}
    for name, found in outputs.items():
        if {len(words) for words in found} != {arguments.steps}:
            sys.exit(f"{name}: a translation of other than {arguments.steps} words, so its work is not the others'")
    expected = reference.ask({**question, "fresh": True})["outputs"]
    same = sum(words == wanted for words, wanted in zip(outputs["lookback"], expected, strict=True)) / batch

    case = {name: getattr(arguments, name) for name in CASE if hasattr(arguments, name)}
    clock = "cpu" if arguments.threads == 1 and arguments.device == "cpu" else "wall"
    rows = compared({**case, "beam": beam, "batch": batch}, of, clock, tokens=batch * arguments.steps)
    for row in rows:
        row["same_outputs"] = round(same, 3) if row["system"] == "lookback" else ""
    return rows


if __name__ == "__main__":
    main()
