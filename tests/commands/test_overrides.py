"""Arguments made ready for Hydra: paths of any name, and lines that a stranger's run was started with."""

import os
from pathlib import Path

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import OverrideParseException
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from lookback.commands.launch import resumed_arguments, trusting, typed_trust
from lookback.commands.overrides import check_overrides, quoted, quoted_paths
from lookback.common.configs import explain
from lookback.common.errors import InputError
from lookback.common.trust import trusted_names
from support.jobs import show


def understood(argument: str) -> str:
    """The value that a config gets of an argument of the command line."""
    config = OmegaConf.create({"key": None})
    config.key = OverridesParser.create().parse_override(argument).value()
    return config.key


@given(st.text(alphabet="ab\\'\"${}=,()[] é日:#~.", min_size=1, max_size=10))
def test_a_quoted_text_is_the_text(text: str) -> None:
    assert understood(f"key={quoted(text)}") == text


@pytest.mark.parametrize(
    "name", ["a=b", "a,b", "it's", "a{b}", "été", "日本", "a b", "x (1)", "[a]", "${a}", "#1", "a\\"]
)
def test_a_path_of_any_name_is_taken_as_typed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    for typed in (name, f"{tmp_path}/{name}"):
        (argument,) = quoted_paths([f"run={typed}"])
        assert understood(argument) == typed


def test_what_hydra_reads_as_a_text_or_number_stays_as_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("1", "null", "true", "plain"):
        (tmp_path / name).mkdir()
    typed = ["seed=1", "input=null", "scores=true", "run=plain", "-m", "attention=none,dot", "run='a b'", "~x", "a=b=c"]
    assert quoted_paths(typed) == typed
    assert quoted_paths(["out=new,file.txt"]) == ["out='new,file.txt'"]


HONEST = [
    "attention=none",
    "+experiment=smoke",
    "decoder.hidden_size=64",
    "+callbacks.stop={_target_: lightning.pytorch.callbacks.EarlyStopping, monitor: validation/bleu}",
    "~callbacks.budgets",
    "data.train.source='/somewhere/else/train.en'",
    "unknown_words=copy",
    "logger=csv",
    "logger=wandb",
    "~logger",
    "data.cache=null",
    "encoder.hidden_size=${decoder.hidden_size}",
    "names.arm='a b, c'",
    "data.files.train='part-*.jsonl'",
    "decoder.context_to=[init,step]",
    "learning_rate=1e-3",
    "++trainer.max_time=null",
    "callbacks.checkpoint.monitor=validation/bleu",
]


def test_the_lines_of_a_run_of_ours_are_its_settings(tmp_path: Path) -> None:
    check_overrides(HONEST, tmp_path, frozenset())
    check_overrides([f"callbacks.last.path='{tmp_path}/checkpoints/last.ckpt'"], tmp_path, frozenset())


