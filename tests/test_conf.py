"""Every file of every config group composes, builds and trains: a choice is tested the day its file is added."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import hydra
import pytest

from support.running import CONF, PROJECT, TINY_DATA, TINY_MODEL, TINY_TRAINING, choices, compose, run

GROUPS = sorted(path.name for path in CONF.iterdir() if path.is_dir() and path.name != "hydra")
CHOICES = [
    (group, choice)
    for group in GROUPS
    for choice in choices(group)
    if group != "model" or choice not in choices("attention")  # such a model is the attention, see below
]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")


def tokenizer_files(folder: Path) -> list[str]:
    """The overrides that name a tokenizer.json for each side."""
    import pyarrow as pa

    from lookback.data import CharacterTokenization

    texts = {"source": ["a sentence of letters"], "target": ["une phrase de lettres"]}
    pair = CharacterTokenization().learn(lambda side: iter([pa.array(texts[side])]))
    for side, tokenizer in zip(texts, pair, strict=True):
        tokenizer.save(folder / f"{side}.json")
    return [f"tokenizer.{side}={folder / side}.json" for side in texts]


@pytest.mark.parametrize(("group", "choice"), CHOICES)
def test_a_choice_trains(group: str, choice: str, tmp_path: Path, text_files: list[str], grammar_cache: str) -> None:
    from lookback.runs import read_results

    if (group, choice) == ("data", "text"):
        data = text_files
    elif (group == "data" and choice != "grammar") or choice == "multi30k":  # the experiment's data, too
        data = records(choice, tmp_path / "corpus")
    else:
        data = [grammar_cache]
    if (group, choice) == ("tokenizer", "file"):
        data = [*data, *tokenizer_files(tmp_path / "tokenizer")]
    if choice == "vaswani2017":
        data = [*data, "batch.unit=sentences"]  # the tiny size counts them
    record = run(tmp_path, *data, f"{group}={choice}", tiny_data=grammar_cache in data)
    assert read_results(tmp_path / "test" / "results.json") == record
    assert record["cost"]["updates"] == 3
    assert (tmp_path / "checkpoints" / "best.ckpt").is_file()


@pytest.mark.parametrize("attention", choices("attention"))
def test_every_attention_is_a_model_of_that_name(attention: str, tmp_path: Path) -> None:
    """So that one sweep of `model` has them and whole other networks."""
    alone = compose(tmp_path, f"attention={attention}", tiny=False)
    assert compose(tmp_path, f"model={attention}", tiny=False) == alone


def test_a_choice_beside_the_model_that_makes_it_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(PROJECT / "train.py"), "model=dot", "attention=none", f"hydra.run.dir={tmp_path}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "error: attention=…: model=dot chooses it; expected one of the two" in result.stderr


def test_a_choice_that_the_model_leaves_open_is_taken(tmp_path: Path, grammar_cache: str) -> None:
    command = [sys.executable, str(PROJECT / "train.py"), "model=dot", "encoder=lstm", "decoder=lstm", "--cfg", "job"]
    assert "cell: lstm" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
    from lookback.commands.train import _chosen_by

    assert [_chosen_by(model) for model in ("dot", "transformer", "nowhere")] == [
        ["attention"],
        *([["attention", "encoder", "decoder"]] * 2),
    ]


def records(choice: str, folder: Path) -> list[str]:
    """Write what `data=CHOICE` reads, in the layout of the Hub or as files; the overrides that name it."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    overrides = ["data.source_language=de", "data.target_language=en"]
    data = compose(folder, f"data={choice}", *overrides, "data.path=x", tiny=False).data
    rows = [{data.source_field: f"{i} {i % 7}", data.target_field: f"{i % 7} {i}"} for i in range(60)]
    if "files" in data:
        write = {
            "json": lambda path: path.write_text("".join(json.dumps(row) + "\n" for row in rows)),
            "csv": lambda path: path.write_text("\n".join(",".join(row) for row in [rows[0], *map(dict.values, rows)])),
            "parquet": lambda path: write_table(pa.Table.from_pylist(rows), path),
        }[choice]
        folder.mkdir()
        write(folder / f"all.{choice}")
        overrides += [f"data.files.train='{folder}/*.{choice}'"]
    else:
        table = pa.Table.from_pylist([nested(row) for row in rows])
        place = folder / (data.data_dir if data.get("data_dir") else "") / "data"
        place.mkdir(parents=True)
        for split in ("train", "validation", "test"):
            write_table(table.slice(0, 60 if split == "train" else 8), place / f"{split}-00000-of-00001.parquet")
        if data.name is not None:
            parts = [{"split": split, "path": f"data/{split}-*"} for split in ("train", "validation", "test")]
            card = {"configs": [{"config_name": data.name, "data_files": parts}]}
            (folder / "README.md").write_text(f"---\n{json.dumps(card)}\n---\n")
        overrides += [f"data.path='{folder}'"]
    if "files" in data or "[" in data.train.split:  # the slices are those of the real size
        overrides += [f"data.{split}.split='train[{part}]'" for split, part in SLICES.items()]
    return [*overrides, "data.limit=40"]


