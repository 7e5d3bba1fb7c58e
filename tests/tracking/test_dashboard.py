"""The W&B workspace: what it shows is what a run logs; without a key nothing is sent."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hydra
import pytest
from omegaconf import DictConfig, OmegaConf

from lookback.commands.dashboard import dashboard
from lookback.common.errors import InputError
from lookback.tracking.custom_chart import length_curve_spec, preset_name
from lookback.tracking.dashboard import CHART_MEASURES, view_slug
from support.running import CONF, choices, run

pytest.importorskip("wandb_workspaces")


def composed(*overrides: str) -> DictConfig:
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return hydra.compose("dashboard", list(overrides))


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without a key and without a network, on which whoever opens a connection or asks a question fails."""
    for name in [name for name in os.environ if name.startswith("WANDB")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NETRC", "/nowhere/netrc")
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("prompted"))
    wanted = []

    def refuse(_: socket.socket, address: Any) -> None:
        # an error that any thread survives: W&B's own would be dead after pytest.fail, and who asks it wait for ever
        wanted.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    yield
    assert not wanted


@pytest.fixture
def printed(no_key: None, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    dashboard(composed("project=demo", "entity=me"))
    return json.loads(capsys.readouterr().out)


def panels(printed: dict[str, Any], kind: str | None = None) -> list[dict[str, Any]]:
    sections = printed["workspace"]["spec"]["section"]["panelBankConfig"]["sections"]
    return [panel for section in sections for panel in section["panels"] if kind in (None, panel["viewType"])]


def test_without_a_key_it_is_printed_and_nothing_is_sent(printed: dict[str, Any]) -> None:
    workspace = printed["workspace"]
    assert (workspace["entity"], workspace["project"], workspace["displayName"]) == ("me", "demo", "lookback")
    (runs,) = workspace["spec"]["section"]["runSets"]
    assert [key["name"] for key in runs["grouping"]] == ["names.value.data", "names.value.arm"]


def test_what_is_printed_is_a_workspace_that_wandb_workspaces_reads(printed: dict[str, Any]) -> None:
    from wandb_workspaces.workspaces import Workspace
    from wandb_workspaces.workspaces.internal import View

    read = Workspace._from_model(View.model_validate(printed["workspace"]))
    assert [section.name for section in read.sections][:2] == ["Length curve", "By source length"]
    assert sum(len(section.panels) for section in read.sections) == len(panels(printed))


def test_the_custom_charts_are_the_preset_that_is_printed_beside(printed: dict[str, Any]) -> None:
    (chart,) = printed["charts"]
    attentions = list(OmegaConf.load(CONF / "dashboard.yaml").attentions)
    assert chart["spec"] == length_curve_spec(attentions)
    assert chart["name"] == preset_name(chart["spec"])
    drawn = panels(printed, "Vega2")
    assert [panel["config"]["fieldSettings"]["bleu"] for panel in drawn] == list(CHART_MEASURES)
    text = json.dumps(chart["spec"])
    for panel in drawn:
        assert panel["config"]["panelDefId"] == f"me/{chart['name']}"
        assert all(f"${{field:{name}}}" in text for name in panel["config"]["fieldSettings"])
        assert all(f"${{string:{name}}}" in text for name in panel["config"]["stringSettings"])


def test_every_panel_reads_what_a_run_logs(
    printed: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, grammar_cache: str
) -> None:
    monkeypatch.undo()  # W&B's own process is spoken to over a socket
    monkeypatch.setenv("WANDB_MODE", "offline")
    # half_length, which a training that learns nothing does not have, is in the summary where results.json has it
    run(tmp_path, grammar_cache, "logger=wandb")
    (written,) = (tmp_path / "wandb").glob("offline-run-*")
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(written)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, timeout=120)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    logged = {key for record in records if record["type"] == "history" for key in record["history"]["item"]}
    logged |= {key for record in records if record["type"] == "summary" for key in record["summary"]["update"]}
    logged |= {key.removesuffix("._type") for key in logged}
    unknown = {"test/half_length", "test/retention"}

    read: set[str] = set()
    for panel in panels(printed):
        config = panel["config"]
        read |= {*config.get("metrics", []), *config.get("mediaKeys", [])}
        read |= {config["xAxis"]} if "xAxis" in config else set()
        if panel["viewType"] == "Vega2":
            fields = config["userQuery"]["queryFields"][0]["fields"]
            read |= {arg["value"] for field in fields for arg in field.get("args", [])}
        if panel["viewType"] == "Weave":
            read.add(config["panel2Config"]["exp"]["fromOp"]["inputs"]["key"]["val"])
    assert read >= {"bleu_by_length/length", "alignment/long", "length_curve_table", "tables/by_length"}
    assert read - unknown <= logged, sorted(read - unknown - logged)


