"""translate.py, inside the test process; tests/system pipes through the real command."""

import gzip
import threading
from collections.abc import Iterator
from pathlib import Path

import hydra
import pytest

from lookback.commands.translate import as_available, translate
from lookback.common.errors import InputError
from lookback.search import force
from support.running import CONF, Trained, modules_after, run, translate_file, translated

LINES = ["the man sees the dog .", "", "he sleeps .", "   ", "a zebra quacks", "the dog .\u2028he\x0c sleeps ."]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "input.txt"
    path.write_bytes("\n".join(LINES).encode() + b"\n")
    return path


def test_a_line_in_a_line_out(finished: Path, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = translated(capsys, finished, source)
    assert len(lines) == len(LINES)
    assert lines[1] == lines[3] == ""
    assert all(lines[i] for i in (0, 2, 4, 5))


@pytest.mark.parametrize("search", ["beam", "greedy", "sampling"])
def test_the_batch_changes_nothing(
    finished: Path, source: Path, capsys: pytest.CaptureFixture[str], search: str
) -> None:
    one, many = (
        translated(capsys, finished, source, f"search={search}", f"batch_size={size}", "alignments=true")
        for size in (1, 64)
    )
    assert one == many


def test_bfloat16_products_are_an_option(finished: Path, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its scores are near those of float32, and not the same: the default has all digits."""
    default, wide, narrow = (
        [float(line.rpartition(" ||| ")[2]) for line in translated(capsys, finished, source, "scores=true", *precision)]
        for precision in ([], ["precision=32-true"], ["precision=bf16-mixed"])
    )
    assert default == wide != narrow
    assert narrow == pytest.approx(wide, abs=0.02)


def test_two_devices_write_the_lines_of_one(
    finished: Path, source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.accelerator.device_count", lambda: 0)
    monkeypatch.setattr("torch.accelerator.current_accelerator", lambda check_available: None)
    options = ("batch_size=1", "scores=true", "alignments=true", "search.n_best=2")
    one, two = (translated(capsys, finished, source, *options, f"devices={devices}") for devices in (1, 2))
    assert len(one) > len(LINES)
    assert one == two


def test_a_translation_waits_for_no_library_that_it_does_not_use(finished: Path, source: Path) -> None:
    """Nor for torch's compiler, which torch itself imports where it draws weights for a network of shapes alone."""
    typed = ["lookback", "translate", f"run={finished}", f"input={source}", "alignments=true", "hydra.run.dir=."]
    loaded = modules_after(f"from lookback.commands.main import main; sys.argv = {typed}; main()")
    assert "lookback.translation.translator" in loaded
    assert not {"lightning", "datasets", "pandas", "wandb", "altair", "scipy", "sympy", "torch._dynamo"} & loaded


def test_several_devices_need_a_file(finished: Path) -> None:
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("translate", [f"run='{finished}'", "devices=2"])
    with pytest.raises(InputError, match=r"^devices=2: expected input=FILE, because standard input is translated at"):
        translate(config)


def test_a_gzipped_file_and_crlf(
    finished: Path, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = translated(capsys, finished, source)
    packed, crlf = tmp_path / "input.gz", tmp_path / "crlf.txt"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    crlf.write_bytes(b"\xef\xbb\xbf" + source.read_bytes().replace(b"\n", b"\r\n"))
    assert translated(capsys, finished, packed) == expected
    assert translated(capsys, finished, crlf) == expected


def test_scores_are_those_of_forced_decoding(finished: Path, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from lookback.common.special_tokens import EOS
    from lookback.data import evaluation_loader

    trained = Trained.load(finished)
    lines = translated(capsys, finished, source, "scores=true", "search=greedy", "search.limit_extra=100")
    text, score = lines[0].split(" ||| ")
    import datasets

    pair = datasets.Dataset.from_dict({"source": [LINES[0]], "target": [text]})
    (batch,) = evaluation_loader(pair, trained.source_tokenizer, trained.target_tokenizer, 1)
    (forced,) = force(trained.module.model, batch.source, batch.source_length, batch.target)
    assert batch.target[0, -1] == EOS
    if len(text.split()) < 100 + 2 * len(LINES[0].split()):  # else it was cut off, and has no end mark's share
        assert float(score) == pytest.approx(forced.score, abs=1e-4)
    assert lines[1] == " ||| 0.0000"


def test_alignments_name_words_of_both_sides(finished: Path, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, line in enumerate(translated(capsys, finished, source, "alignments=true")):
        text, alignment = line.split(" ||| ")
        links = [tuple(map(int, link.split("-"))) for link in alignment.split()]
        assert [j for _, j in links] == list(range(len(text.split())))
        assert all(0 <= i < len(LINES[number].split()) for i, _ in links)


@pytest.mark.parametrize("search", [["search.n_best=3"], ["search=sampling", "search.samples=3"]])
def test_several_translations_a_line_are_numbered(
    finished: Path, source: Path, capsys: pytest.CaptureFixture[str], search: list[str]
) -> None:
    lines = translated(capsys, finished, source, *search, "scores=true")
    rows = [line.split(" ||| ") for line in lines]
    assert all(len(row) == 3 for row in rows)
    # a line without words has one translation: nothing
    assert [int(number) for number, _, _ in rows] == [0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 4, 5, 5, 5]


def test_the_best_of_several_is_the_one(finished: Path, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best = translated(capsys, finished, source)
    several = [line.split(" ||| ") for line in translated(capsys, finished, source, "search.n_best=5")]
    assert [next(text for number, text in several if number == str(i)) for i in range(len(LINES))] == best


def test_what_does_not_look_back_has_no_alignments(
    tmp_path: Path, grammar_cache: str, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "none", grammar_cache, "attention=none")
    with pytest.raises(InputError, match="attention=none, which looks at the source as a whole") as caught:
        translated(capsys, tmp_path / "none", source, "alignments=true")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"good\nb\xffd\n", r"input\.txt:2: invalid UTF-8"), (None, r"input\.txt: no such file")],
)
def test_a_bad_file_is_refused(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, message: str
) -> None:
    path = tmp_path / "input.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        translated(capsys, finished, path)


@pytest.mark.parametrize("name", ["scores", "alignments"])
def test_a_switch_is_on_or_off(finished: Path, source: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    with pytest.raises(InputError, match=f"{name}=flase: expected true or false"):
        translated(capsys, finished, source, f"{name}=flase")


def test_blocks_take_what_is_there_and_wait_for_no_more() -> None:
    more = threading.Event()

    def lines() -> Iterator[str]:
        yield "one"
        assert more.wait(1000), "a block waits for lines that are not there"
        yield from ("two", "three", "four")

    blocks = as_available(lines(), 2)
    assert next(blocks) == ["one"]
    more.set()
    rest = list(blocks)
    assert [line for block in rest for line in block] == ["two", "three", "four"]
    assert all(len(block) <= 2 for block in rest)


def test_an_error_comes_after_the_lines_before_it() -> None:
    def lines() -> Iterator[str]:
        yield "one"
        raise InputError("line 2")

    blocks = as_available(lines(), 64)
    assert next(blocks) == ["one"]
    with pytest.raises(InputError, match="line 2"):
        next(blocks)


def test_words_that_the_model_has_never_seen_are_named_once_and_counted(
    finished: Path, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    translate_file(finished, source)
    once = capsys.readouterr()
    assert once.err.splitlines() == [
        "warning: 1 of 6 words of line 1 are unknown to this model: sees; what is written for such a line may have "
        "little to do with it",
        "warning: 3 unknown words in 2 lines",
    ]
    more = tmp_path / "more.txt"
    more.write_text(source.read_text(encoding="utf-8") + "quacks .\nhe sleeps .\n", encoding="utf-8")
    translate_file(finished, more)
    twice = capsys.readouterr()
    assert twice.err.splitlines() == [once.err.splitlines()[0], "warning: 4 unknown words in 3 lines"]
    translate_file(finished, more, "warnings=false")
    off = capsys.readouterr()
    assert (off.out, off.err) == (twice.out, "")