def test_what_configs_have_in_common_is_no_choice(tmp_path: Path) -> None:
    """A base file is offered nowhere: not by the message about a choice that is not there, and not by a group."""
    from hydra.errors import MissingConfigException

    from lookback.common.configs import explain

    assert {path.stem for path in (CONF / "data" / "base").iterdir()} == {"pairs", "splits"}
    with pytest.raises(MissingConfigException) as caught:
        compose(tmp_path, "data=base", tiny=False)
    assert explain(caught.value) == f"data=base: no such choice; expected one of {', '.join(choices('data'))}"


SLICES = {"train": "20:", "validation": ":10", "test": "10:20"}


def nested(row: dict[str, str]) -> dict[str, Any]:
    """`{"a.b": 1}` as `{"a": {"b": 1}}`"""
    tree: dict[str, Any] = {}
    for name, value in row.items():
        *outer, last = name.split(".")
        inside = tree
        for part in outer:
            inside = inside.setdefault(part, {})
        inside[last] = value
    return tree


@pytest.mark.parametrize("command", ["train", "evaluate", "translate", "align", "compare", "doctor"])
def test_a_command_composes_and_opens_with_how_to_type_it(command: str) -> None:
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        assert hydra.compose(command)
    assert (CONF / f"{command}.yaml").read_text().splitlines()[0:2][command == "compare"].startswith("#")
    opening = (CONF / f"{command}.yaml").read_text().split("defaults:")[0]
    assert f"python {command}.py" in opening or f"lookback {command}" in opening


@pytest.mark.parametrize("experiment", choices("experiment"))
def test_an_experiment_opens_with_its_command_and_fixes_its_seed(experiment: str, tmp_path: Path) -> None:
    package, opening, *_ = (CONF / "experiment" / f"{experiment}.yaml").read_text().splitlines()
    assert package == "# @package _global_"
    assert opening.startswith("# python train.py")
    assert f"experiment={experiment}" in opening
    assert "\nseed: 1\n" in (CONF / "experiment" / f"{experiment}.yaml").read_text()


@pytest.mark.parametrize(
    ("experiment", "parameters"), [("bahdanau2015", 80e6), ("luong2015", 230e6), ("vaswani2017", 63e6)]
)
def test_the_papers_networks_have_their_sizes(experiment: str, parameters: float, tmp_path: Path) -> None:
    import torch

    from lookback.translation.build import build_model

    config = compose(tmp_path, f"experiment={experiment}", tiny=False)
    with torch.device("meta"):
        size = config.tokenizer.vocabulary_size
        model = build_model(config, size, size, share_embeddings=config.tokenizer.joint)
    assert sum(parameter.numel() for parameter in model.parameters()) == pytest.approx(parameters, rel=0.02)


