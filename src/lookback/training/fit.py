"""One run from beginning to end: read the data, train, test, and write the run directory."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.loggers import Logger, WandbLogger
from omegaconf import DictConfig, OmegaConf

from lookback.common.configs import build, hide_environment, one_line
from lookback.common.errors import InputError
from lookback.common.files import atomic_write, remove_temporaries
from lookback.common.signals import deferred, handled
from lookback.common.trust import plain_text
from lookback.data import TranslationData
from lookback.evaluation import convergence
from lookback.nn.kernels.caches import bound_kernel_caches
from lookback.runs import Results, Run
from lookback.runs.arm import arm_name
from lookback.runs.directory import RunDirectory
from lookback.runs.lock import locked
from lookback.runs.status import recording
from lookback.tracking.tolerance import TolerantLogger, tolerated
from lookback.tracking.weights_and_biases import finish, log_test
from lookback.training.announcement import announce, warn_of_short_limits
from lookback.training.build import (
    build_data,
    build_module,
    build_once,
    choose_sizes,
    keep_sizes,
    plain_config,
    stream_settings,
    validation_settings,
)
from lookback.training.callbacks.alignment_snapshots import AlignmentSnapshots
from lookback.training.callbacks.checkpoints import LastValidation
from lookback.training.callbacks.cost import Cost, rates_line
from lookback.training.callbacks.late_trackers import LateTrackers
from lookback.training.callbacks.precision import MatmulPrecision
from lookback.training.callbacks.progress import in_terminal, training_progress
from lookback.training.callbacks.stop_on_signal import StopOnSignal
from lookback.training.checkpoint_io import AtomicCheckpointIO
from lookback.training.fastest_precision import keep_precision, settle_precision
from lookback.training.metrics_log import MetricsLog
from lookback.training.module import TranslationModule
from lookback.training.quiet import quiet
from lookback.training.ranks import SameOnAllRanks, check_ranks, environments, other_ranks, strategy
from lookback.training.resume import Resumed, check_not_shorter, check_same_settings, check_same_text, resumed_from
from lookback.training.settings import check_training
from lookback.training.test import print_results, test, training_data_of


@handled()
def train(config: DictConfig, directory: Path | str, sweep: Path | None = None) -> Results:
    """Trains and tests what ``config`` names, and writes a run directory.

    If the directory has a last checkpoint, the training is resumed there. It ends with the same numbers as a training
    that was never stopped.

    Args:
        config: as ``conf/train.yaml`` composes it.
        directory: the run directory, new or with a run to resume.
        sweep: the directory of the sweep that this is a job of; its jobs share one precision.

    Returns:
        What results.json holds.

    Raises:
        InputError: if a setting or the text is wrong, or if the directory holds a run that cannot be resumed so.
        Interrupted: after a signal. What has been trained is saved (see ``StopOnSignal``).
    """
    run = RunDirectory(directory)
    with locked(run.path):
        remove_temporaries(run.path)
        return _train(config, run, sweep)


def _train(config: DictConfig, run: RunDirectory, sweep: Path | None) -> Results:
    composed = config.copy()
    data = None
    resumed = resumed_from(run)
    if resumed is not None:  # before anything in the directory changes: a refusal leaves the run as it is
        _settle(config, run, resumed)
        check_same_settings(resumed.config, plain_config(config), run)
        data = _prepare_data(config)
        if not data.streams:  # which end by max_steps, however many epochs these take
            check_not_shorter(resumed, config.trainer.max_epochs)
        check_same_text(resumed, data, run)
    exit_code = 1
    try:
        checkpoints = (run.last, run.best)
        with recording(run.status, lambda error: hide_environment(one_line(error), config), checkpoints):
            if data is None:
                _settle(config, run, None)
                data = _prepare_data(config)
                choose_sizes(config, data)
                data.save_tokenizers(run.tokenizers)
            record, trackers = _train_and_test(config, run, data, resumed, sweep)
            composed.trainer.precision = config.trainer.precision  # what auto has become
            composed.matmul_precision = config.matmul_precision
            keep_sizes(composed, config)
            with atomic_write(run.test / "config.yaml") as file:  # .hydra changes when a command for the run is typed
                file.write(OmegaConf.to_yaml(composed).encode())
        exit_code = 0
        # now that the numbers and the status are written: an abort inside a renderer cannot be caught
        _report(run, record, plain_config(config), trackers)
    finally:
        finish(exit_code, run.path)
    print(f"results: {run.path} (the page: report.html, the curve: length_curve.svg)", flush=True)
    return record


@handled()
def train_as_rank(config: DictConfig, directory: Path | str, ready: Callable[[], None] = lambda: None) -> None:
    """The part of a rank other than 0 in ``train``: it trains along, and writes nothing.

    Args:
        config: that of rank 0.
        directory: that of rank 0.
        ready: is called when rank 0 may begin.

    Raises:
        Interrupted: after a signal to any rank.
    """
    run = RunDirectory(directory)
    resumed = resumed_from(run)
    _settle(config, run, resumed)
    data = _prepare_data(config)
    if resumed is None:
        choose_sizes(config, data)
    settle_precision(config, data, None)
    lightning.seed_everything(config.seed, verbose=False)
    module = build_module(config, data.source_tokenizer, data.target_tokenizer, data.corpus.bleu_tokenize)
    ready()
    cost = Cost()
    _fit(config, run, data, module, cost, [], LateTrackers([], module.config, cost), resumed)


def _settle(config: DictConfig, run: RunDirectory, resumed: Resumed | None) -> None:
    """Checks the settings, and gives the arm its name. A resumed run keeps the one that it has, and its precision."""
    if config.names.arm is None and resumed is not None:
        config.names.arm = plain_text(resumed.arm, frozenset())
    check_training(config)
    check_ranks(config)
    if resumed is not None:
        keep_precision(config, resumed.config)
        keep_sizes(config, resumed.config)
    if config.names.arm is None:
        config.names.arm = arm_name(run.path, config.names.attention)


def _prepare_data(config: DictConfig) -> TranslationData:
    """The data of a training, read and encoded. All is built once first, because reading may take an hour."""
    quiet()
    bound_kernel_caches()
    data = build_data(config)
    if data.streams:
        stream_settings(config)
    build_once(config, data.tokenization.joint, data.corpus.bleu_tokenize)
    data.setup()
    return data


def _train_and_test(
    config: DictConfig, run: RunDirectory, data: TranslationData, resumed: Resumed | None, sweep: Path | None
) -> tuple[Results, Sequence[TolerantLogger]]:
    """What results.json holds, and the loggers beside metrics.csv, which the test is logged to."""
    products = settle_precision(config, data, sweep)
    lightning.seed_everything(config.seed, verbose=False)
    module = build_module(config, data.source_tokenizer, data.target_tokenizer, data.corpus.bleu_tokenize)
    announce(config, data, module, run.path, products)
    warn_of_short_limits(data, module.search.rule)

    cost, metrics = Cost(), MetricsLog(run.path / "metrics.csv")
    trackers = [TolerantLogger(build(config.logger))] if config.logger else []
    late = LateTrackers(trackers, module.config, cost)
    has_gap = False
    if resumed is not None:
        metrics.resume(resumed.update)
        has_gap = metrics.has_gap(resumed.update, resumed.config["trainer"]["log_every_n_steps"])
        if has_gap:
            print(f"note: {metrics.path}: rows are missing, so it is not known how the training converged", flush=True)
        print(f"going on from {resumed.path} (update {resumed.update:,})", flush=True)
    try:
        with other_ranks(config, run.path):
            _fit(config, run, data, module, cost, [metrics, *([late.waiting] if trackers else [])], late, resumed)
    except Exception:  # not after a signal, which does not wait for W&B: a resumed training is tracked
        late.end("failed")
        raise
    late.end("success")

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
        convergence=None
        if has_gap
        else convergence(metrics.logged("validation/bleu"), metrics.logged("validation/perplexity")),
        cost=cost.summary(module.model, products),
        training_data=training_data_of(data),
    )
    print_results(record)
    print(f"training: {rates_line(record['cost'])}", flush=True)
    return record, trackers


def _fit(
    config: DictConfig,
    run: RunDirectory,
    data: TranslationData,
    module: TranslationModule,
    cost: Cost,
    loggers: Sequence[Logger],
    late: LateTrackers,
    resumed: Resumed | None,
) -> None:
    """Trains, from the start or from a checkpoint. Every rank does it."""
    trainer = build(
        config.trainer,
        **(stream_settings(config) if data.streams else validation_settings(config, data)),
        strategy=strategy(config),
        default_root_dir=os.devnull,  # no folder: in a Slurm job Lightning would start from a hpc_ckpt_1.ckpt in it
        logger=loggers or False,
        plugins=[AtomicCheckpointIO(), *environments()],
        enable_progress_bar=in_terminal(),
        callbacks=[
            SameOnAllRanks(module.config, data),
            StopOnSignal(),
            LastValidation(),  # before others, because what is logged depends on whether this batch is the last
            cost,
            late,  # after the clock has stopped, before those that log
            MatmulPrecision(config.matmul_precision),
            training_progress(cost),
            AlignmentSnapshots(run.test / "alignments.npz", cost),
            *(build(callback) for callback in config.callbacks.values()),
        ],
    )
    with deferred():  # ``StopOnSignal`` ends the training where it can be resumed exactly
        trainer.fit(module, datamodule=data, ckpt_path=resumed.path if resumed else None, weights_only=True)


def _report(run: RunDirectory, record: Results, config: dict[str, Any], trackers: Sequence[TolerantLogger]) -> None:
    """Logs the test to Weights & Biases, and writes the length curve and the page of this run.

    What fails is one warning each: the numbers are there.
    """
    finished = Run(run.path, record["arm"], record["attention"], record["seed"], "finished", None, record, config)
    for tracker in trackers:
        if tracker.works and isinstance(tracker.logger, WandbLogger):
            with tolerated("Weights & Biases", "the test is not logged there; its numbers are in test/results.json"):
                log_test(tracker.logger, finished)
    again = f"`python compare.py runs={run.path} out={run.path / 'report.html'}` makes the page again"
    # imported here so that the training does not wait for the libraries that draw charts
    with tolerated("length_curve", again):
        from lookback.report import length_chart, save_chart

        save_chart(length_chart([finished]), run.path, "length_curve")
    with tolerated("report.html", again):
        from lookback.report import write_report

        write_report([finished], run.path / "report.html")
