"""The heat map of an alignment: what is where, and how dark."""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vl_convert

from lookback.report.charts.alignment_chart import END, GOLD, WIDTH, alignment_chart, alignment_png

SOURCE, TARGET = ["the", "the", "cat", END], ["</script>", "chat", END]
WEIGHTS = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.25, 0.7, 0.05], [0.0, 0.001, 0.0, 0.999]])


def drawn(svg: str, kind: str = "rect") -> list[dict[str, str]]:
    paths = [dict(re.findall(r'([\w-]+)="([^"]*)"', found)) for found in re.findall(r"<path ([^>]*)>", svg)]
    return [path for path in paths if path.get("aria-roledescription") == f"{kind} mark"]


def svg(**gold: Any) -> str:
    return vl_convert.vegalite_to_svg(alignment_chart(SOURCE, TARGET, WEIGHTS, "epoch 1", **gold).to_json())


def test_every_weight_one_can_see_is_a_cell_of_its_words() -> None:
    labels = [path["aria-label"] for path in drawn(svg())]
    expected = [
        (row, column, weight) for (row, column), weight in np.ndenumerate(WEIGHTS) if weight > 0.01
    ]  # the 0.001 is white
    assert len(labels) == len(expected) == 5
    for label, (row, column, weight) in zip(labels, expected, strict=True):
        said = dict(part.split(": ") for part in unescape(label).split("; "))
        assert abs(float(said["weight"]) - weight) <= 0.05  # the label has a digit
        assert (said["target"], said["row"]) == (TARGET[row], str(row))
        assert (said["source"], said["column"]) == (SOURCE[column], str(column))


def test_a_darker_cell_is_a_larger_weight_on_a_scale_of_0_to_1() -> None:
    colors = [sum(map(int, re.findall(r"\d+", path["fill"]))) for path in drawn(svg())]
    weights = [weight for weight in WEIGHTS.ravel() if weight > 0.01]
    assert [weight for _, weight in sorted(zip(colors, weights, strict=True))] == sorted(weights, reverse=True)
    half = alignment_chart(SOURCE, TARGET, WEIGHTS / 2, "")
    fills = [path["fill"] for path in drawn(vl_convert.vegalite_to_svg(half.to_json()))]
    assert min(colors) < sum(map(int, re.findall(r"\d+", fills[0])))


def test_rows_are_target_words_and_columns_source_words_and_words_stay_text() -> None:
    chart = alignment_chart(SOURCE, TARGET, WEIGHTS, "").to_dict()
    encoding = chart["layer"][0]["encoding"]
    words = {axis: json.loads(re.findall(r"\((.*)\)\[", encoding[axis]["axis"]["labelExpr"])[0]) for axis in "xy"}
    assert words == {"x": SOURCE, "y": TARGET}
    texts = re.findall(r"<text [^>]*>([^<]*)</text>", svg())
    assert texts.count("the") == 2
    assert "&lt;/script&gt;" in texts


def test_gold_is_outlined_where_it_is() -> None:
    assert not [path for path in drawn(svg()) if path.get("stroke") == GOLD]
    outlines = [path for path in drawn(svg(sure=[(0, 0), (2, 1)], possible=[(1, 1)])) if path.get("stroke") == GOLD]
    places = [re.findall(r"(row|column): (\d)", path["aria-label"]) for path in outlines]
    assert [(dict(place)["column"], dict(place)["row"]) for place in places] == [("0", "0"), ("2", "1"), ("1", "1")]
    assert [path["stroke-dasharray"] for path in outlines] == ["1,0", "1,0", "4,3"]


def test_a_long_sentence_is_no_wider_than_a_screen() -> None:
    from io import BytesIO

    from PIL import Image

    words = [*(f"w{i}" for i in range(60)), END]
    picture = Image.open(BytesIO(alignment_png(alignment_chart(words, words, np.eye(61), ""))))
    assert picture.format == "PNG"
    assert WIDTH * 0.9 < picture.width < WIDTH + 160


def test_a_diverged_models_nan_is_no_cell() -> None:
    chart = alignment_chart(SOURCE, TARGET, np.full((3, 4), np.nan), "")
    assert not drawn(vl_convert.vegalite_to_svg(chart.to_json()))


def test_weights_of_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match=r"weights: shape \(3, 4\), expected \(3, 3\)"):
        alignment_chart(SOURCE[1:], TARGET, WEIGHTS, "")


@pytest.mark.parametrize("word", ["if", '"if"', "now", "data", "null", "in", "event"])
def test_a_word_that_means_something_to_vega_is_a_word(word: str) -> None:
    picture = vl_convert.vegalite_to_svg(alignment_chart([word, END], ["x", END], WEIGHTS[:2, :2], "epoch 1").to_json())
    assert word in [unescape(text) for text in re.findall(r"<text [^>]*>([^<]*)</text>", picture)]


_DRAWN = """
import sys, unicodedata
import numpy as np
import vl_convert
from lookback.report.charts.alignment_chart import alignment_chart, alignment_png

chosen = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs")]
chosen += [chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF)]
chosen += [chr(code) for code in (*range(0xFDD0, 0xFDF0), 0xE000, 0xF8FF, 0xF0000, 0x10FFFD)]
words = ["a" + "".join(chosen[start : start + 60]) + "b" for start in range(0, len(chosen), 60)]
for start in range(0, len(words), 24):
    some = words[start : start + 24]
    chart = alignment_chart(some, some[::-1], np.eye(len(some)), "".join(some))
    assert alignment_png(chart).startswith(b"\\x89PNG")
    assert "<svg" in vl_convert.vegalite_to_svg(chart.to_json())
print(len(chosen))
"""


def test_no_control_character_surrogate_or_code_point_without_a_character_ends_the_process() -> None:
    # in a process of its own, because an abort inside the renderer cannot be caught
    done = subprocess.run([sys.executable, "-c", _DRAWN], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) > 2300


def test_altair_itself_saves_a_chart_of_such_words(tmp_path: Path) -> None:
    # a user's `plot().save(…)` does not go through this package's own renderer
    chart = alignment_chart(["\x07", "\x1b", END], ["\ufffe", END], np.full((2, 3), 0.3), "\x00")
    chart.save(tmp_path / "alignment.svg")
    svg = (tmp_path / "alignment.svg").read_text(encoding="utf-8")
    assert {"␇", "␛", "\ufffd", "␀"} <= set(svg)
