"""The README is run: its commands compose, its examples train, its tables name what is there."""

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser

from lookback.commands.launch import COMMANDS
from support.running import CONF, PROJECT, TINY_DATA, TINY_MODEL, TINY_TRAINING, choices

README = (PROJECT / "README.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w/.]+)`\n\n```(?:python|yaml)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL))
SNIPPETS = [
    text
    for text in re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    if text not in FILES.values()
]


def commands() -> list[str]:
    """Every `python SCRIPT.py …` and `lookback NAME …` line of the shell blocks of the README and of the pages in docs,
    continued lines joined."""
    pages = [README, *(path.read_text(encoding="utf-8") for path in (PROJECT / "docs").rglob("*.md"))]
    blocks = re.findall(r"^```bash\n(.*?)^```$", "\n".join(pages), re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    parts = (part.strip() for line in lines for part in line.split("&&"))
    return list(dict.fromkeys(part for part in parts if re.match(r"python \w+\.py\b|lookback \w+ ", part)))


def name_of(command: str) -> str:
    """`train` of `python train.py …`, `align` of `lookback align …`."""
    return command.split()[1].removesuffix(".py")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts and configs in a directory of their own, with the README's example files where it says they go."""
    shutil.copytree(CONF, tmp_path / "conf")
    for script in ("train", "evaluate", "translate", "compare"):
        shutil.copy(PROJECT / f"{script}.py", tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("command", commands())
def test_a_command_composes(command: str, checkout: Path) -> None:
    line = re.sub(r"[<>].*|--cfg \w+|-m |--help|resume=\S+( trust=\S+)?", "", command)
    _, _, *overrides = shlex.split(line)
    parsed = OverridesParser.create().parse_overrides(overrides)
    values = [
        [f"{each.get_key_element()}={value}" for value in each.sweep_string_iterator()]
        if each.is_sweep_override()
        else [each.input_line]
        for each in parsed
    ]
    with initialize_config_dir(str(checkout / "conf"), version_base="1.3"):
        for job in itertools.product(*values):
            assert compose(name_of(command), list(job), return_hydra_config=True)


def test_the_readme_has_every_command() -> None:
    assert {name_of(command) for command in commands()} == set(COMMANDS)


def test_its_attention_is_one_class_and_one_file(checkout: Path) -> None:
    assert sorted(FILES) == ["conf/attention/projected_dot.yaml", "projected_dot.py"]
    command = [
        sys.executable,
        "train.py",
        "attention=projected_dot",
        "hydra.run.dir=run",
        f"data.cache={checkout}/cache",
    ]
    tiny = [*TINY_DATA, *TINY_MODEL, *TINY_TRAINING]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HOME": str(checkout / "cache")}
    done = subprocess.run([*command, *tiny], cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "attention=projected_dot" in done.stdout
    assert (checkout / "run" / "test" / "results.json").is_file()


@pytest.mark.parametrize("text", SNIPPETS, ids=lambda text: text.splitlines()[0])
def test_its_python_runs(text: str, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(text.replace('"DIR"', f'r"{finished}"'), "README.md", "exec"), {})


def test_its_table_of_groups_is_complete() -> None:
    table = README.partition("| group | choices |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^;:\n]*)", table, re.MULTILINE))
    named = {group: sorted(re.findall(r"`(\w+)`", text)) for group, text in rows.items()}
    assert named == {path.name: choices(path.name) for path in CONF.iterdir() if path.is_dir()}


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)\)", README))))
def test_what_it_links_to_is_there(target: str) -> None:
    assert (PROJECT / target).exists()


def test_every_measured_number_is_filled_in() -> None:
    assert not re.findall(r"\{\{\w+\}\}", README)