class Server:
    """What `wandb.Api` is asked for; it has a preset already, if `taken`."""

    default_entity = "me"

    def __init__(self, taken: bool = False) -> None:
        self.taken = taken
        self.charts: list[dict[str, Any]] = []
        self.projects: list[tuple[str, str]] = []

    def create_custom_chart(self, entity: str, name: str, **about: Any) -> str:
        import wandb

        if self.taken:
            raise wandb.Error(f"custom chart {name} already exists")
        self.charts.append({"entity": entity, "name": name, **about})
        return f"{entity}/{name}"

    def create_project(self, name: str, entity: str) -> None:
        self.projects.append((name, entity))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    from wandb_workspaces.workspaces import internal

    found = Server()
    views: dict[str, dict[str, Any]] = {}

    def upsert(view: Any) -> dict[str, Any]:
        identity = views.get(view.name, {}).get("id", f"id{len(views)}")
        assert view.id in ("", identity), "an existing workspace is updated by its id"
        assert view.id == identity or view.name not in views
        content = view.spec.model_dump_json(by_alias=True, exclude_none=True)
        views[view.name] = {"id": identity, "displayName": view.display_name, "spec": content}
        return {"upsertView": {"view": {"id": identity, "name": view.name}}}

    def view_of(entity: str, project: str, name: str) -> dict[str, Any]:
        if f"nw-{name}-v" not in views:
            raise ValueError(f"Workspace `{name}` not found in project `{project}`")
        return views[f"nw-{name}-v"]

    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    monkeypatch.setattr("wandb.Api", lambda: found)
    monkeypatch.setattr("wandb_workspaces.workspaces.interface.get_app_url", lambda api: "https://wandb.ai")
    monkeypatch.setattr(internal, "upsert_view2", upsert)
    monkeypatch.setattr(internal, "get_view_dict", view_of)
    found.views = views  # type: ignore[attr-defined]
    return found


def test_with_a_key_it_is_made_once_and_then_made_anew(server: Any, capsys: pytest.CaptureFixture[str]) -> None:
    dashboard(composed("project=demo"))
    said = capsys.readouterr().out
    (chart,) = server.charts
    assert (chart["entity"], chart["spec_type"], chart["access"]) == ("me", "vega2", "private")
    assert server.projects == [("demo", "me")]
    assert f"https://wandb.ai/me/demo?nw={view_slug('lookback')}" in said
    assert f"logger.chart=me/{chart['name']}" in said

    server.taken = True  # the same preset
    dashboard(composed("project=demo"))
    assert len(server.views) == 1
    dashboard(composed("project=demo", "name=another"))
    assert len(server.views) == 2


def test_what_wandb_refuses_is_said_in_one_line(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    def refuse(*_: Any) -> None:
        raise wandb.Error("permission\ndenied")

    monkeypatch.setattr(server, "create_project", refuse)
    with pytest.raises(InputError, match=r"^dashboard: W&B refused: permission denied$"):
        dashboard(composed("project=demo"))


def test_without_wandb_workspaces_one_line_says_what_to_install(no_key: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb_workspaces", None)
    with pytest.raises(InputError, match=r'expected `pip install -e "\.\[dashboard\]"` first'):
        dashboard(composed("project=demo"))


def test_every_attention_of_the_project_has_a_colour() -> None:
    assert sorted(OmegaConf.load(CONF / "dashboard.yaml").attentions) == choices("model")


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import runpy, sys\nsys.argv = ['lookback', 'dashboard', '--help']\n"
        "try: runpy.run_module('lookback', run_name='__main__')\n"
        "except SystemExit: pass\nprint('LOADED', *sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout
    assert "attentions" in said
    assert not {"torch", "lightning", "wandb", "altair", "wandb_workspaces"} & set(said.rpartition("LOADED")[2].split())


def test_with_a_key_too_one_line_says_what_to_install(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb_workspaces", None)
    with pytest.raises(InputError, match=r'expected `pip install -e "\.\[dashboard\]"` first'):
        dashboard(composed("project=demo"))
    assert not server.projects


def test_an_account_without_an_entity_is_told_which_key_to_set(server: Any) -> None:
    server.default_entity = None
    with pytest.raises(InputError, match=r"^entity=null: expected a name"):
        dashboard(composed("project=demo"))
