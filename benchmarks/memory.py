"""Whether the memory of a training grows with the shapes that its batches have.

    python benchmarks/memory.py                            # 5,000 updates in bfloat16, as train.py trains
    python benchmarks/memory.py --unbounded --updates 500  # with the caches of kernels as large as torch makes them
    python benchmarks/memory.py --keep                     # the rows to benchmarks/results/memory.csv

The default network takes batches of 2,500 tokens. Sentences have 5 to 60 words, so hardly two batches have one shape.
"""

import argparse
import random
import sys
import time
from pathlib import Path

import hydra
import torch
from machine import RESULTS, keep, show

from lookback.commands.launch import config_directory
from lookback.nn import Seq2Seq
from lookback.nn.kernels.caches import bound_kernel_caches
from lookback.translation.build import build_model

WORDS, TOKENS, VOCABULARY = (5, 60), 2500, 2000


def batch(chance: random.Random) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
    """Source, lengths, target and number of target tokens of sentences that have about one length."""
    longest = chance.randint(*WORDS)
    target_longest = max(3, longest + chance.randint(-4, 6))
    sentences = max(2, TOKENS // max(longest, target_longest))
    lengths = [max(2, longest - chance.randint(0, 2)) for _ in range(sentences - 1)]
    lengths = torch.tensor([longest, *sorted(lengths, reverse=True)])
    kept = torch.tensor([target_longest, *(target_longest - chance.randint(0, 2) for _ in range(sentences - 1))])
    source = torch.randint(4, VOCABULARY, (sentences, longest))
    target = torch.randint(4, VOCABULARY, (sentences, target_longest + 1))
    source[torch.arange(longest) >= lengths[:, None]] = 0
    target[torch.arange(target_longest + 1) > kept[:, None]] = 0
    return source, lengths, target, int(kept.sum())


def peak_mb() -> float:
    """The most memory that this process has had, in 10^6 bytes."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--updates", type=int, default=5000)
    options.add_argument("--precision", choices=("bf16-mixed", "32-true"), default="bf16-mixed")
    options.add_argument("--unbounded", action="store_true", help="the caches of kernels as large as torch makes them")
    options.add_argument("--keep", action="store_true", help="the rows in place of the last ones of their kind")
    options.add_argument("--results", type=Path, help="keep them in this folder")
    options.add_argument("overrides", nargs="*", help="settings of the network, such as attention=dot")
    arguments = options.parse_args()
    if not arguments.unbounded:
        bound_kernel_caches()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    with hydra.initialize_config_dir(str(config_directory()), version_base="1.3"):
        config = hydra.compose("train", ["trainer.accelerator=cpu", *arguments.overrides])
    model: Seq2Seq = build_model(config, VOCABULARY, VOCABULARY)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    chance, shapes, rows, started = random.Random(1), set(), [], time.process_time()
    for update in range(1, arguments.updates + 1):
        source, lengths, target, tokens = batch(chance)
        shapes.add((*source.shape, target.shape[1]))
        with torch.autocast("cpu", torch.bfloat16, enabled=arguments.precision == "bf16-mixed"):
            loss = model(source, lengths, target, 0.0, tokens).loss / tokens
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if update % (arguments.updates // 10) == 0:
            rows.append(
                {
                    "precision": arguments.precision,
                    "caches": "unbounded" if arguments.unbounded else "bounded",
                    "updates": update,
                    "shapes": len(shapes),
                    "peak_mb": round(peak_mb()),
                    "cpu_seconds": round(time.process_time() - started),
                }
            )
            print(f"update {update:,} of {arguments.updates:,}: {peak_mb():,.0f} MB", file=sys.stderr, flush=True)
    show(rows)
    if arguments.keep or arguments.results:
        keep("memory", rows, by=["precision", "caches"], folder=arguments.results or RESULTS)


if __name__ == "__main__":
    main()