STRANGE = [
    "--config-dir=/tmp/evil",
    "-m",
    "--multirun",
    "-cd=/tmp/evil",
    "hydra.run.dir=/tmp/x",
    "+hydra.callbacks.x._target_=evil.Callback",
    "hydra/launcher=evil",
    "hydra=evil",
    "++hydra.job_logging.handlers.x={'()': os.system}",
    "+data@hydra.callbacks.x=hub",
    "+data@_global_.hydra.callbacks.x=hub",
    "hydra.searchpath=[file:///tmp/evil]",
    "+experiment=../../tmp/evil",
    "attention=/tmp/evil",
    "experiment=[smoke,../evil]",
    "+search.x={_target_: sympy.sympify, _args_: [1]}",
    "+search.x._target_=sympy.sympify",
    "search._target_=lookback.search.BeamSearch.x",
    "+search.x=[{a: [{_target_: 'builtins.open'}]}]",
    "search._target_=${names.arm}",
    "names.arm=${oc.env:SECRET}",
    "names.arm='a ${oc.env:SECRET} b'",
    "names.arm=${hydra:runtime.cwd}",
    "names.arm=${oc.decode:${names.data}}",
    "+names.x=[{a: '${oc.env:SECRET}'}]",
    "callbacks.checkpoint.dirpath=/tmp",
    "callbacks.checkpoint.dirpath=elsewhere",
    "callbacks.last.path=${names.arm}",
    "callbacks.checkpoint.filename=../../x",
    "callbacks.checkpoint.filename=/tmp/x",
    "callbacks={checkpoint: {dirpath: /tmp}}",
    "+callbacks.last={path: ~/x}",
    "logger.directory=/tmp",
    "logger.entity=a_stranger",
    "logger.project=public",
    "logger.mode=online",
    "logger={entity: a_stranger}",
    "++logger._target_=lookback.tracking.wandb_logger",
    "+encoder.x={_target_: lookback.tracking.wandb_logger, directory: /tmp, project: x}",
    "encoder._target_=lookback.tracking.wandb_logger",
    "unknown_words=../words.txt",
    "unknown_words=/etc/passwd",
    "unknown_words=${names.arm}",
    "data.cache=/somewhere",
    "data.cache=../elsewhere",
    "data.cache=${names.arm}",
    "data={_target_: lookback.data.GrammarCorpus, cache: /somewhere}",
    "seed=1,2",
    "seed=range(1,3)",
    "a b",
    "",
    "x=" + "[" * 1500,
]


