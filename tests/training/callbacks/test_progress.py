"""What is said of a training while it runs: in plain lines, and in a terminal."""

import re
import sys
from pathlib import Path

import pytest

from support.running import Clock, run, ticks

COST = r"tokens/s [1-9][\d,]*  waiting 0\.0%  peak [1-9][\d,]* MB"


def test_progress_is_plain_lines(
    tmp_path: Path, grammar_cache: str, capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    """An update takes three seconds, and a line comes every eight: with the third and the sixth."""
    run(tmp_path, grammar_cache, "trainer.max_epochs=2", ticks(update=3))
    said = capsys.readouterr().out.splitlines()
    assert "training: 6 updates" in said
    assert [line.split("  ")[:2] for line in said if "validation: perplexity" in line] == [
        ["epoch 1", "update 3"],
        ["epoch 2", "update 6"],
    ]
    updates = [line for line in said if re.search(r"update \d/6", line)]
    assert len(updates) == 2
    for line, (epoch, update, left) in zip(updates, ((1, 3, 9), (2, 6, 0)), strict=True):
        expected = rf"epoch {epoch}  update {update}/6  train loss \d\.\d\d\d  {COST}  0:0{left} min left"
        assert re.fullmatch(expected, line), line
    assert "translating the test set: 24 sentences" in said
    assert sum(bool(re.fullmatch(f"training: {COST}", line)) for line in said) == 1, "once more, beside the results"
    assert not any("\r" in line or "\x1b" in line for line in said)


def test_a_terminal_has_a_bar_with_the_cost_beside_it(
    tmp_path: Path, grammar_cache: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    run(tmp_path, grammar_cache, "logger=wandb", "logger.mode=disabled")
    shown = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", capsys.readouterr().out)
    assert re.search(r"tokens/s: [1-9][\d,]*\s+waiting: \d+\.\d%\s+peak:\s+[1-9][\d,]* MB", shown), shown
    assert "v_num" not in shown
    assert "Testing" in shown
