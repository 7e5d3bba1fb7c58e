"""Weights & Biases through Lightning's logger: online if a key is configured, else offline. It never asks for a key.

The libraries that draw charts are imported inside functions, because a training needs them only at its end.
"""

from __future__ import annotations

import netrc
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlparse

import numpy as np
from lightning.pytorch.loggers import WandbLogger

from lookback.common.checks import FilePath, Text, checked
from lookback.common.errors import InputError
from lookback.evaluation import MEASURES, midpoint
from lookback.tracking.offline_parts import is_whole, offline_parts, run_id
from lookback.tracking.tolerance import tolerated

if TYPE_CHECKING:
    from lookback.runs import Run
    from lookback.runs.alignments import AlignedSentence

START_SECONDS, FINISH_SECONDS = 60, 300
"""How long a training waits for W&B: for the run at its beginning, for the upload of what is left at its end."""
Mode = Literal["auto", "online", "offline", "disabled"]
SCORE_COLUMNS = (*MEASURES, "n")
"""Columns of ``by_length`` in results.json that are logged as curves."""
ATTENTION_COLUMNS = ("entropy", "sharpness", "coverage", "monotonicity", "diagonality")
"""Columns of ``attention_by_length`` that are logged as curves."""
SENTENCES = ("short", "medium", "long")
"""Names of the sentences whose alignments are shown."""
MAX_PICTURES, MAX_SOURCE_WORDS, PICTURE_COLORS = 6, 30, 64
"""Of alignments: pictures of a sentence, words of its source, colours of a picture. A picture takes 0.2 seconds."""


class TrackingLogger(WandbLogger):
    """Lightning's logger with the name of the chart that draws the length curve on the run's page.

    Attributes:
        chart: a preset of W&B's custom charts. None: the points are logged as a table without a chart.
    """

    chart: str | None = None


@checked
def wandb_logger(
    directory: FilePath,
    project: Text,
    entity: Text | None = None,
    group: Text | None = None,
    name: Text | None = None,
    tags: Sequence[Text] = (),
    mode: Mode = "auto",
    chart: Text | None = None,
) -> TrackingLogger:
    """A logger that writes its files into ``directory``. Each training is one W&B run, however often it is resumed.

    Args:
        directory: where the files are written.
        project: as in W&B.
        entity: as in W&B.
        group: as in W&B.
        name: as in W&B.
        tags: as in W&B.
        mode: ``online``, ``offline``, ``disabled`` or ``auto``. ``auto`` is what WANDB_MODE says, if it is set. Else it
            is online if WANDB_API_KEY or the machine's netrc has a key, and offline if not (``wandb sync`` uploads
            later).
        chart: the preset that draws the length curve on the run's own page, see ``TrackingLogger``.

    Raises:
        ValueError: if the mode is unknown.
        InputError: if the mode is ``online`` and there is no key, because W&B would ask for one.
    """
    where = str(mode)
    if mode == "auto":
        where = os.environ.get("WANDB_MODE") or ("online" if has_key() else "offline")
    if where == "online" and not has_key():
        raise InputError(
            "logger.mode=online: no W&B key is configured; expected `wandb login` first, or logger.mode=auto"
        )
    Path(directory, "wandb").mkdir(parents=True, exist_ok=True)
    logger = TrackingLogger(
        save_dir=directory,
        project=project,
        entity=entity,
        group=group,
        name=name,
        tags=list(tags),
        mode=where,
        id=run_id(directory),  # Lightning passes resume="allow" beside it
        # not wandb.Settings, because W&B is imported when the run begins
        settings={
            "silent": True,
            "console": "off",
            "init_timeout": START_SECONDS,
            "finish_timeout": FINISH_SECONDS,
        },
    )
    # Lightning always passes this argument, and W&B warns that it has no meaning any more
    logger._wandb_init.pop("anonymous", None)
    logger.chart = chart
    return logger


def has_key() -> bool:
    """Whether W&B finds a key without asking for one."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False


def log_test(logger: WandbLogger, run: Run) -> None:
    """Logs the results of a tested run, and pictures of its alignments at several moments of its training.

    Four kinds of records:

    - curves by source length: each metric has an x axis of its own, and x is the middle of a length bucket, which is
      the same in every run. So the project page shows the curves of all runs in one panel;
    - tables with the exact rows;
    - the points of the length chart: a table that the logger's preset draws on the run's page, if there is a preset;
    - the summary with all other numbers.

    Args:
        logger: of the training.
        run: with its results.
    """
    from lookback.tracking.custom_chart import CHART, TABLE, chart_rows

    results = run.results
    assert results is not None
    tracked = logger.experiment
    _log_curve(tracked, "bleu_by_length", SCORE_COLUMNS, results["by_length"])
    _log_curve(tracked, "attention_by_length", ATTENTION_COLUMNS, results["attention_by_length"] or [])
    tables = ("by_length", "by_equal_count", "attention_by_length")
    rows: Mapping[str, Any] = results
    record: dict[str, Any] = {f"tables/{name}": _table(rows[name]) for name in tables if rows[name] is not None}
    if results["bleu"] is not None:
        points = _table(chart_rows(run, tracked.id))
        if isinstance(logger, TrackingLogger) and logger.chart:
            record[CHART] = _chart(logger.chart, points, f"data {results['data']}, {results['signature']}")
        else:
            record[TABLE] = points
    tracked.log(record)
    _log_alignments(tracked, run)
    tracked.summary.update(summary(results))


def summary(results: Mapping[str, Any]) -> dict[str, float | int | str]:
    """The numbers of results.json that are not logged as curves, by their names in W&B, without those that are null."""
    plain = ("bleu", "signature", "chrf", "ter", "perplexity", "length_ratio", "truncated", "half_length", "retention")
    values = {f"test/{key}": results[key] for key in plain}
    for key in ("half_length_ci", "retention_ci"):
        low, high = results[key] or (None, None)
        values |= {f"test/{key}_low": low, f"test/{key}_high": high}
    for shift in ("shift_0", "shift_-1") if results["aer"] else ():
        values |= {f"test/{key}_{shift}": value for key, value in results["aer"][shift].items()}
    values |= {f"cost/{key}": value for key, value in results["cost"].items()}
    return {name: value for name, value in values.items() if value is not None}


def _log_curve(tracked: Any, section: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    tracked.define_metric(f"{section}/length", hidden=True)
    for column in columns:
        tracked.define_metric(f"{section}/{column}", step_metric=f"{section}/length", step_sync=False, summary="none")
    for bucket in rows:
        if bucket["n"]:
            values = {f"{section}/{column}": bucket[column] for column in columns if bucket[column] is not None}
            tracked.log({f"{section}/length": midpoint(dict(bucket)), **values})


def _table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Records with the same keys as a ``wandb.Table``. An interval becomes two columns."""
    import wandb

    flat = [dict(_columns(row)) for row in rows]
    return wandb.Table(columns=list(flat[0]) if flat else [], data=[list(row.values()) for row in flat])


