"""`test/results.json`: the numbers of one run, and the only description of what they mean."""

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lookback.common.errors import InputError


class Field(NamedTuple):
    """What one key of results.json holds."""

    kind: type
    nullable: bool
    meaning: str


SCHEMA_VERSION = 4

SCHEMA: dict[str, Field] = {
    "schema": Field(int, False, "version of this description: 4"),
    "attention": Field(str, False, "name of the attention, as typed: attention=bahdanau"),
    "seed": Field(int, False, "the run's one seed"),
    "data": Field(str, False, "name of the corpus, as typed: data=grammar"),
    "bleu": Field(float, True, "corpus BLEU of the test set, 0..100; null for an empty test set"),
    "signature": Field(str, False, "sacrebleu's signature of `bleu`; runs that differ in it are never ranked together"),
    "chrf": Field(float, True, "corpus chrF2, 0..100, sacrebleu's defaults; null for an empty test set"),
    "ter": Field(float, True, "corpus translation edit rate in percent, lower is better, sacrebleu's defaults"),
    "perplexity": Field(float, True, "teacher-forced, exp of the unsmoothed loss per target token; null if not finite"),
    "length_ratio": Field(float, True, "hypothesis over reference tokens; null without reference tokens"),
    "truncated": Field(int, False, "sentences whose search met its length limit before the end mark"),
    "by_length": Field(list, False, "a bucket of source lengths each (see BUCKET), shortest first, none left out"),
    "by_equal_count": Field(
        list, True, "the same for up to six buckets of nearly equally many sentences, the last one closed"
    ),
    "half_length": Field(float, True, "source words where BLEU falls to half of its best; null if it never does"),
    "half_length_ci": Field(
        list, True, "[low, high]: its 95 % percentile bootstrap interval over sentences; high null beyond all lengths"
    ),
    "retention": Field(float, True, "BLEU of the longest bucket with n >= 50 over the best; null with fewer than two"),
    "retention_ci": Field(list, True, "[low, high]: its 95 % percentile bootstrap interval over sentences"),
    "aer": Field(dict, True, "alignment error rate (see AER); null without gold alignments, or attention"),
    "attention_by_length": Field(
        list, True, "how the attention looks, a record a bucket of by_length (see ATTENTION); null if it looks nowhere"
    ),
    "position_recall": Field(
        list, True, "where words are lost, a record a bucket of by_length (see POSITION); null without gold alignments"
    ),
    "convergence": Field(dict, True, "how much validation BLEU rose at last (see CONVERGENCE); null if not known"),
    "agreement": Field(
        list,
        True,
        "accuracy of words that agree, by distance (see AGREEMENT); null where the corpus does not name them",
    ),
    "training_data": Field(dict, False, "what the run was trained on (see TRAINING_DATA)"),
    "cost": Field(dict, False, "what the run took (see COST)"),
    "versions": Field(dict, False, "versions of Python and the libraries that matter"),
    "git": Field(str, True, "commit of the working copy; null outside one"),
    "data_fingerprint": Field(str, False, "hash of the test set's raw text; runs are ranked only where it is equal"),
}

BUCKET: dict[str, Field] = {
    "lo": Field(int, False, "shortest source in the bucket, words of the raw source"),
    "hi": Field(int, True, "longest source; null for the last bucket, which is open"),
    "n": Field(int, False, "sentences; where it is 0 the scores are null"),
    "bleu": Field(float, True, "corpus BLEU inside the bucket, 0..100, over the n-gram orders that the bucket has"),
    "ci": Field(list, True, "[low, high]: 95 % percentile bootstrap interval of `bleu` over sentences"),
    "bleu_no_bp": Field(float, True, "`bleu` without brevity penalty"),
    "chrf": Field(float, True, "corpus chrF2 inside the bucket, 0..100"),
    "ter": Field(float, True, "corpus translation edit rate inside the bucket, in percent"),
    "length_ratio": Field(float, True, "hypothesis over reference tokens"),
    "omitted": Field(float, True, "words of the references that the translations lack, in percent (clipped counts)"),
    "repeated": Field(
        float, True, "words written more often than once and than in the reference, in percent of the translations'"
    ),
    "truncated": Field(int, False, "sentences whose search met its length limit"),
}

