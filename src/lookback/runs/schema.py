"""The schema of `test/results.json`: every key, its type, and the only description of what it means."""

from types import UnionType
from typing import Annotated, Any, NamedTuple, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

SCHEMA_VERSION = 8

Interval = list[float]
"""[low, high]: a 95 % interval"""
OpenInterval = list[float | None]
"""[low, high]; a bound outside of the lengths that were tested is None"""


class LengthRange(TypedDict):
    """Which source lengths a bucket holds."""

    lo: Annotated[int, "shortest source in the bucket, words of the raw source"]
    hi: Annotated[int | None, "longest source; null for the last bucket, which is open"]


class Bucket(LengthRange):
    """The scores of a bucket of source lengths."""

    n: Annotated[int, "sentences; where it is 0 the scores are null"]
    bleu: Annotated[float | None, "corpus BLEU inside the bucket, 0..100, over the n-gram orders that the bucket has"]
    ci: Annotated[Interval | None, "[low, high]: 95 % percentile bootstrap interval of `bleu` over sentences"]
    bleu_no_bp: Annotated[float | None, "`bleu` without brevity penalty"]
    chrf: Annotated[float | None, "corpus chrF2 inside the bucket, 0..100"]
    ter: Annotated[float | None, "corpus translation edit rate inside the bucket, in percent"]
    length_ratio: Annotated[float | None, "hypothesis over reference tokens"]
    omitted: Annotated[float | None, "words of the references that the translations lack, in percent (clipped counts)"]
    repeated: Annotated[
        float | None,
        "words of the translations that are extra copies, beyond one and beyond the reference's count, in percent",
    ]
    repeated_trigrams: Annotated[float | None, "the same of three words in a row"]
    never_looked_at: Annotated[
        float | None,
        "source words that the translation was written without a look at, in percent; null where nothing looks: see "
        "`lookback.evaluation.scores.reading`",
    ]
    truncated: Annotated[int, "sentences whose search met its length limit"]


class Links(TypedDict):
    """How good an alignment is."""

    aer: Annotated[float | None, "1 - (links that are sure + links that are possible) / (links + sure links), 0..1"]
    precision: Annotated[float | None, "share of the links that are possible, 0..1"]
    recall: Annotated[float | None, "share of the sure links that were found, 0..1"]


Aer = TypedDict(
    "Aer",
    {
        "sentences": Annotated[int, "test sentences with a gold alignment"],
        "shift_0": Annotated[Links, "links to the most looked-at source word (see LINKS)"],
        "shift_-1": Annotated[Links, "the same, read off one target word earlier (see LINKS)"],
    },
)
"""The alignment error rate of a test set. (`shift_-1` is no name of Python's, hence this form.)"""


LookAer = TypedDict(
    "LookAer",
    {
        "look": Annotated[str, "the layer, the head, or the head of a layer: layer 2, head 3, layer 2 head 3"],
        "shift_0": Annotated[float | None, "its alignment error rate, 0..1 (see AER)"],
        "shift_-1": Annotated[float | None, "the same, read off one target word earlier"],
    },
)
"""How well one of several looks aligns: of a layer the mean of its heads."""


class AttentionBucket(LengthRange):
    """How the attention looks in a bucket of source lengths."""

    n: Annotated[int, "sentences; where it is 0 the means are null"]
    entropy: Annotated[float | None, "mean over sentences, as `lookback.evaluation.alignment.diagnostics` defines it"]
    sharpness: Annotated[float | None, "the same"]
    coverage: Annotated[float | None, "the same"]
    monotonicity: Annotated[float | None, "the same"]
    diagonality: Annotated[float | None, "the same"]


class Position(LengthRange):
    """Where words are lost in a bucket of source lengths. Numbers are None where nothing is linked.

    `lookback.evaluation.scores.recall` says what is counted.
    """

    n: Annotated[int, "sentences with gold links"]
    recall: Annotated[
        list[float | None],
        "share, 0..1, that the translations have of the words linked to each fifth of the source, in order",
    ]
    ci: Annotated[list[Interval | None], "[low, high] of each: 95 % percentile bootstrap interval over sentences"]
    chance: Annotated[
        list[float | None], "the same shares of the translations of other sentences: what is there by chance"
    ]


