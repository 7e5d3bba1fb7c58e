"""The curve in the terminal: exact text where it is small; its width, its letters, and what is joined to what."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from lookback.report.charts.terminal_curve import TerminalCurve
from lookback.runs import Run

BOUNDS = [(1, 10), (11, 20), (21, 30), (31, None)]


def run(attention, scores, n=(60, 60, 60, 60), seed=1, limit=None):
    """A run as the report reads it, with these scores by length."""
    buckets = [
        {"lo": low, "hi": high, "n": count, "bleu": score}
        for (low, high), score, count in zip(BOUNDS, scores, n, strict=True)
    ]
    results = {"bleu": sum(filter(None, scores)) / len(scores), "by_length": buckets, "signature": "nrefs:1|tok:none"}
    config = {"data": {"train_max_length": limit}, "attention": {"_target_": attention}}
    return Run(Path(attention), attention, attention, seed, "finished", None, results, config)


def shown(runs, width=60, encoding="utf-8"):
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    Console(width=width, file=file, force_terminal=False).print(TerminalCurve(runs))
    file.flush()
    return file.buffer.getvalue().decode(encoding).splitlines()


TWO_ARMS = """
BLEU by source length
 100 ┤     ●■⠤⠤⠤⠤⠤⠤⠤⠤■⢄⡀
     │      ⠑⢄         ⠈⠑⠤⣀
     │        ⠣⡀           ⠑⠢⢄
  80 ┤         ⠈⢢             ⠉■⠒⠒⠒⠒⠒⠒⠒⠒⠒■     ■ dot 90.0
     │           ⠑⢄
     │             ⠣⡀
  60 ┤              ⠈●
     │                ⠑⢄
     │                  ⠣⡀
  40 ┤                   ⠈⢢
     │                     ⠑⢄
     │                       ⠣⡀
  20 ┤                        ⠈●⢄⡀
     │                           ⠈⠒⠤⡀
     │                              ⠈⠑⠢⣀
   0 ┤                                  ⠉●     ● none 45.0
     └─────┬─────────┬─────────┬─────────┬────
words    1-10      11-20     21-30      >30
n         60        60        60        60
nrefs:1|tok:none
"""

LETTERS = """
BLEU by source length
trained up to 15 words :
  30 +     A..........A
     |                :
     |                :
     |                :
     |                :
  20 +                :
     |                :
     |                :
     |                :
     |                :
  10 +                :          a
     |                :
     |                :
     |                :
     |                :
   0 +                :
     +-----+----------+----------+-----
words    1-10       11-20      21-30
n         60         60          9

A dot 17.5
small letter: n < 50   nrefs:1|tok:none
"""


def test_marks_that_would_hide_each_other_stand_side_by_side_and_names_at_the_ends():
    runs = [run("dot", [100, 100, 80, 80]), run("none", [100, 60, 20, 0])]
    assert shown(runs) == TWO_ARMS.strip("\n").splitlines()


def test_letters_where_the_encoding_is_not_utf_8_and_names_below_where_it_is_narrow():
    dot = run("dot", [30, 30, 10, None], (60, 60, 9, 0), limit=15)
    assert shown([dot], 40, "ascii") == LETTERS.strip("\n").splitlines()


def test_few_sentences_are_hollow_and_joined_to_nothing():
    text = shown([run("dot", [80, 80, 80, 80], (60, 60, 60, 9))])
    row = next(line for line in text if "◇" in line or "○" in line)
    assert row.replace("○", "◇").split("◇")[0].endswith("●" + " " * 9)
    assert any("hollow: n < 50" in line for line in text)


def test_a_gap_is_not_bridged():
    row = next(line for line in shown([run("dot", [80, None, 80, 80], (60, 0, 60, 60))]) if "●" in line)
    axis, first, *rest = row.split("●")
    assert (axis.strip(" ┤80"), first.strip()) == ("", "")
    assert len(rest) == 3  # behind the other two buckets, and the name's mark


def test_a_mean_of_runs_says_so():
    text = shown([run("dot", [60, 60, 60, 60], seed=1), run("dot", [80, 80, 80, 80], seed=2)])
    assert any("● dot 70.0" in line for line in text)
    assert any("mean of 2 seeds" in line for line in text)


def test_a_training_limit_is_named_only_where_its_rule_is_drawn():
    scores, n = [None, 80, 80, 80], (0, 60, 60, 60)
    runs = [run("dot", scores, n, limit=5), run("none", scores, n, limit=25)]
    text = shown(runs)
    assert any("trained up to 25 words" in line for line in text)
    (column,) = {line.index("┊") for line in text if "┊" in line}
    assert text[1].index("┊") == column  # the words are at the top of the rule
    assert not any("┊" in line for line in shown(runs[:1]))


@given(
    st.integers(20, 200),
    st.lists(st.lists(st.floats(0, 100), min_size=4, max_size=4), min_size=1, max_size=9),
    st.sampled_from(["utf-8", "ascii"]),
    st.sampled_from([None, 3, 15, 38, 45]),
)
def test_it_fits_any_width_and_every_arm_is_named_once(width, scores, encoding, limit):
    runs = [run(f"arm{place}", of, limit=limit) for place, of in enumerate(scores)]
    text = shown(runs, width, encoding)
    assert max(map(cell_len, text)) <= min(width, 96)
    joined = " ".join(text)
    for place, of in enumerate(runs):
        assert joined.count(f"arm{place} {of.bleu:.1f}") == 1


def test_where_bucket_labels_would_touch_some_are_left_out():
    words = next(line for line in shown([run("dot", [1, 2, 3, 4])], 24) if line.startswith("words"))
    assert words.split() == ["words", "1-10", "21-30"]


def test_colours_are_the_charts_and_the_baseline_has_the_terminals_own():
    console = Console(width=80, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(TerminalCurve([run("dot", [90, 90, 90, 90]), run("none", [9, 9, 9, 9])]))
    text = console.file.getvalue()
    assert "\x1b[38;2;0;114;178m■" in text
    assert "77;77;77" not in text


def test_without_a_score_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="none is scored"):
        TerminalCurve([Run(Path("a"), "dot", "dot", 1, "failed", None, None, {})])
