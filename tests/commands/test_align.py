"""lookback align, inside the test process; tests/system types the real command."""

import gzip
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import hydra
import numpy as np
import pytest
import torch

from lookback.commands.align import Models, align
from lookback.common.errors import InputError
from lookback.common.words import Link
from lookback.evaluation import SYMMETRISATIONS, LinkCounts, count_links, symmetrise
from lookback.search import force
from support.running import CONF, PROJECT, Trained, run

SHARED = PROJECT.parent / "shared" / "data"
WORDS = {
    side: text.split()
    for side, text in {
        "source": "the a dog man sees sleeps he not big zebra .",
        "target": "le un chien il dort ne pas homme voit .",
    }.items()
}

Files = tuple[Path, Path]
Aligned = Callable[..., list[str]]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Forty pairs of all lengths, some of them blank on one side or both."""
    random = Random(1)
    folder = tmp_path_factory.mktemp("pairs")
    for side, words in WORDS.items():
        lines = [" ".join(random.choices(words, k=random.randrange(1, 12))) for _ in range(40)]
        for blank in (3, 17) if side == "source" else (17, 38):
            lines[blank] = " " * (blank % 2)
        (folder / side).write_text("\n".join(lines) + "\n")
    return folder / "source", folder / "target"


def astray(run: Path, copy: Path, seed: int) -> Path:
    """A copy of a run with weights drawn from a seed: so little training looks at one word all the time."""
    shutil.copytree(run, copy)
    path = copy / "checkpoints" / "best.ckpt"
    checkpoint = torch.load(path, weights_only=True)
    random = torch.Generator().manual_seed(seed)
    for values in checkpoint["state_dict"].values():
        values.copy_(torch.randn(values.shape, generator=random))
    torch.save(checkpoint, path)
    return copy


@pytest.fixture(scope="module")
def there(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return astray(finished, tmp_path_factory.mktemp("runs") / "there", 1)


@pytest.fixture(scope="module")
def back(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return astray(finished, tmp_path_factory.mktemp("runs") / "back", 2)


@pytest.fixture
def aligned(there: Path, files: Files, capsys: pytest.CaptureFixture[str]) -> Aligned:
    """The lines that `python lookback align run=… source=… target=… OVERRIDES` prints."""

    def call(*overrides: str, pair: Files = files) -> list[str]:
        typed = [f"run='{there}'", f"source='{pair[0]}'", f"target='{pair[1]}'", *overrides]
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            config = hydra.compose("align", typed)
        capsys.readouterr()
        align(config)
        text = capsys.readouterr().out
        assert text.endswith("\n")
        return text.removesuffix("\n").split("\n")

    return call


def read(lines: Iterable[str]) -> list[list[Link]]:
    return [[(int(i), int(j)) for i, j in re.findall(r"(\d+)-(\d+)", line)] for line in lines]


def texts(files: Files) -> list[tuple[str, str]]:
    source, target = (path.read_text().splitlines() for path in files)
    return list(zip(source, target, strict=True))


def test_a_line_for_each_pair_and_a_link_for_each_target_word(aligned: Aligned, files: Files) -> None:
    lines = aligned()
    assert len(lines) == 40
    assert [number for number, line in enumerate(lines) if not line] == [3, 17, 38]
    for links, (source, target) in zip(read(lines), texts(files), strict=True):
        assert links == sorted(links)
        if links:
            assert sorted(j for _, j in links) == list(range(len(target.split())))
            assert all(0 <= i < len(source.split()) for i, _ in links)


@pytest.mark.parametrize("shift", [0, -1])
def test_links_are_those_of_forced_decoding(aligned: Aligned, there: Path, files: Files, shift: int) -> None:
    from datasets import Dataset

    from lookback.data import evaluation_loader

    trained = Trained.load(there)
    for (source, target), links in list(zip(texts(files), read(aligned(f"shift={shift}")), strict=True))[:3]:
        pair = Dataset.from_dict({"source": [source], "target": [target]})
        (batch,) = evaluation_loader(pair, trained.source_tokenizer, trained.target_tokenizer, 1)
        (forced,) = force(trained.module.model, batch.source, batch.source_length, batch.target)
        rows = forced.alignment[-len(target.split()) :] if shift else forced.alignment[:-1]
        assert links == sorted((int(row[:-1].argmax()), j) for j, row in enumerate(rows))


def test_the_batch_changes_nothing(aligned: Aligned, back: Path) -> None:
    options = (f"reverse='{back}'", "symmetrisation=union")
    assert aligned(*options, "batch_size=1") == aligned(*options, "batch_size=3") == aligned(*options)


@pytest.mark.parametrize("shift", [0, -1])
def test_two_runs_become_one(aligned: Aligned, back: Path, files: Files, shift: int) -> None:
    forward = read(aligned(f"shift={shift}"))
    backward = [
        [(i, j) for j, i in links]
        for links in read(aligned(f"run='{back}'", f"shift={shift}", pair=(files[1], files[0])))
    ]
    found = {
        method: read(aligned(f"reverse='{back}'", f"symmetrisation={method}", f"shift={shift}"))
        for method in SYMMETRISATIONS
    }
    for method, links in found.items():
        assert links == [symmetrise(*both, method) for both in zip(forward, backward, strict=True)]
    assert read(aligned(f"reverse='{back}'", f"shift={shift}")) == found["grow-diag-final-and"]
    assert found["union"] != found["grow-diag-final-and"] != found["intersection"]


def test_zipped_files_and_a_file_of_links(aligned: Aligned, files: Files, tmp_path: Path) -> None:
    packed = tuple(tmp_path / f"{path.name}.gz" for path in files)
    for path, original in zip(packed, files, strict=True):
        path.write_bytes(gzip.compress(original.read_bytes()))
    expected = aligned()
    assert aligned(pair=packed) == expected
    with pytest.raises(AssertionError):  # nothing is printed
        aligned(f"out='{tmp_path / 'new' / 'links'}'")
    assert (tmp_path / "new" / "links").read_text().splitlines() == expected


def test_gold_gives_error_rates_of_both_shifts(aligned: Aligned, back: Path, tmp_path: Path) -> None:
    """Against its own links a run is perfect; against others as the definition says."""
    for shift in (0, -1):
        (tmp_path / f"gold{shift}").write_text("\n".join(aligned(f"shift={shift}")) + "\n")
    own, other = (read((tmp_path / f"gold{shift}").read_text().splitlines()) for shift in (0, -1))
    counts = sum((count_links(links, gold, []) for links, gold in zip(other, own, strict=True)), LinkCounts())
    out = tmp_path / "links"
    lines = aligned(f"gold='{tmp_path / 'gold0'}'", f"out='{out}'", f"reverse='{back}'")
    rows = [line.split() for line in lines]
    assert rows[0] == ["links", "shift", "AER", "precision", "recall"]
    assert rows[1] == ["run", "0", "0.000", "1.000", "1.000"]
    assert rows[2] == ["run", "-1", *(f"{share:.3f}" for share in (counts.aer, counts.precision, counts.recall))]
    assert [row[:2] for row in rows[3:-1]] == [["reverse", "0"], ["reverse", "-1"], ["grow-diag-final-and", "0"]]
    assert rows[-1][0] == "37"
    # the links that were written are those of the last row
    written = read(out.read_text().splitlines())
    counts = sum((count_links(links, gold, []) for links, gold in zip(written, own, strict=True)), LinkCounts())
    assert rows[-2][2] == f"{counts.aer:.3f}"


def test_gold_may_count_from_1(aligned: Aligned, tmp_path: Path) -> None:
    """And links that may but need not be count for precision alone."""
    lines = [" ".join(f"{i + 1}p{j + 1}" for i, j in links) for links in read(aligned())]
    (tmp_path / "gold").write_text("\n".join(lines) + "\n")
    rows = aligned(f"gold='{tmp_path / 'gold'}'", "alignment_base=1", f"out='{tmp_path / 'links'}'")
    assert rows[1].split() == ["run", "0", "0.000", "1.000", "–"]
    with pytest.raises(InputError, match=r"gold:.*alignment_base=1 fits every line"):
        aligned(f"gold='{tmp_path / 'gold'}'")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["shift=1"], "shift=1: expected 0 or -1"),
        (["symmetrisation=grow"], "symmetrisation=grow: expected one of intersection, union, grow-diag-final-and"),
        (["alignment_base=2"], "alignment_base=2: expected 0 or 1"),
        (["batch_size=0"], "batch_size=0: expected a whole number, 1 or more"),
        (["source=nowhere"], "nowhere: no such file"),
        (["run=nowhere"], "run=nowhere: no such directory"),
        (["reverse=nowhere"], "reverse: run=nowhere: no such directory"),
        (["gold=nowhere"], "nowhere: no such file"),
        (["out=."], "out=.: is there already; expected a new file"),
    ],
)
def test_a_mistake_is_one_line(aligned: Aligned, typed: list[str], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        aligned(*typed)
    assert "\n" not in str(caught.value)


def test_a_line_without_a_partner_is_found_before_anything_is_written(
    aligned: Aligned, files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shorter = tmp_path / "shorter"
    shorter.write_text("\n".join(files[1].read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(InputError, match=r"source:40: has no partner: this file has 40 lines, .*shorter has 39"):
        aligned(pair=(files[0], shorter))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("key", ["run", "reverse"])
def test_what_does_not_look_back_has_no_alignment(
    aligned: Aligned, tmp_path_factory: pytest.TempPathFactory, grammar_cache: str, key: str
) -> None:
    none = tmp_path_factory.getbasetemp() / "none-to-align"
    if not none.exists():
        run(none, grammar_cache, "attention=none")
    with pytest.raises(InputError, match=f"^{key}=.*none-to-align: was trained with attention=none, which looks at"):
        aligned(f"{key}='{none}'")


def test_runs_that_count_words_differently_do_not_become_one(
    aligned: Aligned, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models(Trained.load(there), Trained.load(there))
    models.backward.word_weights = lambda batch, texts: [np.ones((2, 2)) for _ in texts]  # type: ignore
    monkeypatch.setattr("lookback.commands.align._load", lambda *_: models)
    with pytest.raises(InputError, match="source:1: the reverse run has other words here than the run"):
        aligned(f"reverse='{there}'")


def test_two_devices_write_the_lines_of_one(aligned: Aligned, back: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookback.commands.align._BATCHES", 1)  # forty pairs in ten blocks
    monkeypatch.setattr("torch.accelerator.device_count", lambda: 0)
    monkeypatch.setattr("torch.accelerator.current_accelerator", lambda check_available: None)
    options = (f"reverse='{back}'", "batch_size=4")
    assert aligned(*options, "devices=2") == aligned(*options)


def test_error_rates_on_real_gold(aligned: Aligned, tmp_path: Path) -> None:
    """37 sentences that people have aligned; the run knows none of their words."""
    tiny = SHARED / "tiny"
    if not (tiny / "aer.en-fr.talp").is_file():
        pytest.skip(f"no gold alignments: {tiny}/aer.en-fr.talp is not there")
    pair = (tiny / "aer.en", tiny / "aer.fr")
    rows = aligned(f"gold='{tiny / 'aer.en-fr.talp'}'", f"out='{tmp_path / 'links'}'", pair=pair)
    assert rows[-1] == "37 sentence pairs with gold links"
    counts = LinkCounts()
    found = read((tmp_path / "links").read_text().splitlines())
    for links, line in zip(found, (tiny / "aer.en-fr.talp").read_text().splitlines(), strict=True):
        possible = [(int(i), int(j)) for i, j in re.findall(r"(\d+)p(\d+)", line)]
        counts += count_links(links, *read([line]), possible)
    shares = [f"{share:.3f}" for share in (counts.aer, counts.precision, counts.recall)]
    assert rows[1].split() == ["run", "0", *shares]
    assert 0.5 < counts.aer <= 1
