"""One run: read, train, test, and leave a run directory."""

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.loggers import Logger, WandbLogger
from omegaconf import DictConfig

from lookback.common.configs import build, one_line, with_present_targets
from lookback.common.errors import InputError
from lookback.data import Tokenizer, TranslationData
from lookback.data.batches.loading import BatchLoader
from lookback.evaluation import convergence
from lookback.runs import Results, TrainingData
from lookback.runs.arm import arm_name
from lookback.runs.checkpoint import read_checkpoint
from lookback.runs.directory import RunDirectory
from lookback.runs.status import recording
from lookback.search import LengthRule
from lookback.tracking.weights_and_biases import finish, log_test
from lookback.training.build import build_data, build_module, build_once, plain
from lookback.training.callbacks.alignment_snapshots import AlignmentSnapshots
from lookback.training.callbacks.checkpoints import LastValidation
from lookback.training.callbacks.cost import Cost, rates_line
from lookback.training.callbacks.precision import MatmulPrecision, check_precision, products
from lookback.training.callbacks.progress import in_terminal, training_progress
from lookback.training.metrics_log import MetricsLog
from lookback.training.module import TranslationModule
from lookback.training.quiet import quiet
from lookback.training.test import print_results, test

VALIDATIONS = 10
"""How often a training is validated where its config does not say"""


def train(config: DictConfig, directory: Path | str) -> Results:
    """Train and test what ``config`` names in ``directory``; what results.json holds.

    Where the directory has a last checkpoint, training goes on from there, to the same numbers as without the stop.
    """
    run = RunDirectory(directory)
    if config.names.arm is None:
        config.names.arm = arm_name(run.path, config.names.attention)
    data = None
    if run.last.is_file():  # before anything in the directory changes: a refusal leaves the run as it is
        _check_same(read_checkpoint(run.last)["config"], plain(config), run)
        data = _prepared(config)
        _check_same_text(data, run)
    with recording(run.status, one_line):
        exit_code = 1
        try:
            if data is None:
                data = _prepared(config)
                data.save_tokenizers(run.tokenizers)
            record = _train(config, run, data)
            exit_code = 0
            return record
        finally:
            finish(exit_code)


def _prepared(config: DictConfig) -> TranslationData:
    """The data of a training, read and encoded. That may take an hour: settings are refused before it."""
    quiet()
    if not isinstance(config.seed, int) or config.seed < 0:
        raise InputError(f"seed={config.seed!r}: expected a whole number, 0 or more")
    check_precision(config)
    if config.trainer.devices not in (1, "1"):
        # more would train, but their ranks would write the same files and count each their own share of the cost
        raise InputError(f"trainer.devices={config.trainer.devices}: expected 1; a training runs on one device so far")
    data = build_data(config)
    if data.streams:
        _for_a_stream(config)
    build_once(config, data.tokenization.joint, data.corpus.bleu_tokenize)
    data.setup()
    return data


def _train(config: DictConfig, run: RunDirectory, data: TranslationData) -> Results:
    resumed = run.last.is_file()
    lightning.seed_everything(config.seed, verbose=False)
    module = build_module(config, data.source_tokenizer, data.target_tokenizer, data.corpus.bleu_tokenize)
    describe(config, data, module, run.path)
    warn_of_short_limits(data, module.search.rule)

    cost, metrics = Cost(), MetricsLog(run.path / "metrics.csv")
    loggers = [metrics, *([build(config.logger)] if config.logger else [])]
    trainer = build(
        config.trainer,
        **(_for_a_stream(config) if data.streams else _validations(config, data)),
        default_root_dir=str(run.path),
        logger=loggers,
        enable_progress_bar=in_terminal(),
        callbacks=[
            LastValidation(),  # first: what is logged depends on whether this batch is the last
            cost,
            MatmulPrecision(config.matmul_precision),
            training_progress(cost),
            AlignmentSnapshots(run.test / "alignments.npz", cost),
            *(build(callback) for callback in config.callbacks.values()),
        ],
    )
    for logger in loggers:
        logger.log_hyperparams(module.config)
    if resumed:
        checkpoint = read_checkpoint(run.last)
        metrics.resume(checkpoint["global_step"])
        print(f"going on from {run.last} (update {checkpoint['global_step']:,})", flush=True)
    try:
        trainer.fit(module, datamodule=data, ckpt_path=run.last if resumed else None, weights_only=True)
    except SystemExit:
        # how Lightning ends a training that Ctrl+C stopped
        if trainer.interrupted:
            raise KeyboardInterrupt from None
        raise

    if not run.last.is_file():
        raise InputError("trainer: no epoch was trained to its end; expected max_epochs of 1 or more")
    module.load_state_dict(run.checkpoint()["state_dict"])
    record = test(
        module,
        data,
        run.test,
        config.trainer.accelerator,
        arm=config.names.arm,
        attention=config.names.attention,
        data_name=config.names.data,
        seed=config.seed,
        convergence=convergence(metrics.logged("validation/bleu"), metrics.logged("validation/perplexity")),
        cost=cost.summary(module.model),
        training_data=training_data(data),
    )
    _report(run, record, module.config, loggers)
    print_results(record)
    print(f"training: {rates_line(record['cost'])}")
    print(f"results: {run.path} (the page: report.html, the curve: length_curve.svg)", flush=True)
    return record


def _report(run: RunDirectory, record: Results, config: dict[str, Any], loggers: Sequence[Logger]) -> None:
    """Show what came of it: to the tracker, as a chart, as a page."""
    # no first batch waits for what draws charts
    from lookback.report import length_chart, save_chart, write_report
    from lookback.runs import Run

    finished = Run(run.path, record["arm"], record["attention"], record["seed"], "finished", None, record, config)
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            log_test(logger, finished)
    save_chart(length_chart([finished]), run.path, "length_curve")
    write_report([finished], run.path / "report.html")


