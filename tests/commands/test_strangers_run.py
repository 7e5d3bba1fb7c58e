"""A run directory of a stranger's: opening it runs nothing, reads no secret, and takes no memory out of proportion."""

import json
import os
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import hydra
import pytest
import torch

import lookback
from lookback.commands.align import align
from lookback.commands.doctor import examine_run
from lookback.commands.evaluate import evaluate
from lookback.commands.translate import translate
from lookback.common.errors import InputError
from support.running import CONF

COMMANDS: dict[str, Callable[[Any], Any]] = {
    "align": align,
    "doctor": examine_run,
    "evaluate": evaluate,
    "translate": translate,
}


class Touch:
    """What an unpickled one does: it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mknod, (str(self.path),)


def attacks(folder: Path) -> dict[str, dict[str, Any]]:
    """Calls that each make the file ``folder/ran``. Hydra's own block list lets all of them through."""
    ran = folder / "ran"
    pickled = folder / "pickled"
    pickled.write_bytes(pickle.dumps(Touch(ran)))
    torch.save(Touch(ran), folder / "saved")
    path = {"_target_": "pathlib.Path", "_args_": [str(ran)]}
    return {
        "sympify": {"_target_": "sympy.sympify", "_args_": [f"__import__('os').mknod({str(ran)!r})"]},
        "torch.load": {"_target_": "torch.load", "f": str(folder / "saved"), "weights_only": False},
        "numpy.load": {"_target_": "numpy.load", "file": str(pickled), "allow_pickle": True},
        "read_pickle": {"_target_": "pandas.read_pickle", "_args_": [str(pickled)]},
        "open": {"_target_": "builtins.open", "_args_": [str(ran), "w"]},
        "write_text": {"_target_": "pathlib.Path.write_text", "_args_": [path, "x"]},
    }


ATTACKS = ("sympify", "torch.load", "numpy.load", "read_pickle", "open", "write_text")