AER: dict[str, Field] = {
    "sentences": Field(int, False, "test sentences with a gold alignment"),
    "shift_0": Field(dict, False, "links to the most looked-at source word (see LINKS)"),
    "shift_-1": Field(dict, False, "the same, read off one target word earlier (see LINKS)"),
}

LINKS: dict[str, Field] = {
    "aer": Field(float, True, "1 - (links that are sure + links that are possible) / (links + sure links), 0..1"),
    "precision": Field(float, True, "share of the links that are possible, 0..1"),
    "recall": Field(float, True, "share of the sure links that were found, 0..1"),
}

ATTENTION: dict[str, Field] = {
    "lo": Field(int, False, "shortest source in the bucket, words of the raw source"),
    "hi": Field(int, True, "longest source; null for the last bucket, which is open"),
    "n": Field(int, False, "sentences; where it is 0 the means are null"),
    "entropy": Field(float, True, "mean over sentences, as `lookback.evaluation.alignment.diagnostics` defines it"),
    "sharpness": Field(float, True, "the same"),
    "coverage": Field(float, True, "the same"),
    "monotonicity": Field(float, True, "the same"),
    "diagonality": Field(float, True, "the same"),
}

POSITION: dict[str, Field] = {
    "lo": Field(int, False, "shortest source in the bucket, words of the raw source"),
    "hi": Field(int, True, "longest source; null for the last bucket, which is open"),
    "n": Field(int, False, "sentences with gold links"),
    "recall": Field(
        list, False, "share, 0..1, that the translations have of the words linked to each fifth of the source, in order"
    ),
    "ci": Field(list, False, "[low, high] of each: 95 % percentile bootstrap interval over sentences"),
    "chance": Field(list, False, "the same shares of the translations of other sentences: what is there by chance"),
}
"""Numbers are null where nothing is linked; `lookback.evaluation.scores.recall` says what is counted."""

CONVERGENCE: dict[str, Field] = {
    "validation_bleu": Field(float, False, "validation BLEU, 0..100, at the last validation of the training"),
    "validation_perplexity": Field(float, True, "lowest validation perplexity of the training"),
    "rise": Field(
        float,
        True,
        "validation_bleu minus validation BLEU at since_update, interpolated between two validations; null where none "
        "is as early",
    ),
    "since_update": Field(int, False, "where the last fifth begins: four fifths of `updates`, rounded down"),
    "updates": Field(int, False, "updates behind the last validation"),
}

AGREEMENT: dict[str, Field] = {
    "lo": Field(int, False, "fewest source words between a word and the noun or pronoun that it agrees with"),
    "hi": Field(int, True, "most; null for the last bucket, which is open"),
    "n": Field(int, False, "words right or wrong, as `lookback.evaluation.scores.agreement` defines it"),
    "accuracy": Field(float, True, "share of them that is right, 0..1; null where n is 0"),
    "ci": Field(list, True, "[low, high]: its 95 % percentile bootstrap interval over sentences"),
    "missing": Field(float, True, "share of the judged words, 0..1, that the translations have in no form"),
}

COST: dict[str, Field] = {
    "parameters": Field(int, True, "trained numbers in the model"),
    "updates": Field(int, True, "optimizer steps"),
    "target_tokens": Field(int, True, "target tokens trained on, end marks included, padding not"),
    "seconds": Field(float, True, "wall-clock seconds of training"),
    "tokens_per_second": Field(float, True, "target tokens a second of training"),
    "peak_memory_mb": Field(float, True, "peak memory in 10^6 bytes; null where it is not measured"),
    "waiting": Field(float, True, "share of the seconds, 0..1, from the end of a batch to the start of the next"),
}

# null: not known, as the counts of a stream
TRAINING_DATA: dict[str, Field] = {
    "pairs": Field(int, True, "pairs that are trained on"),
    "dropped": Field(dict, True, "reason: pairs left out for it, each pair under its first reason"),
    "overlap": Field(
        dict, True, "test pairs that are training pairs too (pairs), or share a source with one (sources)"
    ),
    "source_tokens": Field(int, True, "source tokens of an epoch, end marks included, padding not"),
    "target_tokens": Field(int, True, "target tokens of an epoch, end marks included, padding not"),
    "source_unknown": Field(
        float, True, "share of the source's tokens, 0..1, that are unknown words; marks not counted"
    ),
    "target_unknown": Field(float, True, "the same of the target"),
    "source_vocabulary": Field(int, True, "different ids of the source, the four symbols included"),
    "target_vocabulary": Field(int, True, "the same of the target"),
    "padding_waste": Field(float, True, "share of an epoch's token slots, 0..1, that is padding"),
}


