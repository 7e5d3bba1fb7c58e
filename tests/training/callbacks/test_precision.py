"""Products of training are what a setting says; whatever is measured is float32."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import torch

from lookback.nn import Seq2Seq
from lookback.search import BeamSearch, GreedySearch
from lookback.training.callbacks.precision import products
from lookback.translation.word_weights import WordWeights
from support.running import compose, run

HIGHEST, MEDIUM, MIXED = ("highest", False), ("medium", False), ("highest", True)
"""torch's setting for float32 products, and whether it casts to bfloat16 by itself."""


@pytest.mark.parametrize(
    ("override", "training"),
    [("seed=1", HIGHEST), ("matmul_precision=medium", MEDIUM), ("trainer.precision=bf16-mixed", MIXED)],
)
def test_only_training_multiplies_with_less_than_float32(
    tmp_path: Path,
    grammar_cache: str,
    monkeypatch: pytest.MonkeyPatch,
    override: str,
    training: tuple[str, bool],
) -> None:
    seen: dict[str, set[tuple[str, bool]]] = {}

    def watch(owner: type, name: str, what: Callable[[Any], str]) -> None:
        inner = getattr(owner, name)

        @wraps(inner)
        def watched(self: Any, *arguments: Any, **named: Any) -> Any:
            setting = torch.get_float32_matmul_precision(), torch.is_autocast_enabled("cpu")
            seen.setdefault(what(self), set()).add(setting)
            return inner(self, *arguments, **named)

        monkeypatch.setattr(owner, name, watched)

    watch(Seq2Seq, "forward", lambda model: "training" if model.training else "perplexity")
    watch(GreedySearch, "__call__", lambda search: "validation")
    watch(BeamSearch, "__call__", lambda search: "test")
    watch(WordWeights, "__call__", lambda weights: "attention")
    run(tmp_path, grammar_cache, override)
    measured = {what: {HIGHEST} for what in ("perplexity", "validation", "test", "attention")}
    assert seen == {"training": {training}, **measured}
    assert torch.get_float32_matmul_precision() == "highest"


def test_a_training_that_fails_leaves_no_setting_behind(tmp_path: Path, grammar_cache: str) -> None:
    fault = "+callbacks.fault={_target_: support.running.Fault, update: 2}"
    with pytest.raises(RuntimeError, match="on purpose"):
        run(tmp_path, grammar_cache, "matmul_precision=medium", fault)
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ([], "float32 products (matmul_precision=highest)"),
        (["matmul_precision=medium"], "bfloat16 products where the chip has them (matmul_precision=medium)"),
        (["trainer.precision=bf16-mixed"], "bfloat16 products (trainer.precision=bf16-mixed)"),
        (
            ["trainer.precision=bf16-mixed", "matmul_precision=medium"],
            "bfloat16 products (trainer.precision=bf16-mixed)",
        ),
    ],
)
def test_a_start_says_which_products_it_trains_with(tmp_path: Path, overrides: list[str], said: str) -> None:
    assert products(compose(tmp_path, *overrides)) == said


def test_the_start_has_a_line_for_it(tmp_path: Path, grammar_cache: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, grammar_cache)
    line = "float32 products (matmul_precision=highest); validation and test in float32"
    assert line in capsys.readouterr().out.splitlines()[:4]