def _columns(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if key == "ci":
            yield from zip(("ci_low", "ci_high"), value or (None, None), strict=True)
        else:
            yield key, value


def _chart(preset: str, points: Any, subtitle: str) -> Any:
    import wandb

    from lookback.tracking.custom_chart import fields, strings

    # W&B's own presets use x, y and stroke; the preset of this project uses the other fields
    return wandb.plot_table(preset, points, {**fields("bleu"), "y": "bleu", "stroke": None}, strings("bleu", subtitle))


def _log_alignments(tracked: Any, run: Run) -> None:
    """Logs a picture for each sentence and moment. Each sentence has a key, for which W&B shows a slider."""
    import wandb
    from PIL import Image

    from lookback.report.charts.alignment_chart import END, alignment_chart, alignment_png
    from lookback.runs.alignments import read_alignments

    path = run.scored_in / "alignments.npz"
    if not path.is_file():  # the model does not look back
        return
    alignments = read_alignments(path)
    sentences = shown_sentences(alignments.sentences)
    tracked.define_metric("alignment/update", hidden=True)
    for length in sentences:
        tracked.define_metric(f"alignment/{length}", step_metric="alignment/update", step_sync=False)
    moments = len(alignments.epochs)
    for moment in np.unique(np.linspace(0, moments - 1, min(MAX_PICTURES, moments)).round().astype(int)).tolist():
        update = alignments.updates[moment] if alignments.updates else moment
        when = f"{run.arm}, seed {run.seed}: epoch {alignments.epochs[moment]:.3g}, update {update:,}"
        record: dict[str, Any] = {"alignment/update": update}
        for length, sentence in sentences.items():
            weights = sentence.weights[moment].astype(np.float64)
            source, target = [*sentence.source, END], [*sentence.target, END]
            chart = alignment_chart(source, target, weights, when, sentence.sure, sentence.possible)
            picture = Image.open(BytesIO(alignment_png(chart))).convert("RGB").quantize(PICTURE_COLORS)
            caption = f"{when}. Each row is where a target word looked: a soft alignment, not an explanation."
            record[f"alignment/{length}"] = wandb.Image(picture, caption=caption)
        tracked.log(record)


def shown_sentences(sentences: Sequence[AlignedSentence]) -> dict[str, AlignedSentence]:
    """A short, a medium and a long sentence that fit in a picture, or fewer if there are not three."""
    fitting = sorted(
        (s for s in sentences if len(s.source) <= MAX_SOURCE_WORDS), key=lambda sentence: len(sentence.source)
    )
    if not fitting:
        return {}
    places = np.linspace(0, len(fitting) - 1, len(SENTENCES)).round().astype(int).tolist()
    chosen = dict(zip(SENTENCES, places, strict=True))
    return {name: fitting[place] for name, place in chosen.items() if places.index(place) == list(chosen).index(name)}


def finish(exit_code: int, directory: Path | str) -> None:
    """Ends the W&B run of this process, if there is one, so that the next job of a sweep gets a run of its own.

    It prints where the run is: its link, or how its files get to W&B.

    Args:
        exit_code: 0 if the run has succeeded, 1 if it has failed.
        directory: the run directory.
    """
    if "wandb" not in sys.modules:
        return
    import wandb

    run = wandb.run
    if run is None:
        return
    with tolerated("Weights & Biases", f"what it has not uploaded is in {directory}/wandb"):
        link = None if run.offline or run.disabled else run.url
        run.finish(exit_code=exit_code)
        if link is not None:
            print(f"Weights & Biases: {link}", flush=True)
        elif not run.disabled:
            _print_sync(directory, Path(run.dir).parent)


def _print_sync(directory: Path | str, ended: Path) -> None:
    """Prints the command that uploads the parts of an offline run, and names those of a killed process.

    Args:
        directory: the run directory.
        ended: the part of this process. It is not looked at: W&B has just ended it, and may still be writing it.
    """
    parts = offline_parts(directory)
    print(f"Weights & Biases: wandb sync {' '.join(shlex.quote(str(part)) for part in parts)}", flush=True)
    for part in parts:
        if part.resolve() != ended.resolve() and not is_whole(part):
            print(
                f"warning: {part}: not whole, because its process was killed; records at its end are lost",
                file=sys.stderr,
            )
