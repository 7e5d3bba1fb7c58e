"""A model of several heads or layers says of each how well it aligns."""

from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from lookback.report.evidence.rows import rows
from lookback.runs import read_run
from lookback.runs.alignments import read_alignments
from support.running import compose, run


@pytest.mark.parametrize(("model", "names"), [("multihead", 4), ("transformer", 2), ("dot", 0)])
def test_each_head_has_an_alignment_error_rate(model: str, names: int, tmp_path: Path, grammar_cache: str) -> None:
    record = run(tmp_path, grammar_cache, f"model={model}", counted=True)
    (tmp_path / ".hydra").mkdir()
    OmegaConf.save(compose(tmp_path, grammar_cache, f"model={model}"), tmp_path / ".hydra" / "config.yaml")
    (row,) = rows([read_run(tmp_path)], 1, tmp_path)
    snapshots = read_alignments(tmp_path / "test" / "alignments.npz")
    if not names:
        assert snapshots.looks == ()
        assert all(sentence.looks is None for sentence in snapshots.sentences)
        assert record["aer_by_look"] is None
        assert row["best_look"] is None
        return
    looks = {look["look"]: look["shift_0"] for look in record["aer_by_look"]}
    assert list(looks) == [f"head {head}" for head in range(1, names + 1)]
    assert all(0 < aer <= 1 for aer in looks.values())
    assert len(set(looks.values())) > 1
    assert looks[row["best_look"]] == row["best_look_aer"] == min(looks.values())
    assert row["flops_per_token"] > 0
    assert list(snapshots.looks) == list(looks)
    for sentence in snapshots.sentences:  # as it looked at the last moment
        assert sentence.looks.shape == (names, *sentence.weights.shape[1:])
        assert len(np.unique(sentence.looks, axis=0)) == names
        np.testing.assert_allclose(sentence.looks.mean(axis=0, dtype=float), sentence.weights[-1], atol=2e-3)