@pytest.mark.parametrize(
    ("experiment", "direction", "enters"),
    [("cho2014", "forward", ["init", "step", "readout"]), ("sutskever2014", "backward", ["init"])],
)
def test_a_paper_without_attention_is_an_arm_of_its_own_name(
    experiment: str, direction: str, enters: list[str], tmp_path: Path
) -> None:
    """With a vector of as many numbers as that of `none`, which stays the attention underneath."""
    from lookback.nn import FixedContext
    from lookback.translation.build import build_model

    none = compose(tmp_path, "attention=none", tiny=False)
    config = compose(tmp_path, f"experiment={experiment}", tiny=False)
    assert config.names.arm == experiment
    assert (config.encoder.direction, list(config.decoder.context_to)) == (direction, enters)
    model, other = (build_model(each, 50, 50) for each in (config, none))
    assert isinstance(model.decoder.attention, FixedContext)
    assert model.encoder.memory_size == other.encoder.memory_size == 256
    same = ("batch", "scheduler", "trainer", "loss")
    assert {key: config[key] for key in same} == {key: none[key] for key in same}
    # none's own rate is tuned for another encoder
    assert {**config.optimizer, "lr": None} == {**none.optimizer, "lr": None}
    assert config.optimizer.lr == 0.004


def test_the_sums_of_the_papers_are_their_recipes(tmp_path: Path) -> None:
    recipes = ("bahdanau2015", "luong2015")
    assert {compose(tmp_path, f"experiment={name}", tiny=False).loss.normalize for name in recipes} == {"sentences"}
    assert compose(tmp_path, tiny=False).loss.normalize == "tokens"


def test_every_recipe_of_a_paper_lists_its_departures() -> None:
    recipes = [name for name in choices("experiment") if name[-4:].isdigit()]
    assert len(recipes) == 5
    for name in recipes:
        text = (CONF / "experiment" / f"{name}.yaml").read_text()
        assert "# Departures from the paper" in text, name
        assert text.count("\n# - ") >= 4, name


def test_the_sizes_that_the_headers_say_compose(tmp_path: Path) -> None:
    """Each `key=value` of the papers' sizes and training, as typed."""
    for name in ("cho2014", "sutskever2014"):
        text = (CONF / "experiment" / f"{name}.yaml").read_text()
        header = text.partition("At the sizes of")[2].partition("# Departures")[0]
        typed = re.findall(r"(?<!\S)[a-z_]+(?:\.[a-z_]+)*=[^\s,]+", header)
        assert len(typed) > 10
        assert compose(tmp_path, f"experiment={name}", *typed, tiny=False).loss.normalize == "sentences"


def test_a_misspelt_key_of_a_constructor_is_refused(tmp_path: Path, grammar_cache: str) -> None:
    from lookback.common.errors import InputError

    with pytest.raises(InputError, match=r"^decoder\.hiden_size: no such setting; .*; did you mean hidden_size\?$"):
        run(tmp_path, grammar_cache, "+decoder.hiden_size=3")


def test_a_fifth_attention_is_one_class_and_one_file(tmp_path: Path, grammar_cache: str) -> None:
    """Defined outside the package and trained by the real command: nothing else knows of it."""
    (tmp_path / "fifth.py").write_text('''
import torch
from lookback.nn import Attention


class NearestAttention(Attention):
    """e_tj = −‖W h_t − h_j‖² / scale"""

    def __init__(self, query_size, memory_size, scale):
        super().__init__(query_size, memory_size)
        self.from_query = torch.nn.Linear(query_size, memory_size, bias=False)
        self.scale = scale

    def keys(self, states):
        return states

    def energies(self, query, keys):
        return -((self.from_query(query).unsqueeze(2) - keys.unsqueeze(1)) ** 2).sum(-1) / self.scale
''')
    (tmp_path / "conf" / "attention").mkdir(parents=True)
    (tmp_path / "conf" / "attention" / "nearest.yaml").write_text("""
# @package _global_
attention:
  _target_: fifth.NearestAttention
  scale: 2.0
decoder:
  query: current
""")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    command = [
        *(sys.executable, str(PROJECT / "train.py"), "--config-dir", str(tmp_path / "conf"), "attention=nearest"),
        *(*TINY_DATA, *TINY_MODEL, *TINY_TRAINING, grammar_cache, "hydra.run.dir=run"),
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    from lookback.runs import read_results

    assert read_results(tmp_path / "run" / "test" / "results.json")["attention"] == "nearest"
