"""How fast search is: ours beside JoeyNMT, OpenNMT-py and the machine's limit.

    python benchmarks/decode.py --joeynmt PYTHON --opennmt PYTHON
    python benchmarks/decode.py --batches 32 --beams 5 --precision bfloat16 --joeynmt PYTHON --opennmt PYTHON
    python benchmarks/decode.py --attentions transformer --batches 32 --beams 1 5 --joeynmt PYTHON --opennmt PYTHON
    python benchmarks/decode.py --attentions general bahdanau local_m local_p --batches 32 --beams 1 5 --source 400

Greedy search (a beam of 1) and beam search of random sentences by models with random weights, for a fixed number of
steps: the end mark is ruled out, by its bias in ours and by the least length in the peers. Environments, sizes, clocks,
turns and the limit are those of train.py. Ours keeps the alignments always. JoeyNMT's greedy search keeps a recurrent
model's; its beam search has none to give; OpenNMT-py's search fails where it is asked to keep them. Of a Transformer
ours and OpenNMT-py keep keys and values of the words so far; JoeyNMT computes them again at each step.

`same_outputs` is the share of sentences whose words are those of a textbook's search (peers/plain_search.py) by the
same model in float32.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from machine import keep, show
from side_by_side import LIMIT, Options, Worker, brief, compared, cores, in_turn, interpreters, parser, started

from cases import ATTENTIONS, LIMITED  # isort: skip (in the folder that side_by_side adds)

CASE = ("sizes", "attention", "precision", "device", "threads", "source", "steps", "beam", "batch")
"""What a measurement is of."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--attentions", nargs="+", choices=ATTENTIONS, default=["bahdanau"])
    options.add_argument("--beams", type=int, nargs="+", default=[1, 5, 10])
    options.add_argument("--batches", type=int, nargs="+", default=[1, 32, 256], help="sentences at a time")
    options.add_argument("--source", type=int, default=25, help="words of a source sentence")
    options.add_argument("--steps", type=int, default=50, help="words of a translation")
    options.add_argument("--threads", type=int, default=1)
    arguments = options.parse_args()

    rows = []
    for attention in arguments.attentions:
        with ExitStack() as stack:
            *workers, reference = started(_systems(arguments, attention), stack)
            for batch in sorted(arguments.batches):
                for beam in sorted(arguments.beams):
                    case = f"{arguments.sizes}, {attention}, {batch} sentences, beam {beam}"
                    print(case, file=sys.stderr, flush=True)
                    found = _measured(arguments, attention, batch, beam, workers, reference)
                    keep("decode", found, by=(*CASE, "clock"), folder=arguments.results)
                    rows += found
    show([{**brief(row, ("attention", "batch", "beam")), "same outputs": row["same_outputs"]} for row in rows])


def _systems(arguments: argparse.Namespace, attention: str) -> Iterator[tuple[str, str, Options]]:
    """Names, interpreters and options of the workers; the last is what ours is held against."""
    yield "lookback", sys.executable, _options(arguments, "lookback", attention, arguments.precision)
    for peer, python in interpreters(arguments, attention).items():
        yield peer, python, _options(arguments, peer, attention, arguments.precision)
    if attention in LIMITED:
        yield LIMIT, sys.executable, _options(arguments, LIMIT, attention, arguments.precision)
    yield "plain", sys.executable, _options(arguments, "lookback", attention, "float32", fast=False)


def _options(arguments: argparse.Namespace, system: str, attention: str, precision: str, fast: bool = True) -> Options:
    return Options(
        system,
        "decode",
        arguments.sizes,
        attention,
        precision,
        arguments.device,
        cores(arguments.threads),
        fast,
    )


def _measured(
    arguments: argparse.Namespace, attention: str, batch: int, beam: int, workers: list[Worker], reference: Worker
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

    given = {**vars(arguments), "attention": attention, "beam": beam, "batch": batch}
    case = {name: given[name] for name in CASE}
    clock = "cpu" if arguments.threads == 1 and arguments.device == "cpu" else "wall"
    rows = compared(case, of, clock, tokens=batch * arguments.steps)
    for row in rows:
        row["same_outputs"] = round(same, 3) if row["system"] == "lookback" else ""
    return rows


if __name__ == "__main__":
    main()
