"""What any system wrote for a test set, as a run of a comparison: plain files, a sentence a line."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lookback.common.errors import InputError
from lookback.common.fingerprint import text_fingerprint
from lookback.common.words import words
from lookback.data.corpora.lines import check_file, read_lines
from lookback.evaluation import count, results
from lookback.runs import COST, TRAINING_DATA, Prediction, Run, write_predictions
from lookback.runs.provenance import versions


def output_runs(
    systems: Mapping[str, Path | str],
    source: Path | str,
    reference: Path | str,
    out: Path | str,
    bleu_tokenize: str = "13a",
) -> list[Run]:
    """A run for each system: its translations of ``source`` scored against ``reference``.

    Files are UTF-8, plain or .gz; line N of each is sentence N. Predictions and counts go to ``out``/systems/NAME.
    There is no cost, no alignment and no seed. Systems stand in one table with run directories that have the same test
    set, scored with the same tokenizer of sacrebleu, ``bleu_tokenize``.

    Raises InputError for a file that cannot be read, a number of lines that is not the source's, and an empty line of
    source or reference; a system may have written nothing.
    """
    if not systems:
        raise InputError("systems={}: expected a name and a file for each, such as systems='{mine: mine.fr}'")
    for name in systems:
        # a folder has this name, and nothing is to be written outside of it
        if not name or not name.isprintable() or name != name.strip(" .") or set(name) & set("/\\:"):
            raise InputError(f"systems.{name!r}: expected a name without / \\ : and with no dot or space at its ends")
    sources = _lines("source", source)
    references = _lines("reference", reference, len(sources), source)
    for key, path, texts in (("source", source, sources), ("reference", reference, references)):
        for number, text in enumerate(texts, start=1):
            if not text.strip():
                raise InputError(f"{key}: {path}:{number}: an empty line; expected a sentence")
    # all files before any is scored: a mistake in the last one is said at once
    written = {name: _lines(f"systems.{name}", path, len(sources), source) for name, path in systems.items()}
    fingerprint = text_fingerprint([sources, references])
    return [
        _run(name, hypotheses, sources, references, fingerprint, out, bleu_tokenize)
        for name, hypotheses in written.items()
    ]


def compare_outputs(
    systems: Mapping[str, Path | str],
    source: Path | str,
    reference: Path | str,
    out: Path | str = "comparison",
    bleu_tokenize: str = "13a",
    baseline: str | None = None,
) -> list[Path]:
    """Compare what systems wrote for one test set: tables, tests, charts and a page in ``out``; the paths written.

    baseline: the system that the others are compared with; None: the first. Raises InputError as `output_runs` does.
    """
    from lookback.report import compare

    runs = output_runs(systems, source, reference, out, bleu_tokenize)
    return compare(runs, out, baseline=baseline or next(iter(systems)))


def _run(
    name: str,
    hypotheses: Sequence[str],
    sources: Sequence[str],
    references: Sequence[str],
    fingerprint: str,
    out: Path | str,
    bleu_tokenize: str,
) -> Run:
    predictions = [
        Prediction(i, source, reference, hypothesis, math.nan, len(words(source)), truncated=False)
        for i, (source, reference, hypothesis) in enumerate(zip(sources, references, hypotheses, strict=True))
    ]
    counts = count(predictions, bleu_tokenize)
    record = results(
        predictions,
        bleu_tokenize,
        attention=name,
        seed=0,
        data="text",
        perplexity=np.inf,
        aer=None,
        attention_by_length=None,
        convergence=None,
        cost=dict.fromkeys(COST),  # type: ignore[arg-type]
        training_data=dict.fromkeys(TRAINING_DATA),  # type: ignore[arg-type]
        versions=versions(),
        git=None,
        data_fingerprint=fingerprint,
        segments=counts,
    )
    directory = Path(out) / "systems" / name
    write_predictions(directory / "test" / "predictions.jsonl", predictions)
    counts.save(directory / "test" / "segments.npz")
    return Run(directory, name, None, "finished", None, record, {})


def _lines(key: str, path: Path | str, expected: int | None = None, like: Path | str = "") -> list[str]:
    check_file(Path(path))
    lines = list(read_lines(Path(path)))
    if not lines:
        raise InputError(f"{key}={path}: no lines; expected a sentence a line")
    if expected is not None and len(lines) != expected:
        raise InputError(f"{key}={path}: {len(lines):,} lines, expected {expected:,}, as in {like}")
    return lines
