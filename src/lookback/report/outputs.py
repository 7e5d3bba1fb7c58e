"""What any system wrote for a test set, as a run of a comparison: plain files, a sentence a line."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookback.common.errors import InputError
from lookback.common.fingerprint import text_fingerprint
from lookback.common.suggestions import listed, nearest
from lookback.common.words import has_spaced_words, words
from lookback.data.corpora.gold_alignment import BASES, Gold, read_gold
from lookback.data.corpora.lines import check_file, read_lines
from lookback.evaluation import LinkCounts, count, count_links, results
from lookback.evaluation.scores.bleu import TOKENIZERS
from lookback.report.comparison import check_baseline, compare, comparison_directory, refuse_other_runs
from lookback.report.evidence.group import named
from lookback.runs import COST, TRAINING_DATA, Aer, Links, Prediction, Run, write_predictions
from lookback.runs.provenance import versions


@dataclass(frozen=True)
class EvaluationSet:
    """What systems translated, and what they are measured by. Files are UTF-8, plain or .gz; line N is sentence N.

    Attributes:
        source: its words are the axis.
        reference: a translation of each sentence.
        gold: word links of source and reference (`lookback.data.corpora.gold_alignment.read_gold`), or None.
        alignment_base: the number of a sentence's first word in files of links, 0 or 1.
        bleu_tokenize: sacrebleu's tokenizer: 13a for raw text, none for text that is tokenised already.
    """

    source: Path | str
    reference: Path | str
    gold: Path | str | None = None
    alignment_base: int = 0
    bleu_tokenize: str = "13a"


def output_runs(
    systems: Mapping[str, Path | str],
    test_set: EvaluationSet,
    out: Path | str,
    alignments: Mapping[str, Path | str] | None = None,
) -> list[Run]:
    """A run for each system: its translations of the source, scored against the reference.

    ``alignments``: of some systems, links `i-j` of source word i and *reference* word j, in a file as the gold's; they
    have an alignment error rate. With gold links each system has the recall of source words by position. There is no
    cost and no seed. Predictions and counts go to ``out``/systems/NAME. Systems stand in one table with run directories
    that have the same test set, scored with the same tokenizer.

    Raises InputError for a file that cannot be read, a number of lines that is not the source's, and an empty line of
    source or reference; a system may have written nothing.
    """
    alignments = alignments or {}
    _check_names(systems, alignments, test_set.gold)
    if test_set.bleu_tokenize not in TOKENIZERS:
        hint = nearest(str(test_set.bleu_tokenize), list(TOKENIZERS)) or f"; expected one of {listed(list(TOKENIZERS))}"
        raise InputError(f"bleu_tokenize={test_set.bleu_tokenize}: no tokenizer of sacrebleu's{hint}")
    if test_set.alignment_base not in BASES:
        raise InputError(f"alignment_base={test_set.alignment_base}: expected 0 or 1")
    sources = _lines("source", test_set.source)
    references = _lines("reference", test_set.reference, len(sources), test_set.source)
    for key, path, texts in (("source", test_set.source, sources), ("reference", test_set.reference, references)):
        for number, text in enumerate(texts, start=1):
            if not text.strip():
                raise InputError(f"{key}: {path}:{number}: an empty line; expected a sentence")
    # all files before any is scored: a mistake in the last one is said at once
    written = {name: _lines(f"systems.{name}", path, len(sources), test_set.source) for name, path in systems.items()}
    pairs = list(zip(sources, references, strict=True))
    gold = None if test_set.gold is None else _gold(test_set.gold, pairs, test_set.alignment_base)
    aligned = {name: _gold(path, pairs, test_set.alignment_base) for name, path in alignments.items()}
    fingerprint = text_fingerprint([sources, references])
    return [
        _run(
            name,
            [
                Prediction(i, source, reference, hypothesis, math.nan, len(words(source)), truncated=False)
                for i, ((source, reference), hypothesis) in enumerate(zip(pairs, hypotheses, strict=True))
            ],
            gold,
            aligned.get(name),
            fingerprint,
            _directory(Path(out), name),
            test_set.bleu_tokenize,
        )
        for name, hypotheses in written.items()
    ]


def compare_outputs(
    systems: Mapping[str, Path | str],
    test_set: EvaluationSet,
    out: Path | str,
    alignments: Mapping[str, Path | str] | None = None,
    runs: Sequence[Run] = (),
    baseline: str | None = None,
) -> list[Path]:
    """Compare what systems wrote, and ``runs`` beside them: `lookback.report.compare` of all; the paths written.

    baseline: None: the attention `none`, where a run has it, or else the first system. Raises InputError as
    `output_runs` and `compare` do; nothing has been written then.
    """
    folder = Path(out).parent if Path(out).suffix == ".html" else Path(out)
    if folder == Path(out):
        refuse_other_runs(folder, [*(run.directory for run in runs), *(_directory(folder, name) for name in systems)])
    for run in runs:
        if run.arm in systems:
            raise InputError(f"systems.{run.arm}: the run {run.directory} has this name too; expected another one")
    check_baseline(baseline, [*runs, *named(runs)], systems)
    every = [*runs, *output_runs(systems, test_set, folder, alignments)]
    if baseline is None and not any(run.attention == "none" for run in runs):
        baseline = next(iter(systems))
    return compare(every, out, baseline=baseline)


def compare_systems(
    systems: Mapping[str, Path | str],
    source: Path | str,
    reference: Path | str,
    out: Path | str | None = None,
    bleu_tokenize: str = "13a",
    baseline: str | None = None,
    gold: Path | str | None = None,
    alignments: Mapping[str, Path | str] | None = None,
    alignment_base: int = 0,
) -> list[Path]:
    """Compare what systems wrote for one test set: tables, tests, charts and a page in ``out``; the paths written.

    baseline: the system that the others are compared with; None: the first. out: None: a new folder in comparisons/;
    one that ends in .html is the page's own path. The others are those of `EvaluationSet` and `output_runs`. Raises
    InputError as these do.
    """
    test_set = EvaluationSet(source, reference, gold, alignment_base, bleu_tokenize)
    return compare_outputs(systems, test_set, out or comparison_directory([]), alignments, baseline=baseline)


def _check_names(systems: Mapping[str, Any], alignments: Mapping[str, Any], gold: Path | str | None) -> None:
    if not isinstance(systems, Mapping):
        raise InputError(f"systems={systems!r}: expected a name and a file for each, such as {{'mine': 'mine.fr'}}")
    if not systems:
        raise InputError("systems={}: expected a name and a file for each, such as systems='{mine: mine.fr}'")
    for name in systems:
        # a folder has this name, and nothing is to be written outside of it
        if not name or not name.isprintable() or name != name.strip(" .") or set(name) & set("/\\:"):
            raise InputError(f"systems.{name!r}: expected a name without / \\ : and with no dot or space at its ends")
    for name in alignments:
        if name not in systems:
            hint = nearest(name, list(systems)) or f"; expected one of {listed(list(systems))}"
            raise InputError(f"alignments.{name}: no system has this name{hint}")
    if alignments and gold is None:
        raise InputError("alignments: nothing to compare with; expected gold=FILE beside them")


def _run(
    name: str,
    predictions: Sequence[Prediction],
    gold: Sequence[Gold | None] | None,
    aligned: Sequence[Gold | None] | None,
    fingerprint: str,
    directory: Path,
    bleu_tokenize: str,
) -> Run:
    links = None if gold is None else [each and each.sure for each in gold]
    counts = count(predictions, bleu_tokenize, links)
    record = results(
        predictions,
        bleu_tokenize,
        arm=name,
        attention=None,
        seed=None,
        data="text",
        perplexity=math.inf,
        aer=None if gold is None or aligned is None else _aer(aligned, gold),
        attention_by_length=None,
        convergence=None,
        cost=dict.fromkeys(COST),  # type: ignore[arg-type]
        training_data=dict.fromkeys(TRAINING_DATA),  # type: ignore[arg-type]
        versions=versions(),
        git=None,
        data_fingerprint=fingerprint,
        segments=counts,
    )
    write_predictions(directory / "test" / "predictions.jsonl", predictions)
    counts.save(directory / "test" / "segments.npz")
    return Run(directory, name, None, None, "finished", None, record, {})


def _gold(path: Path | str, pairs: Sequence[tuple[str, str]], base: int) -> list[Gold | None]:
    """The links of each pair; None in a script without spaces, whose words they do not count."""
    found = read_gold(path, pairs, base)
    return [links if has_spaced_words(*pair) else None for links, pair in zip(found, pairs, strict=True)]


def _aer(aligned: Sequence[Gold | None], gold: Sequence[Gold | None]) -> Aer:
    """How good the links are that a system gives; they are read at no other shift."""
    known = [(found, right) for found, right in zip(aligned, gold, strict=True) if found and right]
    total = sum((count_links(found.sure + found.possible, *right) for found, right in known), LinkCounts())
    return {
        "sentences": len(known),
        "shift_0": Links(aer=total.aer, precision=total.precision, recall=total.recall),
        "shift_-1": Links(aer=None, precision=None, recall=None),
    }


def _directory(out: Path, name: str) -> Path:
    return out / "systems" / name


def _lines(key: str, path: Path | str, expected: int | None = None, like: Path | str = "") -> list[str]:
    file = Path(path).expanduser()
    check_file(file)
    lines = list(read_lines(file))
    if expected is not None and len(lines) != expected:
        raise InputError(f"{key}={path}: {len(lines):,} lines, expected {expected:,}, as in {like}")
    return lines
