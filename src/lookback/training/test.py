"""Tests a model: translates a test set, scores it, and writes the files that the report reads."""

import math
import os
from collections.abc import Sequence
from pathlib import Path

import lightning
from lightning.pytorch.plugins.environments import LightningEnvironment

from lookback.common.words import Link, has_spaced_words
from lookback.data import TranslationData
from lookback.evaluation import agreement, count, label, results, rise_in_words
from lookback.evaluation.alignment.attention_quality import aer_by_look
from lookback.runs import Prediction, write_predictions, write_results
from lookback.runs.provenance import git_revision, versions
from lookback.runs.schema import Agreement, Convergence, Cost, Results, TrainingData
from lookback.training.callbacks.progress import in_terminal, translation_progress
from lookback.training.module import TranslationModule


def test(
    module: TranslationModule,
    data: TranslationData,
    directory: Path,
    accelerator: str,
    *,
    arm: str,
    attention: str,
    data_name: str,
    seed: int,
    convergence: Convergence | None,
    cost: Cost,
    training_data: TrainingData,
) -> Results:
    """Translates and scores the test set of ``data``; writes predictions.jsonl, segments.npz and results.json.

    The test runs in float32 and on one device, so that the same weights give the same numbers however they were
    trained.

    Args:
        module: with the weights to test.
        data: whose test set is translated.
        directory: where the files are written.
        accelerator: as in Lightning's ``Trainer``.
        arm: what the run is called in comparisons.
        attention: the name of the run's attention.
        data_name: the name of the data.
        seed: of the training.
        convergence: whether the training had stopped improving; None if it is not known.
        cost: of the training.
        training_data: what the run was trained on.

    Returns:
        What results.json holds.
    """
    tester = lightning.Trainer(
        accelerator=accelerator,
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=in_terminal(),
        callbacks=[translation_progress()],
        default_root_dir=os.devnull,  # no folder: in a Slurm job Lightning would test a hpc_ckpt_1.ckpt in it
        plugins=[LightningEnvironment()],  # this process alone tests, whoever has started it
    )
    tester.test(module, datamodule=data, verbose=False)
    predictions = [module.predictions[i] for i in sorted(module.predictions)]
    readings = [module.readings[i] for i in sorted(module.readings)]
    tokenize = data.corpus.bleu_tokenize
    segments = count(predictions, tokenize, gold_links(data, predictions), readings)
    looks_back = module.model.looks_back
    record = results(
        predictions,
        tokenize,
        arm=arm,
        attention=attention,
        seed=seed,
        data=data_name,
        perplexity=_perplexity(float(module.test_loss.compute())),
        aer=module.attention_quality.aer(),
        aer_by_look=aer_by_look(module.look_quality),
        attention_by_length=module.attention_quality.by_length() if looks_back else None,
        convergence=convergence,
        cost=cost,
        training_data=training_data,
        versions=versions(),
        git=git_revision(),
        data_fingerprint=data.fingerprint,
        segments=segments,
        agreement=agreement_by_distance(data, predictions),
    )
    write_predictions(directory / "predictions.jsonl", predictions)
    segments.save(directory / "segments.npz")
    write_results(directory / "results.json", record)
    return record


def _perplexity(nats: float) -> float:
    """e to the mean loss of a token, in nats; infinite if that is too large for a float."""
    try:
        return math.exp(nats)
    except OverflowError:
        return math.inf


def gold_links(data: TranslationData, predictions: Sequence[Prediction]) -> list[list[Link] | None] | None:
    """The sure links of each sentence of the test set; None if the test set has no gold alignment.

    Gold links number the words of ``str.split()``. In a script without spaces our words are smaller, so such a sentence
    has None too.
    """
    texts = data.texts("test")
    if "alignment" not in texts.column_names:
        return None
    rows = (texts[prediction.id] for prediction in predictions)
    return [
        [(i, j) for i, j in row["alignment"] or []] if has_spaced_words(row["source"], row["target"]) else None
        for row in rows
    ]


def agreement_by_distance(data: TranslationData, predictions: Sequence[Prediction]) -> list[Agreement] | None:
    """``agreement`` of results.json; None if the test set does not say which of its words agree."""
    texts = data.texts("test")
    if "agreement" not in texts.column_names:
        return None
    return agreement(predictions, [texts[prediction.id]["agreement"] for prediction in predictions])


def print_results(record: Results) -> None:
    """Prints the test scores, and BLEU by source length."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("source words", "sentences", "BLEU", "95% interval", "length ratio", "truncated"):
        table.add_column(name, justify="right")
    for bucket in record["by_length"]:
        if bucket["ci"] is not None:
            low, high = bucket["ci"]
            table.add_row(
                label(bucket),
                f"{bucket['n']:,}",
                f"{bucket['bleu']:.1f}",
                f"{low:.1f} to {high:.1f}",
                f"{bucket['length_ratio']:.2f}",
                str(bucket["truncated"]),
            )
    Console(highlight=False).print(table)
    if record["aer"] is not None:
        shares = (f"{record['aer'][shift]['aer']:.3f}" for shift in ("shift_0", "shift_-1"))
        print("alignment error rate {} (read one step later {})".format(*shares))
    if (looks := record["aer_by_look"]) is not None:
        best = min(looks, key=lambda look: math.inf if look["shift_0"] is None else look["shift_0"])
        print(f"of {len(looks)} layers and heads, {best['look']} aligns best: {best['shift_0']:.3f}")
    for distance in record["agreement"] or []:
        if distance["n"]:
            low, high = distance["ci"] or (math.nan, math.nan)
            print(
                f"agreement over {label(distance)} source words: {100 * (distance['accuracy'] or 0):.1f} % right "
                f"({100 * low:.1f} to {100 * high:.1f}; {distance['n']:,} words)"
            )
    print(
        f"BLEU {record['bleu']:.2f}  chrF {record['chrf']:.2f}  TER {record['ter']:.2f}  "
        f"perplexity {'–' if record['perplexity'] is None else format(record['perplexity'], '.3f')}  "
        f"({record['signature']})",
        flush=True,
    )
    if record["convergence"] is not None and (rise := record["convergence"]["rise"]) is not None:
        print(f"validation BLEU {rise_in_words(rise)} in the last fifth of the training", flush=True)


def training_data_of(data: TranslationData) -> TrainingData:
    """``training_data`` of results.json. The counts of a stream are null."""
    about = data.describe()
    counts = about["train"] or dict.fromkeys(about["test"])
    return {
        "pairs": counts["pairs"],
        "dropped": about["dropped"],
        "overlap": about["overlap"],
        "source_tokens": counts["source_tokens"],
        "target_tokens": counts["target_tokens"],
        "source_unknown": counts["source_unknown"],
        "target_unknown": counts["target_unknown"],
        "source_vocabulary": about["source_vocabulary"],
        "target_vocabulary": about["target_vocabulary"],
        "padding_waste": about["padding_waste"],
    }
