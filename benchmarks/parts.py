"""Where a training step's time goes: its parts, each beside its own matrix products.

    python benchmarks/parts.py
    python benchmarks/parts.py --precisions float32 --attentions bahdanau --lengths 25

Ours and the limit are those of train.py (sizes, options, random words), here in one process of one thread, in turn. A
part runs forward and backward by itself: the next part's gradient is random numbers. `encoder`: embedding and both
directions. `decoder`: keys, the loop over the target, readout. `loss`: the projection to the vocabulary and the
cross-entropy. `optimizer`: Adam, fused, and the gradients set back; it has no products. Milliseconds of the processor,
the median of the rounds. `of_limit`: the share of a part that its products alone would take; `share`: of the step.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import torch
from machine import RESULTS, keep, show
from side_by_side import SIZES, Options, cores
from torch import Tensor

from cases import BOS, EOS, FIRST_WORD, LIMITED  # isort: skip (in the folder that side_by_side adds)
from lookback_model import Lookback  # isort: skip
from products import limit as limit_of  # isort: skip

from lookback.nn.loss import projected_cross_entropy
from lookback.nn.memory import Memory

PARTS = ("encoder", "decoder", "loss", "optimizer")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sizes", choices=SIZES, default="small")
    options.add_argument("--attentions", nargs="+", choices=LIMITED, default=["bahdanau"])
    options.add_argument(
        "--precisions", nargs="+", choices=("float32", "medium", "bfloat16"), default=["float32", "bfloat16"]
    )
    options.add_argument("--lengths", type=int, nargs="+", default=[25, 100])
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV (default: %(default)s)")
    arguments = options.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores(1))
    torch.set_num_threads(1)
    rows = []
    for attention in arguments.attentions:
        for precision in arguments.precisions:
            for length in arguments.lengths:
                print(f"{attention}, {precision}, {length} words", file=sys.stderr, flush=True)
                rows += _measured(arguments.sizes, attention, precision, length, arguments.rounds)
    keep("parts", rows, by=("sizes", "attention", "precision", "length"), folder=arguments.results)
    show([{name: row[name] for name in row if name not in ("sizes", "rounds")} for row in rows])


def _measured(sizes: str, attention: str, precision: str, length: int, rounds: int) -> Iterator[dict[str, object]]:
    torch.set_float32_matmul_precision("highest")  # `medium` sets another, and every case begins alike
    torch.manual_seed(0)
    options = Options("lookback", "train", sizes, attention, precision, "cpu", [0])
    step, limit = Step(options, length), limit_of(options)
    batch = SIZES[sizes].batch
    ways: dict[tuple[str, str], Callable[[], object]] = {
        ("ours", "encoder"): step.encoder,
        ("limit", "encoder"): lambda: limit.encoder_products(batch, length),
        ("ours", "decoder"): step.decoder,
        ("limit", "decoder"): lambda: limit.decoder_products(batch, length, length),
        ("ours", "loss"): step.loss,
        ("limit", "loss"): lambda: limit.loss_products(batch, length),
        ("ours", "optimizer"): step.optimizer,
    }
    taken: dict[tuple[str, str], list[float]] = {way: [] for way in ways}
    for turn in range(rounds + 1):
        for way, work in ways.items():
            start = time.process_time()
            work()
            if turn:  # the first warms up
                taken[way].append(1000 * (time.process_time() - start))
    ms = {way: statistics.median(found) for way, found in taken.items()}
    whole = sum(ms["ours", part] for part in PARTS)
    for part in PARTS:
        least = ms.get(("limit", part), 0.0)
        yield {
            "sizes": sizes,
            "attention": attention,
            "precision": precision,
            "length": length,
            "rounds": rounds,
            "part": part,
            "ms": round(ms["ours", part], 1),
            "limit_ms": round(least, 1),
            "of_limit": round(least / ms["ours", part], 2),
            "share": round(ms["ours", part] / whole, 2),
        }


class Step:
    """The parts of one training step, each by itself."""

    def __init__(self, options: Options, length: int) -> None:
        sizes = SIZES[options.sizes]
        self.ours = Lookback(options)
        self.narrow = torch.bfloat16 if options.precision == "bfloat16" else torch.float32
        self.source = torch.randint(FIRST_WORD, sizes.vocabulary, (sizes.batch, length))
        self.target = torch.randint(FIRST_WORD, sizes.vocabulary, (sizes.batch, length + 1))
        self.target[:, 0], self.target[:, -1] = BOS, EOS
        self.lengths = torch.full((sizes.batch,), length)
        memory, vectors = self._encoded(), None
        with self._precision():
            vectors = self.ours.model.decoder.vectors(self.target[:, :-1], memory)
        self.memory = Memory(memory.states.detach(), memory.mask, memory.final.detach())
        self.vectors = vectors.detach().flatten(0, 1)
        self.d_states, self.d_final = torch.randn_like(self.memory.states), torch.randn_like(self.memory.final)
        self.d_vectors = torch.randn_like(vectors)

    def encoder(self) -> None:
        memory = self._encoded()
        torch.autograd.backward([memory.states, memory.final], [self.d_states, self.d_final])

    def decoder(self) -> None:
        memory = Memory(_leaf(self.memory.states), self.memory.mask, _leaf(self.memory.final))
        with self._precision():
            vectors = self.ours.model.decoder.vectors(self.target[:, :-1], memory)
        vectors.backward(self.d_vectors)

    def loss(self) -> None:
        vocabulary = self.ours.model.decoder.vocabulary
        with self._precision():
            result = projected_cross_entropy(
                _leaf(self.vectors), vocabulary.weight, vocabulary.bias, self.target[:, 1:].flatten()
            )
        (result.loss / result.tokens).backward()

    def optimizer(self) -> None:
        self.ours.optimizer.step()
        self.ours.optimizer.zero_grad()

    def _encoded(self) -> Memory:
        with self._precision():
            return self.ours.model.encode(self.source, self.lengths)

    def _precision(self) -> torch.autocast | nullcontext:
        return torch.autocast("cpu", torch.bfloat16) if self.narrow == torch.bfloat16 else nullcontext()


def _leaf(values: Tensor) -> Tensor:
    return values.detach().requires_grad_()


if __name__ == "__main__":
    main()
