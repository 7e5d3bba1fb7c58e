"""OpenNMT-py's own preparation of two text files, timed. Runs in OpenNMT-py's environment; data_prepare.py starts it.

    python opennmt_prepare.py SOURCE TARGET VOCABULARY_SIZE MAX_LENGTH

vocabulary: `onmt_build_vocab` over all pairs, one thread: read, split, filter by length, count, write.
ids: what `onmt_train` does in its first epoch before the model sees anything: load the vocabularies, then one pass of
its dynamic iterator over all pairs (read, split, filter, look up, sort in buckets, pad), without a worker.

Prints one JSON line. Imports are not timed.
"""

# ruff: noqa: E402 (what is stubbed must be stubbed before the peer is imported)

import json
import resource
import sys
import tempfile
import time
import types
from pathlib import Path

# optional packages that it imports and does not use here
for name in ("spacy", "fasttext", "ahocorasick"):
    sys.modules.setdefault(name, types.ModuleType(name))

import onmt.inputters.dynamic_iterator as dynamic_iterator
from onmt import opts
from onmt.bin import build_vocab as build_vocab_command
from onmt.inputters.inputter import build_vocab
from onmt.transforms import get_specials, get_transforms_cls
from onmt.utils.misc import set_random_seed
from onmt.utils.parse import ArgumentParser

# training's mixer never ends; its other one passes over the corpus once and is the same otherwise
dynamic_iterator.WeightedMixer = dynamic_iterator.SequentialMixer


def main() -> None:
    source, target, vocabulary_size, max_length = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(
            f"data:\n  corpus:\n    path_src: {source}\n    path_tgt: {target}\n"
            f"    transforms: [filtertoolong]\n    weight: 1\n"
            f"src_seq_length: {max_length}\ntgt_seq_length: 1000000\n"
        )
        vocabularies = ["-src_vocab", f"{folder}/vocab.src", "-tgt_vocab", f"{folder}/vocab.tgt"]
        common = ["-config", str(config), *vocabularies]

        sys.argv[1:] = [*common, "-save_data", f"{folder}/x", "-n_sample", "-1", "-num_threads", "1", "-overwrite"]
        start, cpu = time.perf_counter(), time.process_time()
        build_vocab_command.main()
        vocabulary = time.perf_counter() - start

        parser = ArgumentParser()
        opts.train_opts(parser)
        sizes = ["-src_vocab_size", vocabulary_size, "-tgt_vocab_size", vocabulary_size]
        batches = ["-batch_size", "64", "-batch_type", "sents", "-num_workers", "0"]
        options, _ = parser.parse_known_args([*common, *sizes, *batches, "-save_model", f"{folder}/m"])
        ArgumentParser.validate_prepare_opts(options)
        ArgumentParser.validate_train_opts(options)
        ArgumentParser.update_model_opts(options)
        set_random_seed(1, False)
        transforms = get_transforms_cls(options._all_transform)
        vocabularies = build_vocab(options, get_specials(options, transforms))
        kept = 0
        for batch, _ in dynamic_iterator.build_dynamic_dataset_iter(options, transforms, vocabularies, copy=False):
            kept += len(batch["srclen"])
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        with open(source, "rb") as lines:
            pairs = sum(1 for _ in lines)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    phases = {"vocabulary": vocabulary, "ids": seconds - vocabulary}
    report = {"pairs": pairs, "kept": kept, "seconds": seconds, "cpu_seconds": cpu, "phases": phases, "peak_mib": peak}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
