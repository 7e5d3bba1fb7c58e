"""The workspace of a W&B project. Its panels read what ``lookback.tracking.weights_and_biases`` logs."""

import json
import sys
from contextlib import suppress
from hashlib import sha256
from typing import Any

from lookback.common.errors import InputError
from lookback.evaluation import MEASURES
from lookback.tracking.custom_chart import TABLE, Spec, fields, preset_name, strings
from lookback.tracking.weights_and_biases import ATTENTION_COLUMNS, SCORE_COLUMNS, SENTENCES

ENTITY = "ENTITY"
"""Placeholder for the project's entity, if none is given and W&B cannot be asked."""
TRAINING_METRICS = (
    "train/loss",
    "validation/perplexity",
    "validation/bleu",
    "attention/entropy",
    "attention/aer",
    "attention/aer_shift_-1",
)
TEST_METRICS = (
    "test/bleu",
    "test/chrf",
    "test/ter",
    "test/perplexity",
    "test/retention",
    "test/half_length",
    "test/aer_shift_0",
)
COST_METRICS = ("cost/seconds", "cost/tokens_per_second", "cost/peak_memory_mb", "cost/parameters")
CHART_MEASURES = ("bleu", "bleu_no_bp", "chrf", "length_ratio")
"""Measures that the project's own chart draws."""


def save_workspace(project: str, entity: str | None, name: str, spec: Spec) -> None:
    """Saves the workspace and its chart, and prints where they are. A workspace of the same name is replaced.

    Args:
        project: the W&B project.
        entity: whose project it is; None: the account of the W&B key.
        name: of the workspace.
        spec: of the chart, from ``length_curve_spec``.

    Raises:
        InputError: if W&B refuses, with its message, or if wandb-workspaces is not installed.
    """
    import wandb

    ws, *_ = _workspaces()
    try:
        api = wandb.Api()
        entity = entity or api.default_entity
        if not entity:
            raise InputError("entity=null: expected a name, as the account of the W&B key has no entity of its own")
        chart = _chart(api, entity, spec)
        api.create_project(project, entity)
        view = workspace(project, entity, name, chart)
        slug = view_slug(name)
        view._internal_name = f"nw-{slug}-v"
        with suppress(ValueError):  # no workspace has this name yet
            view._internal_id = ws.Workspace.from_url(f"https://wandb.ai/{entity}/{project}?nw={slug}")._internal_id
        view.save()
    except InputError:
        raise
    except (wandb.Error, ValueError) as error:
        raise InputError(f"dashboard: W&B refused: {' '.join(str(error).split())}") from None
    print(f"workspace: {view.url}")
    print(f"its chart on the runs' own pages: logger.chart={chart}")


def print_workspace(project: str, entity: str | None, name: str, spec: Spec) -> None:
    """Prints the workspace and its chart as JSON, without a request to W&B.

    Args:
        project: the W&B project.
        entity: whose project it is; None: a placeholder.
        name: of the workspace.
        spec: of the chart, from ``length_curve_spec``.

    Raises:
        InputError: if wandb-workspaces is not installed.
    """
    view = workspace(project, entity or ENTITY, name, chart_id(entity or ENTITY, spec))
    chart = {"name": preset_name(spec), "spec": spec}
    # ``_spec`` is private, but it is the only way to what wandb-workspaces would send
    print(json.dumps({"workspace": view._spec, "charts": [chart]}, indent=1, ensure_ascii=False, default=str))
    print("no W&B key is configured, so nothing is saved; after `wandb login` it will be", file=sys.stderr)


def _workspaces() -> tuple[Any, Any, Any]:
    """The parts of wandb-workspaces, which is an extra."""
    try:
        from wandb_workspaces import expr
        from wandb_workspaces import workspaces as ws
        from wandb_workspaces.reports import v2 as wr
    except ModuleNotFoundError:
        raise InputError(
            'dashboard: wandb-workspaces is not installed; expected `pip install -e ".[dashboard]"` first'
        ) from None
    return ws, wr, expr