class Convergence(TypedDict):
    """How much validation BLEU rose at the end of a training."""

    validation_bleu: Annotated[float, "validation BLEU, 0..100, at the last validation of the training"]
    validation_perplexity: Annotated[float | None, "lowest validation perplexity of the training"]
    rise: Annotated[
        float | None,
        "validation_bleu minus validation BLEU at since_update, interpolated between two validations; null where none "
        "is as early",
    ]
    since_update: Annotated[int, "where the last fifth begins: four fifths of `updates`, rounded down"]
    updates: Annotated[int, "updates behind the last validation"]


class Agreement(TypedDict):
    """Accuracy of the words that agree with another word, in a bucket of distances."""

    lo: Annotated[int, "fewest source words between a word and the noun or pronoun that it agrees with"]
    hi: Annotated[int | None, "most; null for the last bucket, which is open"]
    n: Annotated[int, "words right or wrong, as `lookback.evaluation.scores.agreement` defines it"]
    accuracy: Annotated[float | None, "share of them that is right, 0..1; null where n is 0"]
    ci: Annotated[Interval | None, "[low, high]: its 95 % percentile bootstrap interval over sentences"]
    missing: Annotated[float | None, "share of the judged words, 0..1, that the translations have in no form"]


class Cost(TypedDict):
    """What a training took."""

    parameters: Annotated[int | None, "trained numbers in the model"]
    updates: Annotated[int | None, "optimizer steps"]
    target_tokens: Annotated[int | None, "target tokens trained on, end marks included, padding not"]
    seconds: Annotated[float | None, "wall-clock seconds of training"]
    tokens_per_second: Annotated[float | None, "target tokens a second of training"]
    peak_memory_mb: Annotated[float | None, "peak memory in 10^6 bytes; null where it is not measured"]
    waiting: Annotated[float | None, "share of the seconds, 0..1, from the end of a batch to the start of the next"]
    flops_per_token: Annotated[
        float | None,
        "floating-point operations of the matrix products of a forward pass, 25 source and 25 target tokens, over 25; "
        "null where they are not known",
    ]
    products: Annotated[str | None, "with what precision it multiplied, and why; null for another system"]


class TrainingData(TypedDict):
    """What a run was trained on. None: not known, as the counts of a stream."""

    pairs: Annotated[int | None, "pairs that are trained on"]
    dropped: Annotated[dict[str, int] | None, "reason: pairs left out for it, each pair under its first reason"]
    overlap: Annotated[
        dict[str, int] | None,
        "test pairs that are training pairs too (pairs), or share a source with one (sources)",
    ]
    source_tokens: Annotated[int | None, "source tokens of an epoch, end marks included, padding not"]
    target_tokens: Annotated[int | None, "target tokens of an epoch, end marks included, padding not"]
    source_unknown: Annotated[
        float | None, "share of the source's tokens, 0..1, that are unknown words; special tokens not counted"
    ]
    target_unknown: Annotated[float | None, "the same of the target"]
    source_vocabulary: Annotated[int | None, "different ids of the source, the four special tokens included"]
    target_vocabulary: Annotated[int | None, "the same of the target"]
    padding_waste: Annotated[float | None, "share of an epoch's token slots, 0..1, that is padding"]


