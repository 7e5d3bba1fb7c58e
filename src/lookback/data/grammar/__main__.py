"""Generates the default corpus again. Run it after a change to the grammar, and commit the files that it writes."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq

from lookback.data.grammar.corpus import READY, GrammarCorpus


def make_ready(corpus: GrammarCorpus, folder: Path) -> Path:
    """Generate a corpus into ``folder``, in place of its present content."""
    partial = folder.with_name(f".{folder.name}")
    shutil.rmtree(partial, ignore_errors=True)
    made = partial / corpus.ready.name
    made.mkdir(parents=True)
    for split, pairs in corpus.generated().items():
        pq.write_table(pairs.data.table, made / f"{split}.parquet", compression="zstd", compression_level=19)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return folder / made.name


if __name__ == "__main__":
    print(make_ready(GrammarCorpus(), READY))