@pytest.mark.parametrize("line", STRANGE, ids=lambda line: line[:40])
def test_a_strangers_line_is_refused_in_one_line(line: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^resume=\S+: \.hydra/overrides\.yaml: ") as caught:
        check_overrides([line], tmp_path, frozenset())
    assert "\n" not in str(caught.value)


def resumed(directory: Path, lines: list[str], *typed: str) -> list[str]:
    (directory / ".hydra").mkdir(exist_ok=True)
    (directory / ".hydra" / "overrides.yaml").write_text(yaml.safe_dump(lines))
    return resumed_arguments([f"resume={directory}", *typed])


def test_what_is_typed_again_or_trusted_is_the_users(tmp_path: Path) -> None:
    own = "+callbacks.x={_target_: mine.Callback}"
    with pytest.raises(InputError, match=r"trust=mine\.Callback allows it"):
        resumed(tmp_path, [own, "seed=2"])
    other = "+callbacks.y={_target_: mine.Other}"  # what one line has is still to be trusted where another is refused
    with pytest.raises(InputError, match=r"trust='\[mine\.Callback, mine\.Other\]' allows it"):
        resumed(tmp_path, [other, own], "trust=mine.Callback")
    directory = ("hydra.mode=RUN", f"hydra.run.dir='{tmp_path}'")
    assert resumed(tmp_path, [own, "seed=2"], own) == ["seed=2", *directory, own]
    assert resumed(tmp_path, [own, "seed=2"], "trust=mine.Callback", "seed=3") == [own, "seed=2", *directory, "seed=3"]
    assert resumed(tmp_path, [own], "trust=[mine.Callback, else.Other]") == [own, *directory]
    sent = "logger.entity=mine"
    with pytest.raises(InputError, match=r"logger\.entity=mine: says where .*; type this line again beside resume="):
        resumed(tmp_path, [sent, "logger=wandb"])
    assert resumed(tmp_path, [sent, "logger=wandb"], sent) == ["logger=wandb", *directory, sent]
    secret = "names.arm=${oc.env:WHO}"
    with pytest.raises(InputError, match=r"names\.arm=\$\{oc\.env:WHO\}: reads the environment"):
        resumed(tmp_path, [secret])
    assert resumed(tmp_path, [secret], secret) == [*directory, secret]
    assert resumed(tmp_path, [secret], "trust=oc.env") == [secret, *directory]
    check_overrides(["callbacks.x._target_=mine.Callback"], tmp_path, trusted_names(["mine.Callback"]))


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_file_that_is_a_link_out_of_the_run_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    run = tmp_path / "run"
    (run / ".hydra").mkdir(parents=True)
    (run / ".hydra" / "config.yaml").symlink_to(tmp_path / "precious")
    with pytest.raises(InputError, match=r"config\.yaml is a link that leads out of the run"):
        resumed(run, [])
    (run / ".hydra" / "config.yaml").unlink()
    (run / "inside").write_text("x")
    (run / ".hydra" / "config.yaml").symlink_to(run / "inside")
    (run / "wandb" / "run-1").mkdir(parents=True)
    (run / "wandb" / "debug-core.log").symlink_to(tmp_path / "precious")  # as W&B leaves one
    (run / "wandb" / "latest-run").symlink_to("run-1")
    assert resumed(run, []) == ["hydra.mode=RUN", f"hydra.run.dir='{run}'"]


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("checkpoints", "../elsewhere"),  # a folder
        (".hydra", "../elsewhere"),
        ("train.log", "../not/there"),  # a file that would be made
        ("test/results.json", "/dev/zero"),
        ("wandb/run-id", "../../precious"),
        ("wandb/other", "../../elsewhere"),
        ("debug.log", "../precious"),
    ],
)
def test_no_link_leads_out_of_a_run(name: str, to: str, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "overrides.yaml").write_text("- seed=1\n")
    run = tmp_path / "run"
    (run / name).parent.mkdir(parents=True)
    if name != ".hydra":
        (run / ".hydra").mkdir()
    (run / name).symlink_to(to)
    with pytest.raises(InputError, match=rf"{name} is a link that leads out of the run"):
        resumed_arguments([f"resume={run}"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such pipes there")
def test_no_pipe_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "train.log")
    with pytest.raises(InputError, match=r"train\.log is a pipe or a device"):
        resumed(tmp_path, [])


@pytest.mark.filterwarnings("ignore:\\s*.hydra.launcher")
def test_a_sweep_imports_nothing_that_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """All its jobs are checked, which imports what they name, before the first begins and is refused."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "strange.py").write_text("open('ran', 'w')\n\n\nclass Attention:\n    pass\n")
    (tmp_path / "conf" / "attention").mkdir(parents=True)
    chosen = "# @package _global_\nattention:\n  _target_: strange.Attention\n"
    (tmp_path / "conf" / "attention" / "strange.yaml").write_text(chosen)
    (tmp_path / "sweep").mkdir()
    lines = {"hydra": {"overrides": {"task": ["attention=strange", "seed=1,2"]}}}
    (tmp_path / "sweep" / "multirun.yaml").write_text(yaml.safe_dump(lines))
    assert show(monkeypatch, "-m", "resume=sweep") != 0
    assert "resume=sweep: attention._target_=strange.Attention: this is no class or function" in capfd.readouterr().err
    assert not (tmp_path / "ran").exists()


def test_a_resumed_config_is_checked_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name may come from a file of configs that a line chose."""
    config = OmegaConf.create({"attention": {"_target_": "scaled_dot.ScaledDotAttention"}})
    called = []
    with pytest.raises(SystemExit):
        trusting(called.append, tmp_path, frozenset())(config)
    assert "trust=scaled_dot.ScaledDotAttention allows it" in capsys.readouterr().err
    assert called == []
    trusting(called.append, tmp_path, typed_trust(["trust=scaled_dot.ScaledDotAttention"]))(config)
    assert called == [config]


def test_a_value_that_hydra_refuses_is_to_be_quoted() -> None:
    with pytest.raises(OverrideParseException) as caught:
        OverridesParser.create().parse_overrides(["run=no/such=run"])
    said = explain(caught.value)
    assert said is not None
    assert said.startswith("run=no/such=run: expected key=value")
    assert said.endswith("""a value with other characters has quotes inside the shell's: 'run="…"'""")
