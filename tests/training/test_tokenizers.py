"""Every tokenizer trains, translates, and says in words of the raw text where it looks."""

from pathlib import Path

import datasets
import numpy as np
import pytest

from lookback.common.errors import InputError
from lookback.data import evaluation_loader
from lookback.runs import read_predictions
from lookback.runs.checkpoint import read_checkpoint
from lookback.runs.directory import RunDirectory
from lookback.search import force
from support.running import Trained, choices, run, translated

LINES = ["the man sees the dog .", "", "he sleeps .", "a zebra\u00a0quacks in Zürich", "the  dog . he sleeps 🐕 ."]
SMALL = {"bpe": ["tokenizer.vocabulary_size=350"], "unigram": ["tokenizer.vocabulary_size=350"]}
LEARNT = [choice for choice in choices("tokenizer") if choice != "file"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "input.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def check_links(lines: list[str]) -> None:
    """As many lines as were given; each word of a translation is linked once, to a word of its line."""
    assert len(lines) == len(LINES)
    for line, (text, alignment) in zip(LINES, (row.split(" ||| ") for row in lines), strict=True):
        links = [tuple(map(int, link.split("-"))) for link in alignment.split()]
        assert [j for _, j in links] == (list(range(len(text.split()))) if line else [])
        assert all(0 <= i < len(line.split()) for i, _ in links)


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("tokenizer", LEARNT)
def test_a_tokenizer_trains_and_translates(
    tmp_path: Path, grammar_cache: str, source: Path, capsys: pytest.CaptureFixture[str], tokenizer: str, joint: bool
) -> None:
    options = [f"tokenizer={tokenizer}", f"tokenizer.joint={str(joint).lower()}", *SMALL.get(tokenizer, [])]
    record = run(tmp_path / "run", grammar_cache, *options)
    check_links(translated(capsys, tmp_path / "run", source, "alignments=true"))

    trained = Trained.load(tmp_path / "run")
    encoder, decoder = trained.module.model.encoder, trained.module.model.decoder
    assert (encoder.embedding.weight is decoder.embedding.weight) == joint
    assert (trained.source_tokenizer is trained.target_tokenizer) == joint
    assert record["cost"]["parameters"] == sum(parameter.numel() for parameter in trained.module.model.parameters())

    predictions = read_predictions(tmp_path / "run" / "test" / "predictions.jsonl")
    with np.load(tmp_path / "run" / "test" / "alignments.npz") as saved:
        for row, rows, columns, written in zip(
            saved["ids"], saved["rows"], saved["columns"], saved["target"], strict=True
        ):
            assert rows == len(predictions[row].reference.split()) + 1
            assert columns == len(predictions[row].source.split()) + 1
            assert written == predictions[row].reference


def test_snapshots_are_of_words_whatever_the_pieces(tmp_path: Path, grammar_cache: str) -> None:
    """Counted by hand: a character is a piece, and a space belongs to the word that it stands before."""
    run(tmp_path, grammar_cache, "tokenizer=character")
    trained, directory = Trained.load(tmp_path), RunDirectory(tmp_path)
    trained.module.load_state_dict(read_checkpoint(directory.last)["state_dict"])
    with np.load(tmp_path / "test" / "alignments.npz") as saved:
        saved = dict(saved)
    for i, (source, target) in enumerate(zip(saved["source"].tolist(), saved["target"].tolist(), strict=True)):
        pair = datasets.Dataset.from_dict({"source": [source], "target": [target]})
        (batch,) = evaluation_loader(pair, trained.source_tokenizer, trained.target_tokenizer, 1)
        (found,) = force(trained.module.model, batch.source, batch.source_length, batch.target)
        expected = np.zeros((len(target.split()) + 1, len(source.split()) + 1))
        rows, columns = owners(target), owners(source)
        for piece, row in enumerate(rows):
            for other, column in enumerate(columns):
                expected[row, column] += float(found.alignment[piece, other]) / rows.count(row)
        weights = saved["weights"][-1, saved["offsets"][i] :][: expected.size].reshape(expected.shape)
        np.testing.assert_allclose(weights, expected, atol=1e-3)


def owners(text: str) -> list[int]:
    """The word of each character, a space before the first word and an end mark included."""
    spaced = f" {text}"
    return [*(spaced[: i + 1].count(" ") - 1 for i in range(len(spaced))), len(text.split())]


def test_different_embedding_sizes_cannot_be_joint(tmp_path: Path, grammar_cache: str) -> None:
    with pytest.raises(InputError, match=r"encoder\.embedding_size=8 and decoder\.embedding_size=10") as caught:
        run(tmp_path, grammar_cache, "tokenizer.joint=true", "decoder.embedding_size=10")
    assert "\n" not in str(caught.value)


def test_where_tokens_of_the_target_are_much_shorter_the_limit_is_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sentence of one long word a line, into its letters: of ten of them the limit would let 2 + 10 through."""
    files = []
    for split, pairs in {"train": 20, "validation": 4, "test": 4}.items():
        for side, line in {"source": "word", "target": "w o r d s m i t h s"}.items():
            path = tmp_path / f"{split}.{side}"
            path.write_text(f"{line}\n" * pairs)
            files.append(f"data.{split}.{side}='{path}'")
    options = ["data=text", *files, "data.max_length_ratio=null", "data.bleu_tokenize=none"]
    run(tmp_path / "run", *options, tiny_data=False)
    assert "10.0 tokens to one of its source, more than search.limit_factor=1.5 lets" in capsys.readouterr().err
    run(tmp_path / "more", *options, "search.limit_factor=20", tiny_data=False)
    assert "limit_factor" not in capsys.readouterr().err


def test_unknown_words_are_copied_in_tests_and_translations(
    tmp_path: Path, grammar_cache: str, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With three words known, nearly all that is written is `<unk>`: the raw source stands in."""
    few = [grammar_cache, "tokenizer.vocabulary_size=7", "optimizer.lr=0.05", "trainer.max_epochs=2"]
    run(tmp_path / "keep", *few)
    kept = read_predictions(tmp_path / "keep" / "test" / "predictions.jsonl")
    assert any("<unk>" in prediction.hypothesis for prediction in kept)
    run(tmp_path / "copy", *few, "unknown_words=copy")
    for before, after in zip(kept, read_predictions(tmp_path / "copy" / "test" / "predictions.jsonl"), strict=True):
        words, copied = before.hypothesis.split(), after.hypothesis.split()
        assert len(words) == len(copied)
        for word, copy in zip(words, copied, strict=True):
            assert copy in before.source.split() if word == "<unk>" else copy == word

    (tmp_path / "words.tsv").write_text("Zürich\tla ville de Zurich\ndog\tchien\nthe\tle\n", encoding="utf-8")
    as_trained = translated(capsys, tmp_path / "copy", source, "alignments=true")
    assert as_trained == translated(capsys, tmp_path / "keep", source, "alignments=true", "unknown_words=copy")
    check_links(as_trained)
    looked_up = translated(
        capsys, tmp_path / "copy", source, "alignments=true", f"unknown_words='{tmp_path}/words.tsv'"
    )
    check_links(looked_up)
    assert not any("<unk>" in line for line in as_trained + looked_up)
    assert any("<unk>" in line for line in translated(capsys, tmp_path / "copy", source, "unknown_words=keep"))


def test_what_does_not_look_back_keeps_unknown_words(tmp_path: Path, grammar_cache: str) -> None:
    few = [grammar_cache, "tokenizer.vocabulary_size=7", "optimizer.lr=0.05", "attention=none"]
    run(tmp_path, *few, "unknown_words=copy")
    predictions = read_predictions(tmp_path / "test" / "predictions.jsonl")
    assert any("<unk>" in prediction.hypothesis for prediction in predictions)


def test_a_mistaken_setting_is_refused_before_the_training(tmp_path: Path, grammar_cache: str) -> None:
    with pytest.raises(InputError, match=r"unknown_words=copyy: no such file; .* did you mean copy\?"):
        run(tmp_path, grammar_cache, "unknown_words=copyy")