def _check_same(before: dict[str, Any], now: dict[str, Any], run: RunDirectory) -> None:
    """A training goes on with the network, the data, the loss, the optimizer and the schedule that it began with.

    What a checkpoint restores would silently win over another value: the optimizer's own settings, too.
    """
    default = {"loss": {"normalize": "tokens"}}  # as all were before there was a choice
    before, now = (with_present_targets({**default, **config}) for config in (before, now))
    groups = ("attention", "encoder", "decoder", "data", "tokenizer", "batch", "loss", "label_smoothing", "optimizer")
    for group in (*groups, "scheduler", "seed"):
        old, new = _leaves(group, before.get(group)), _leaves(group, now.get(group))
        for key in sorted((old.keys() | new.keys()) - {"batch.evaluation_size"}):
            if old.get(key) != new.get(key):
                raise InputError(
                    f"{run.path}: holds a run with {key}={old.get(key)}, which cannot go on with {key}={new.get(key)}; "
                    "expected the same value, or another directory"
                )


def _check_same_text(data: TranslationData, run: RunDirectory) -> None:
    """A network's words stay what they were: its tokenizers are those that the training text gives."""
    for side, tokenizer in (("source", data.source_tokenizer), ("target", data.target_tokenizer)):
        if Tokenizer.load(run.tokenizers / f"{side}.json").to_json() != tokenizer.to_json():
            raise InputError(
                f"{run.path}: holds a run with another {side} tokenizer than the training text gives now; "
                "expected the text that it began with, or another directory"
            )


def _for_a_stream(config: DictConfig) -> dict[str, Any]:
    """The trainer's settings where nobody knows how long an epoch is: updates end it, and batches part validations."""
    settings = config.trainer
    if settings.max_steps < 1:
        raise InputError(
            f"trainer.max_steps={settings.max_steps}: expected 1 or more, as nobody knows how long a stream is"
        )
    interval = settings.val_check_interval
    if interval is None:
        interval = max(1, settings.max_steps * settings.accumulate_grad_batches // VALIDATIONS)
    if not isinstance(interval, int) or interval < 1:
        raise InputError(
            f"trainer.val_check_interval={interval}: expected a number of batches, as the data is a stream"
        )
    return {"max_epochs": -1, "check_val_every_n_epoch": None, "val_check_interval": interval}


def _validations(config: DictConfig, data: TranslationData) -> dict[str, Any]:
    """The trainer's settings of when to validate: ten times a training, unless they say it themselves."""
    settings = config.trainer
    if settings.check_val_every_n_epoch is not None:
        return {}
    if settings.val_check_interval is not None:
        # a share is one of an epoch; Lightning wants to be told that epochs are counted
        return {"check_val_every_n_epoch": 1} if isinstance(settings.val_check_interval, float) else {}
    loader, limit = data.train_dataloader(), settings.limit_train_batches
    assert isinstance(loader, BatchLoader)  # as of all that is no stream
    batches = len(loader)
    limit = 1.0 if limit is None else limit
    an_epoch = min(batches, limit) if isinstance(limit, int) else int(batches * limit)
    epochs = math.inf if settings.max_epochs in (None, -1) else settings.max_epochs
    steps = math.inf if settings.max_steps == -1 else settings.max_steps * settings.accumulate_grad_batches
    total = min(epochs * an_epoch, steps)
    # where no end is set, the module says so
    return {} if math.isinf(total) else {"val_check_interval": max(1, round(total / VALIDATIONS))}


def training_data(data: TranslationData) -> TrainingData:
    """``training_data`` of results.json."""
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


def _leaves(name: str, value: Any) -> dict[str, Any]:
    """The settings inside ``value`` by their full keys."""
    if not isinstance(value, dict):
        return {name: value}
    return {key: leaf for part, inside in value.items() for key, leaf in _leaves(f"{name}.{part}", inside).items()}


def describe(config: DictConfig, data: TranslationData, module: TranslationModule, directory: Path) -> None:
    """Say what is about to be trained."""
    about = data.describe()
    parameters = sum(parameter.numel() for parameter in module.parameters())
    if data.streams:
        training = "training pairs as they come"
    else:
        training = f"{about['train']['pairs']:,} training pairs, {about['train']['target_tokens']:,} target tokens"
    padding = "" if data.streams else f"padding {about['padding_waste']:.1%}; "
    print(
        f"attention={config.names.attention}  data={config.names.data}  seed={config.seed}  "
        f"{parameters:,} parameters  in {directory}\n"
        f"{training}; vocabulary {about['source_vocabulary']:,} → {about['target_vocabulary']:,}; {padding}"
        f"validation {about['validation']['pairs']:,}, test {about['test']['pairs']:,} pairs\n"
        f"{products(config)}; validation and test in float32",
        flush=True,
    )


def warn_of_short_limits(data: TranslationData, rule: LengthRule) -> None:
    """Say where translations would be cut off because the target's tokens are so much shorter than the source's.

    A limit counts tokens: five of characters may stand for one of words. Cut translations are counted in the results,
    but only after the training.
    """
    split = data.describe()["validation"]  # how many tokens a stream has to train on, nobody knows
    ratio = (split["target_tokens"] - split["pairs"]) / max(split["source_tokens"] - split["pairs"], 1)
    if ratio > rule.limit_factor:
        print(
            f"warning: a validation target has {ratio:.1f} tokens to one of its source, more than "
            f"search.limit_factor={rule.limit_factor:g} lets a translation have; expected about {2 * ratio:.0f}",
            file=sys.stderr,
        )
