"""Languages without spaces and from right to left, through the commands: train, results, translate, chart."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lookback.common.words import words
from support.running import TINY_MODEL, TINY_TRAINING

Command = Callable[..., Any]

HAN = [chr(0x4E00 + 37 * i) for i in range(40)]
SUBWORDS = "tokenizer.vocabulary_size=400"
LATIN = [f"{first}{rest}" for first in "bdgklmprst" for rest in ("an", "eli", "o", "uma")]
HEBREW = [f"{chr(0x5D0 + i % 22)}\u05b8{chr(0x5D0 + i // 2)}\u05bc\u05b4\u05dd" for i in range(40)]
ARABIC = [f"{chr(0x628 + i % 8)}\u064e{chr(0x633 + i // 8)}\u0651\u0650" for i in range(40)]


def corpus(folder: Path, source: list[str], target: list[str], between: tuple[str, str]) -> Iterator[str]:
    """Sentences of 1 to 25 words, translated word by word; overrides that name their files."""
    random = Random(1)
    for split, pairs in {"train": 100, "validation": 10, "test": 50}.items():
        numbers = [random.choices(range(40), k=1 + i % 25) for i in range(pairs)]
        for side, lexicon, space in zip(("source", "target"), (source, target), between, strict=True):
            path = folder / f"{split}.{side}"
            path.write_text("".join(space.join(lexicon[i] for i in line) + "\n" for line in numbers), encoding="utf-8")
            yield f"data.{split}.{side}='{path}'"


@pytest.mark.parametrize(
    ("source", "target", "between", "tokenizer"),
    [
        pytest.param(HAN, LATIN, ("", " "), ["tokenizer=unigram", SUBWORDS], id="without-spaces"),
        pytest.param(LATIN, HAN, (" ", ""), ["tokenizer=character"], id="into-one-without-spaces"),
        pytest.param(HEBREW, ARABIC, (" ", " "), ["tokenizer=bpe", SUBWORDS], id="from-right-to-left"),
    ],
)
def test_a_language_goes_all_the_way(
    command: Command,
    tmp_path: Path,
    source: list[str],
    target: list[str],
    between: tuple[str, str],
    tokenizer: list[str],
) -> None:
    files = list(corpus(tmp_path, source, target, between))
    trained = command(
        *("train", "data=text", *files, *TINY_MODEL, *TINY_TRAINING, *tokenizer, "hydra.run.dir=run"),
        "data.bleu_tokenize=char",
    )
    assert trained.status == 0, trained.err

    record = json.loads((tmp_path / "run" / "test" / "results.json").read_text(encoding="utf-8"))
    assert {bucket["hi"]: bucket["n"] for bucket in record["by_length"] if bucket["n"]} == {10: 20, 20: 20, 30: 10}
    predictions = (tmp_path / "run" / "test" / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["source_length"] for line in predictions] == [1 + i % 25 for i in range(50)]
    assert (tmp_path / "run" / "length_curve.svg").stat().st_size > 1000

    lines = (tmp_path / "test.source").read_text(encoding="utf-8").splitlines()
    translated = command("translate", "run=run", "input=test.source", "alignments=true", "search=greedy")
    assert translated.status == 0, translated.err
    rows = [row.split(" ||| ") for row in translated.out.removesuffix("\n").split("\n")]
    assert len(rows) == len(lines)
    for line, (text, alignment) in zip(lines, rows, strict=True):
        links = [tuple(map(int, link.split("-"))) for link in alignment.split()]
        # a piece of a text without spaces is a word of its own, and has one character or more
        assert all(0 <= i < len(words(line)) for i, _ in links)
        assert [j for _, j in links] == list(range(len(links)))
        assert len(links) >= len(text.split())

    compared = command("compare", "runs=[run]", "out=report")
    assert compared.status == 0, compared.err
    assert (tmp_path / "report" / "length_curve.svg").is_file()