NEW_IN_4 = ("position_recall", "convergence", "agreement")
"""Keys that files of version 3 do not hold"""


def check_results(record: Any, where: str = "results.json") -> None:
    """Raise `InputError` for the first key that is missing, unknown (with the nearest spelling) or of a wrong type.

    `where` opens the message: the file that the record was read from.
    """
    _check(record, SCHEMA, where)
    if record["schema"] != SCHEMA_VERSION:
        raise InputError(f"{where}: schema {record['schema']}; this version of lookback reads {SCHEMA_VERSION}")
    buckets = {"by_length": BUCKET, "by_equal_count": BUCKET}
    buckets |= {"attention_by_length": ATTENTION, "position_recall": POSITION, "agreement": AGREEMENT}
    for name, fields in buckets.items():
        for index, bucket in enumerate(record[name] or []):
            _check(bucket, fields, f"{where}: {name}[{index}]")
    if record["aer"] is not None:
        _check(record["aer"], AER, f"{where}: aer")
        for name in ("shift_0", "shift_-1"):
            _check(record["aer"][name], LINKS, f"{where}: aer: {name}")
    if record["convergence"] is not None:
        _check(record["convergence"], CONVERGENCE, f"{where}: convergence")
    _check(record["cost"], COST, f"{where}: cost")
    _check(record["training_data"], TRAINING_DATA, f"{where}: training_data")


def read_results(path: Path | str) -> dict[str, Any]:
    """Read and check a results.json. Raises `InputError` with the file for anything else.

    A file of version 1 to 3 is read as one of this version, with null for what it does not hold.
    """
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; expected a results.json") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    record = _upgraded(record)
    check_results(record, str(path))
    return record


def _upgraded(record: Any) -> Any:
    """A record of an earlier version with what has been added since; anything else as it is."""
    if not isinstance(record, dict) or record.get("schema") not in range(1, SCHEMA_VERSION):
        return record
    if record["schema"] == 1 and isinstance(record.get("cost"), dict):
        record = {**record, "training_data": dict.fromkeys(TRAINING_DATA), "cost": {**record["cost"], "waiting": None}}
    if record["schema"] < 3:
        record = _in_buckets(record, ("chrf", "ter"))
        record |= dict.fromkeys(("by_equal_count", "half_length_ci", "retention_ci", "attention_by_length"))
    record = _in_buckets(record, ("omitted", "repeated"))
    return {**record, **dict.fromkeys(NEW_IN_4), "schema": SCHEMA_VERSION}


def _in_buckets(record: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """The record with null under these keys of each of its buckets; what is no list of buckets stays as it is."""
    found = {name: record.get(name) for name in ("by_length", "by_equal_count")}
    curves = {
        name: [{**bucket, **dict.fromkeys(keys)} for bucket in curve]
        for name, curve in found.items()
        if isinstance(curve, list) and all(isinstance(bucket, dict) for bucket in curve)
    }
    return {**record, **curves}


def _check(record: Any, fields: Mapping[str, Field], where: str) -> None:
    if not isinstance(record, dict):
        raise InputError(f"{where}: found {type(record).__name__}, expected an object with {', '.join(fields)}")
    for key in record:
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1, cutoff=0)
            raise InputError(f"{where}: unknown key {key!r}; did you mean {near[0]!r}?")
    for key, (kind, nullable, meaning) in fields.items():
        if key not in record:
            raise InputError(f"{where}: no key {key!r} ({meaning})")
        value = record[key]
        allowed = (int, float) if kind is float else kind
        if value is None and nullable:
            continue
        if not isinstance(value, allowed) or isinstance(value, bool):
            expected = kind.__name__ + (" or null" if nullable else "")
            raise InputError(f"{where}: {key}={value!r}, expected {expected} ({meaning})")