def workspace(project: str, entity: str, name: str, chart: str) -> Any:
    """The ``wandb_workspaces.workspaces.Workspace`` of a project.

    Args:
        project: the W&B project.
        entity: whose project it is.
        name: of the workspace.
        chart: the custom chart that draws length curves, as ``chart_id`` names it.

    Raises:
        InputError: if wandb-workspaces is not installed.
    """
    ws, wr, expr = _workspaces()

    subtitle = "signatures: test/signature of the runs"
    charts: list[Any] = [
        wr.CustomChart(
            query={"summaryTable": {"tableKey": TABLE}},
            chart_name=chart,
            chart_fields=fields(measure),
            chart_strings=strings(measure, subtitle),
        )
        for measure in CHART_MEASURES
    ]

    def curves(section: str, columns: tuple[str, ...]) -> list[Any]:
        return [
            wr.LinePlot(
                title=MEASURES[column].title if column in MEASURES else column,
                x=f"{section}/length",
                y=[f"{section}/{column}"],
                title_x="source words",
                smoothing_type="none",
            )
            for column in columns
        ]

    learning: list[Any] = [
        wr.LinePlot(title=metric, x="trainer/global_step", y=[metric], title_x="updates") for metric in TRAINING_METRICS
    ]
    pictures = wr.MediaBrowser(
        title="where each target word (row) looked, as training went on",
        media_keys=[f"alignment/{length}" for length in SENTENCES],
        mode="gallery",
        gallery_axis="step",
    )
    tables: list[Any] = [
        wr.WeavePanelSummaryTable(table_name=f"tables/{name}") for name in ("by_length", "by_equal_count")
    ]
    sections = [
        ws.Section("Length curve", charts, is_open=True, layout_settings=ws.SectionLayoutSettings(columns=2, rows=2)),
        ws.Section("By source length", curves("bleu_by_length", SCORE_COLUMNS), is_open=True),
        ws.Section("Scores", [wr.BarPlot(title=metric, metrics=[metric]) for metric in TEST_METRICS], is_open=True),
        ws.Section("Learning", learning, is_open=True),
        ws.Section("Alignments", [pictures], is_open=True),
        ws.Section("Attention by source length", curves("attention_by_length", ATTENTION_COLUMNS)),
        ws.Section("Cost", [wr.BarPlot(title=metric, metrics=[metric]) for metric in COST_METRICS]),
        ws.Section("Tables", tables, layout_settings=ws.SectionLayoutSettings(columns=1, rows=2)),
    ]
    return ws.Workspace(
        entity=entity,
        project=project,
        name=name,
        sections=sections,
        settings=ws.WorkspaceSettings(max_runs=50),
        runset_settings=ws.RunsetSettings(
            groupby=[expr.Config("names.data"), expr.Config("names.arm")],
            pinned_columns=["summary:test/bleu", "summary:test/signature", "config:seed"],
        ),
    )


def chart_id(entity: str, spec: Spec) -> str:
    """The name of an entity's preset, for a panel and for ``logger.chart``."""
    return f"{entity}/{preset_name(spec)}"


def view_slug(name: str) -> str:
    """The part of a workspace's address that stands for its name. It depends on the name alone."""
    return sha256(name.encode()).hexdigest()[:11]


def _chart(api: Any, entity: str, spec: Spec) -> str:
    """Makes the preset, unless it exists. Its name depends on its content, because W&B does not change a preset."""
    import wandb

    try:
        return api.create_custom_chart(
            entity=entity,
            name=preset_name(spec),
            display_name="lookback: a measure against source length",
            spec_type="vega2",
            access="private",
            spec=spec,
        )
    except wandb.Error as error:
        if "exist" not in str(error) and "duplicate" not in str(error).lower():
            raise
        return chart_id(entity, spec)