def changed(run: Path, copy: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """A copy of a run with another best checkpoint."""
    shutil.copytree(run, copy, ignore=shutil.ignore_patterns("last.ckpt", "wandb", "evaluations"))
    path = copy / "checkpoints" / "best.ckpt"
    checkpoint = torch.load(path, weights_only=True)
    found = change(checkpoint)
    torch.save(checkpoint if found is None else found, path)
    return copy


def opened(command: str, *overrides: str) -> Any:
    """What `python COMMAND.py OVERRIDES` does."""
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose(command, list(overrides))
    return COMMANDS[command](config)


@pytest.fixture
def text(tmp_path: Path) -> list[str]:
    for side in ("source", "target"):
        (tmp_path / side).write_text("he sleeps .\n")
    return [f"source='{tmp_path}/source'", f"target='{tmp_path}/target'"]


@pytest.mark.parametrize(
    ("attack", "command"),
    [
        *((attack, "translate") for attack in ATTACKS),
        *(("sympify", each) for each in ("evaluate", "align", "reverse", "doctor")),
    ],
)
def test_nothing_of_it_is_called(attack: str, command: str, finished: Path, tmp_path: Path, text: list[str]) -> None:
    call = attacks(tmp_path)[attack]
    run = changed(finished, tmp_path / "run", lambda found: found["config"]["decoder"].update(x=call))
    (tmp_path / "input").write_text("he sleeps .\n")
    typed = {
        "translate": ["translate", f"run='{run}'", f"input='{tmp_path}/input'"],
        "evaluate": ["evaluate", f"run='{run}'", f"out='{tmp_path}/out'", "accelerator=cpu"],
        "doctor": ["doctor", f"run='{run}'"],
        "align": ["align", f"run='{run}'", *text],
        "reverse": ["align", f"run='{finished}'", f"reverse='{run}'", *text],
    }[command]
    with pytest.raises(Exception, match="decoder") as caught:
        opened(*typed)
    assert not (tmp_path / "ran").exists()
    assert isinstance(caught.value, InputError)
    assert f"decoder.x._target_={call['_target_']}: this is no class or function of lookback's own" in str(caught.value)
    assert re.search(r"; trust=\S.* allows it, if you know what it does$", str(caught.value))


@pytest.mark.parametrize("section", ["search", "data", "optimizer", "scheduler", "tokenizer"])
def test_what_only_a_test_builds_is_checked_too(section: str, finished: Path, tmp_path: Path) -> None:
    call = attacks(tmp_path)["sympify"]
    run = changed(finished, tmp_path / "run", lambda found: found["config"][section].update(x=call))
    with pytest.raises(InputError, match=rf"run=\S+: {section}\.x\._target_=sympy\.sympify"):
        lookback.load(run, device="cpu")
    assert not (tmp_path / "ran").exists()


def test_what_a_section_does_not_build_is_not_called_inside_it(finished: Path, tmp_path: Path) -> None:
    """Hydra would call it before the encoder refuses an argument ``x``, and it writes files."""
    logger = {"_target_": "lookback.tracking.wandb_logger", "directory": str(tmp_path / "ran"), "project": "x"}
    run = changed(finished, tmp_path / "run", lambda found: found["config"]["encoder"].update(x=logger))
    with pytest.raises(InputError, match=r"encoder\.x\._target_=\S+: this is lookback's own, but not built in this"):
        lookback.load(run, device="cpu")
    assert not (tmp_path / "ran").exists()


def test_a_dictionary_of_a_runs_config_is_not_read(finished: Path, tmp_path: Path, text: list[str]) -> None:
    """It may be any file of the user's, and its words would be written."""
    (tmp_path / "words").write_text("he\til\n")
    words = str(tmp_path / "words")
    run = changed(finished, tmp_path / "run", lambda found: found["config"].update(unknown_words=words))
    with pytest.raises(InputError, match=r"unknown_words=\S+ in its config: a file has to be named by yourself"):
        lookback.load(run, device="cpu")
    with pytest.raises(InputError, match="expected unknown_words=FILE, or one of keep, copy"):
        opened("doctor", f"run='{run}'")
    assert lookback.load(run, device="cpu", unknown_words=words).writer.dictionary == {"he": "il"}
    assert lookback.load(run, device="cpu", unknown_words="keep").writer.dictionary is None
    opened("align", f"run='{run}'", *text)  # writes no words


def test_a_corpus_of_a_runs_config_is_written_where_the_users_are(finished: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "place")
    run = changed(finished, tmp_path / "run", lambda found: found["config"]["data"].update(cache=place))
    assert lookback.load(run, device="cpu").config.data.cache is None


@pytest.mark.parametrize(
    ("section", "key", "most"),
    [
        ("search", "beam_size", "2,000"),
        ("search", "limit_extra", "10,000"),
        ("data", "train_pairs", "10,000,000"),
    ],
)
def test_sizes_of_a_runs_config_are_bounded(section: str, key: str, most: str, finished: Path, tmp_path: Path) -> None:
    run = changed(finished, tmp_path / "run", lambda found: found["config"][section].update({key: 2_000_000_000}))
    with pytest.raises(Exception, match=f"{key}=2000000000: expected a whole number, 1 to {most}"):
        opened("evaluate", f"run='{run}'", f"out='{tmp_path}/out'", "accelerator=cpu")


def test_trust_in_something_else_leaves_the_network_checked(finished: Path, tmp_path: Path) -> None:
    """Its size is compared to its weights without memory for it, unless a class of the user's own is part of it."""
    run = changed(finished, tmp_path / "run", lambda found: found["config"]["encoder"].update(layers=90))
    for trust in ("oc.env", "mine.Other"):
        with pytest.raises(InputError, match=r"encoder\.layers=90: there are only"):
            lookback.load(run, device="cpu", trust=trust)


def test_a_class_of_the_users_own_needs_trust(
    finished: Path, tmp_path: Path, text: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the README's own attention: a class in the current directory that a run's config names."""
    (tmp_path / "own_attention.py").write_text(
        "from lookback.nn import AdditiveAttention\n\n\nclass Own(AdditiveAttention):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    name = "own_attention.Own"
    run = changed(finished, tmp_path / "run", lambda found: found["config"]["attention"].update(_target_=name))
    (tmp_path / "input").write_text("he sleeps .\n")
    typed = {
        "translate": [f"run='{run}'", f"input='{tmp_path}/input'"],
        "evaluate": [f"run='{run}'", f"out='{tmp_path}/out'", "accelerator=cpu"],
        "align": [f"run='{run}'", *text],
    }
    for command, overrides in typed.items():
        with pytest.raises(InputError, match=f"trust={name} allows it"):
            opened(command, *overrides)
    for command, overrides in typed.items():
        opened(command, *overrides, f"trust={name}")
    opened("align", *typed["align"], f"trust=[{name}]", f"reverse='{run}'")
    assert capsys.readouterr().out
    assert lookback.load(run, device="cpu", trust=name).translate(["he sleeps ."])
    assert lookback.load(run, device="cpu", trust=[name]).looks_back


def test_a_class_that_is_not_there_is_named(finished: Path, tmp_path: Path) -> None:
    """Trusted, but in a file of its owner's: nothing is wrong with the weights."""
    name = "nowhere_here.Own"
    run = changed(finished, tmp_path / "run", lambda found: found["config"]["attention"].update(_target_=name))
    with pytest.raises(InputError, match=f"run={run}: {name} is not there; expected its file in this directory"):
        lookback.load(run, device="cpu", trust=name)


def test_a_callback_of_a_training_needs_no_trust(finished: Path, tmp_path: Path) -> None:
    """Only a training builds it."""
    mine = {"_target_": "mine.Callback"}
    run = changed(finished, tmp_path / "run", lambda found: found["config"]["callbacks"].update(x=mine))
    assert lookback.load(run, device="cpu").translate(["he sleeps ."])


def test_interpolations_are_not_resolved(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SECRET", "hunter2")
    text = "${oc.env:SECRET}"

    def change(found: dict[str, Any]) -> None:
        found["config"]["names"].update(attention=text, data=text)
        found["config"]["data"]["lexicon"] = text

    run = changed(finished, tmp_path / "run", change)
    model = lookback.load(run, device="cpu")
    assert model.config.names.attention == model.config.data.lexicon == text
    with pytest.raises(InputError) as caught:
        opened("evaluate", f"run='{run}'", f"out='{tmp_path}/out'", "accelerator=cpu")
    assert str(caught.value).startswith(f"data.lexicon={text}: the config of a run may not read the environment")
    with pytest.raises(Exception, match="lexicon=hunter2"):  # as the user asked
        opened("evaluate", f"run='{run}'", f"out='{tmp_path}/out'", "accelerator=cpu", "trust=oc.env")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: [1], "no config in it"),
        (lambda found: {"config": 1, "state_dict": found["state_dict"]}, "no config in it"),
        (lambda found: found.pop("global_step") and None, "no global_step in it"),
        (lambda found: found["state_dict"].update(x=1), "state_dict.x is no tensor"),
        (lambda found: found["state_dict"].update(x=torch.zeros(1).expand(10**12)), "a tensor is larger than"),
        (lambda found: found["state_dict"].update(x=torch.zeros(5, device="meta")), "no values of its own"),
        (lambda found: found["config"].pop("encoder") and None, "not those of its config"),
        (lambda found: found["config"].update(encoder="x"), "not those of its config"),
        (lambda found: found["config"].update(encoder=found["config"]["search"]), "not built in this place"),
        (lambda found: found["config"]["decoder"].update(hidden_size=10**7), "not those of its config"),
        (lambda found: found["config"]["encoder"].update(hidden_size=10**40), "not those of its config"),
        (lambda found: found["config"]["encoder"].update(layers=10**8), "encoder.layers=100000000"),
        (lambda found: found["config"]["decoder"].update(hidden_size=24), "has the shape"),
        (lambda found: found["config"].update(callbacks=[["x"] * 20_000] * 20_000), "its config is too large"),
        (lambda found: found["config"].update(seed=(1, 2)), "seed: found tuple in its config"),
    ],
)
def test_another_checkpoint_is_refused_in_one_line(
    change: Callable[[dict[str, Any]], Any], said: str, finished: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said) as caught:
        lookback.load(changed(finished, tmp_path / "run", change), device="cpu")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_a_packed_checkpoint_is_refused_before_it_is_unpacked(finished: Path, tmp_path: Path) -> None:
    """A kilobyte of it can be a megabyte in memory."""
    run = changed(finished, tmp_path / "run", lambda found: found.update(zeros=torch.zeros(2_000_000)))
    path = run / "checkpoints" / "best.ckpt"
    with ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(InputError, match="its tensors are packed"):
        lookback.load(run, device="cpu")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"padding": {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                      "pad_type_id": 0, "pad_token": "<pad>"}}, "padding: expected null"),
        ({"normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Replace", "pattern": {"Regex": "."}, "content": "e" * 10}] * 10}}, "times as long"),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 20}}, "times as long"),
        ({"decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 10}] * 10}}, "times as long"),
        ({"added_tokens": [{"id": 10**9, "content": "x", "single_word": False, "lstrip": False, "rstrip": False,
                            "normalized": False, "special": False}]}, "ids: expected 0, 1, 2"),
        ({"added_tokens": [{"id": 0, "content": "x" * 100_000, "single_word": False, "lstrip": False, "rstrip": False,
                            "normalized": False, "special": False}]}, "a token of 100,000 characters"),
        ({"model": []}, "not a tokenizer of this project"),
    ],
)  # fmt: skip
def test_a_tokenizer_that_would_fill_the_memory_is_refused(
    change: dict[str, Any], said: str, finished: Path, tmp_path: Path
) -> None:
    run = changed(finished, tmp_path / "run", lambda found: None)
    path = run / "tokenizer" / "source.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=said) as caught:
        lookback.load(run, device="cpu").translate(["he sees the tree ."])
    assert "\n" not in str(caught.value)


def test_a_run_that_only_its_owner_writes_to_is_one_line_before_the_test(finished: Path, tmp_path: Path) -> None:
    run = changed(finished, tmp_path / "run", lambda found: None)
    (run / "evaluations").write_text("a file where the folder would be: what nobody may write to, for root too")
    with pytest.raises(InputError, match="evaluations") as caught:
        opened("evaluate", f"run='{run}'", "accelerator=cpu")
    assert "expected out=NEW, a directory where you may write" in str(caught.value)


def test_evaluations_are_not_written_through_a_link_of_a_run(finished: Path, tmp_path: Path) -> None:
    run = changed(finished, tmp_path / "run", lambda found: None)
    (tmp_path / "elsewhere").mkdir()
    (run / "evaluations").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="evaluations is a link that leads out of the run; expected out=NEW"):
        opened("evaluate", f"run='{run}'", "accelerator=cpu")
    assert not any((tmp_path / "elsewhere").iterdir())