class Results(TypedDict):
    """All of results.json."""

    schema: Annotated[int, "version of this description: 8"]
    arm: Annotated[str, "name of what is compared; runs of one arm differ in their seeds: names.arm"]
    attention: Annotated[str | None, "name of the attention, as typed: attention=bahdanau; null for another system"]
    seed: Annotated[int | None, "the run's one seed; null for another system"]
    data: Annotated[str, "name of the corpus, as typed: data=grammar"]
    bleu: Annotated[float | None, "corpus BLEU of the test set, 0..100; null for an empty test set"]
    signature: Annotated[str, "sacrebleu's signature of `bleu`; runs that differ in it are never ranked together"]
    chrf: Annotated[float | None, "corpus chrF2, 0..100, sacrebleu's defaults; null for an empty test set"]
    ter: Annotated[float | None, "corpus translation edit rate in percent, lower is better, sacrebleu's defaults"]
    perplexity: Annotated[
        float | None, "teacher-forced, exp of the unsmoothed loss per target token; null if not finite"
    ]
    length_ratio: Annotated[float | None, "hypothesis over reference tokens; null without reference tokens"]
    truncated: Annotated[int, "sentences whose search met its length limit before the end mark"]
    by_length: Annotated[list[Bucket], "a bucket of source lengths each (see BUCKET), shortest first, none left out"]
    by_equal_count: Annotated[
        list[Bucket] | None,
        "the same for up to six buckets of nearly equally many sentences, the last one closed",
    ]
    half_length: Annotated[float | None, "source words where BLEU falls to half of its best; null if it never does"]
    half_length_ci: Annotated[
        OpenInterval | None,
        "[low, high]: its 95 % percentile bootstrap interval over sentences; high null beyond all lengths",
    ]
    retention: Annotated[
        float | None, "BLEU of the longest bucket with n >= 50 over the best; null with fewer than two"
    ]
    retention_ci: Annotated[Interval | None, "[low, high]: its 95 % percentile bootstrap interval over sentences"]
    aer: Annotated[Aer | None, "alignment error rate (see AER); null without gold alignments, or attention"]
    aer_by_look: Annotated[
        list[LookAer] | None,
        "alignment error rate of each layer and head (see LOOK_AER); null where there is one look, or no gold",
    ]
    attention_by_length: Annotated[
        list[AttentionBucket] | None,
        "how the attention looks, a record a bucket of by_length (see ATTENTION); null if it looks nowhere",
    ]
    position_recall: Annotated[
        list[Position] | None,
        "where words are lost, a record a bucket of by_length (see POSITION); null without gold alignments",
    ]
    convergence: Annotated[
        Convergence | None, "how much validation BLEU rose at last (see CONVERGENCE); null if not known"
    ]
    agreement: Annotated[
        list[Agreement] | None,
        "accuracy of words that agree, by distance (see AGREEMENT); null where the corpus does not name them",
    ]
    training_data: Annotated[TrainingData, "what the run was trained on (see TRAINING_DATA)"]
    cost: Annotated[Cost, "what the run took (see COST)"]
    versions: Annotated[dict[str, str], "versions of Python and the libraries that matter"]
    git: Annotated[str | None, "commit of the working copy; null outside one"]
    data_fingerprint: Annotated[str, "hash of the test set's raw text; runs are ranked only where it is equal"]


class Field(NamedTuple):
    """What one key of results.json holds."""

    kind: type
    nullable: bool
    meaning: str
    records: Any = None
    """Type of the records inside: of the object itself, or of each in the list; None where there are none"""


def fields_of(record: Any) -> dict[str, Field]:
    """The keys of a record of this module, in order, as a reader of the file is to check them."""
    return {key: _field(hint) for key, hint in get_type_hints(record, include_extras=True).items()}


def _field(hint: Any) -> Field:
    annotated, meaning = get_args(hint)
    options = get_args(annotated) if isinstance(annotated, UnionType) else (annotated,)
    nullable = type(None) in options
    (known,) = (option for option in options if option is not type(None))
    if is_typeddict(known):
        return Field(dict, nullable, meaning, known)
    inside = next(filter(is_typeddict, get_args(known)), None)
    return Field(get_origin(known) or known, nullable, meaning, inside)


SCHEMA = fields_of(Results)
BUCKET, AER, LINKS, LOOK_AER = map(fields_of, (Bucket, Aer, Links, LookAer))
ATTENTION, POSITION = map(fields_of, (AttentionBucket, Position))
CONVERGENCE, AGREEMENT, COST, TRAINING_DATA = map(fields_of, (Convergence, Agreement, Cost, TrainingData))
"""The same as tables: what each key holds, by its name"""
