"""The alignment viewer: what is in the page, and what a reader sees who clicks, presses keys and moves the slider."""

import json

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import expect

from lookback.report import write_report
from lookback.report.page import alignments as module
from lookback.report.page.alignments import ZERO, _fitting, _sample, alignments, percents
from lookback.report.page.payload import packed
from lookback.runs import Prediction, read_runs
from lookback.runs.alignments import read_alignments
from support.made_runs import leave_heads, score_again

HEADS_OF_LAYER_2 = {"layer 2 head 1": 0.1, "layer 2 head 2": 0.6}
EVIL = "</script><img/src=x/onerror=alert(1)>"


def decoded(payload, system, sentence):
    """(moments, rows, columns) whole percents, as alignments.js reads them."""
    about, words = payload["systems"][system], payload["sentences"][sentence]
    rows, columns = len(words["target"]) + 1, len(words["source"]) + 1
    numbers = np.array([ord(letter) - ZERO for letter in about["weights"][sentence]])
    return numbers.reshape(rows, columns, len(about["moments"])).transpose(2, 0, 1)


def rewritten(run, words, seen, **arrays):
    """The run with alignments of one sentence: `seen` (moments, rows, columns)."""
    moments, rows, columns = seen.shape
    whole = {
        "ids": [0],
        "source": [words[0]],
        "target": [words[1]],
        "epochs": np.arange(1, moments + 1),
        "updates": np.arange(1, moments + 1) * 10,
        "offsets": [0],
        "rows": [rows],
        "columns": [columns],
        "weights": seen.reshape(moments, -1).astype(np.float16),
        "sure": np.zeros((0, 3), int),
        "possible": np.zeros((0, 3), int),
        "has_gold": False,
        **arrays,
    }
    np.savez_compressed(
        run / "test" / "alignments.npz", **{name: array for name, array in whole.items() if array is not None}
    )
    return run


def soft(chance, *shape):
    exponentials = np.exp(chance.normal(0, 3, shape))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


# ---- what is in the page


@given(st.integers(1, 120), st.floats(0.01, 6), st.integers(0, 2**32))
def test_no_percent_is_far_off_and_a_rows_largest_stays_its_largest(columns, sharpness, seed):
    energies = np.random.default_rng(seed).normal(0, sharpness, (5, columns))
    weights = (np.exp(energies) / np.exp(energies).sum(axis=1, keepdims=True)).astype(np.float16)
    found = percents(weights)
    assert np.abs(found - 100 * weights.astype(np.float64)).max() <= 1.5
    assert found.max() <= 100
    np.testing.assert_array_equal(found.argmax(axis=1), weights.argmax(axis=1))
    assert (found == np.rint(100 * weights.astype(np.float64))).sum() >= found.size - len(found)


def test_what_is_no_number_is_nothing():
    assert percents(np.array([[np.nan, 0.5], [np.nan, np.nan]])).tolist() == [[0, 50], [0, 0]]


def test_weights_words_and_links_come_back(make_run):
    runs = [make_run(name, name, slope=slope) for name, slope in (("none", 0.02), ("dot", 0.01), ("bahdanau", 0))]
    payload = json.loads(json.dumps(alignments(read_runs(runs))))
    assert [system["name"] for system in payload["systems"]] == ["bahdanau · seed 1", "dot · seed 1"]
    assert (payload["nowhere"], payload["opponent"], payload["has_gold"]) == (["none · seed 1"], 1, True)
    assert payload["left_out"] == [0, 0]
    for system, run in enumerate((runs[2], runs[1])):
        read = read_alignments(run / "test" / "alignments.npz")
        moments = [list(moment) for moment in zip(read.epochs, read.updates, strict=True)]
        assert payload["systems"][system]["moments"] == moments
        for place, sentence in enumerate(read.sentences):
            found = decoded(payload, system, place)
            weights = sentence.weights.astype(np.float64)
            assert np.abs(found - 100 * weights).max() <= 1.5
            np.testing.assert_array_equal(found.argmax(axis=-1), weights.argmax(axis=-1))
            words = payload["sentences"][place]
            assert (words["source"], words["target"]) == (list(sentence.source), list(sentence.target))
            assert words["sure"] == [list(link) for link in sentence.sure]
            assert words["possible"] == [list(link) for link in sentence.possible]
    assert [words["bucket"] for words in payload["sentences"]][:4] == ["1-10", "1-10", "11-20", "11-20"]


def test_files_of_version_0_1_are_read_those_of_none_too(make_run):
    runs = [make_run("none", "none"), make_run("dot", "dot")]
    weights = np.full((3, 2, 2), 0.5)
    for run in runs:  # none left equal weights
        older = dict.fromkeys(("updates", "sure", "possible", "has_gold"))
        rewritten(run, ("a", "b"), weights, **older)
    payload = alignments(read_runs(runs))
    assert payload["systems"] == [
        {"name": "dot · seed 1", "moments": [[1, None], [2, None], [3, None]], "weights": ["bbb" * 4]}
    ]
    assert (payload["nowhere"], payload["has_gold"]) == (["none · seed 1"], False)
    assert ord("b") - ZERO == 50


def test_why_no_alignments_there_is_nothing(make_run):
    run = make_run("dot", "dot")
    (run / "test" / "alignments.npz").unlink()
    assert alignments(read_runs([run, make_run("none", "none")])) is None


def test_all_systems_show_the_sentences_that_most_of_them_have(make_run):
    runs = [make_run(name, name) for name in ("dot", "general", "bahdanau")]
    chance = np.random.default_rng(0)
    for run in runs[:2]:
        rewritten(run, ("a b", "c"), soft(chance, 2, 2, 3))
    rewritten(runs[2], ("a", "c"), soft(chance, 2, 2, 2))  # cut into other words
    payload = alignments(read_runs(runs))
    assert sorted(system["name"] for system in payload["systems"]) == ["dot · seed 1", "general · seed 1"]
    assert [words["source"] for words in payload["sentences"]] == [("a", "b")]


def sampled(make_run, runs):
    """Runs with three sentences of each of six buckets, seen at sixteen moments."""
    chance = np.random.default_rng(1)
    lengths = [length + extra for length in (4, 14, 24, 34, 44, 54) for extra in (0, 1, 2)]
    sizes = np.array(lengths) + 1
    texts = [" ".join(f"w{word}" for word in range(length)) for length in lengths]
    directories = []
    for place in range(runs):
        weights = []
        for size in sizes:
            noise = chance.normal(0, 1.2, (size, size)) + chance.normal(0, 0.4, (16, size, size))
            energies = noise + np.linspace(0, 8, 16)[:, None, None] * np.eye(size)
            exponentials = np.exp(energies)
            weights.append((exponentials / exponentials.sum(axis=-1, keepdims=True)).reshape(16, -1))
        run = make_run(f"{place}", ("dot", "general", "bahdanau")[place % 3], place // 3 + 1, lengths=[5])
        arrays = {"ids": np.arange(18), "source": texts, "target": texts, "rows": sizes, "columns": sizes}
        arrays |= {"offsets": np.cumsum(sizes**2) - sizes**2, "weights": np.concatenate(weights, axis=1)}
        directories.append(rewritten(run, ("", ""), np.zeros((16, 1, 1)), **arrays))
    return directories


@pytest.mark.slow
def test_the_viewer_of_twelve_runs_stays_in_its_budget(make_run):
    runs = read_runs(sampled(make_run, 12))
    payload = alignments(runs)
    assert len(packed(payload)) <= module.BUDGET
    for system in payload["systems"]:
        assert system["moments"][-1] == [16, 160]
        assert len(system["moments"]) == 16 - payload["left_out"][0] >= 8
    assert {words["bucket"] for words in payload["sentences"]} == {"1-10", "11-20", "21-30", "31-40", "41-50", "51-60"}
    assert len(payload["sentences"]) == 18 - payload["left_out"][1]
    for place in range(len(payload["sentences"])):
        last = decoded(payload, 0, place)[-1]
        assert (last.argmax(axis=-1) == np.arange(len(last))).mean() > 0.9


@pytest.mark.slow
def test_the_viewer_of_fifty_runs_stays_in_its_budget(make_run):
    few = _sample(read_runs(sampled(make_run, 5)))
    budget = module.BUDGET + 38 * module.MORE
    moments, rows = _fitting(few * 10, [[3 * bucket + row for row in range(3)] for bucket in range(6)], budget)
    systems = [module._system(about, [of[row] for row in rows], moments) for _, about, of in few * 10]
    assert moments >= 8
    assert len({row // 3 for row in rows}) == 6
    assert len(packed(systems)) <= budget


def test_very_long_sentences_go_rather_than_the_page_grows(make_run, monkeypatch):
    monkeypatch.setattr(module, "BUDGET", 3000)
    payload = alignments(read_runs([make_run("dot", "dot")]))
    assert len(packed(payload["systems"])) <= 3000
    assert payload["systems"][0]["moments"][-1] == [3, 6000]
    assert payload["left_out"][1] > 0


def headed(make_run):
    """A run of four heads, of which the third aligns best, and one that has one look."""
    runs = [make_run("multihead", "multihead"), make_run("dot", "dot", slope=0.02)]
    leave_heads(runs[0], {"head 1": 0.9, "head 2": 0.5, "head 3": 0.125, "head 4": 0.75})
    return runs


def test_each_heads_weights_are_in_the_page(make_run):
    runs = headed(make_run)
    payload = json.loads(json.dumps(alignments(read_runs(runs))))
    several, one = payload["systems"]
    assert set(one) == {"name", "moments", "weights"}
    looks = several["looks"]
    assert (looks["names"], looks["aer"]) == ([f"head {n}" for n in range(1, 5)], [0.9, 0.5, 0.125, 0.75])
    assert looks["mean_aer"] is None
    for place, sentence in enumerate(read_alignments(runs[0] / "test" / "alignments.npz").sentences):
        numbers = np.array([ord(letter) - ZERO for letter in looks["weights"][place]])
        rows, columns = sentence.looks.shape[1:]
        np.testing.assert_array_equal(numbers.reshape(rows, columns, 4).transpose(2, 0, 1), percents(sentence.looks))


@pytest.mark.parametrize(("budget", "left"), [(4000, range(1, 10)), (10, [0])])
def test_heads_of_sentences_that_have_no_room_go(make_run, monkeypatch, budget, left):
    runs = headed(make_run)
    monkeypatch.setattr(module, "LOOKS_BUDGET", budget)
    payload = alignments(read_runs(runs))
    assert len(payload["sentences"]) == 12  # these stay
    weights = payload["systems"][0].get("looks", {"weights": []})["weights"]
    assert len([text for text in weights if text]) in left
    assert len(packed(weights)) <= max(budget, 50)


# ---- what a reader sees


def test_a_head_is_chosen_and_the_words_say_which(make_run, tmp_path, open_page):
    runs = headed(make_run)
    page = open_page(write_report(read_runs(runs), tmp_path / "report.html"))
    page.locator("#alignments-section-1").scroll_into_view_if_needed()
    page.wait_for_selector("[data-target] button")
    first, second = (page.locator(f"[data-system={side}]") for side in ("first", "second"))
    assert second.get_by_label("Layer and head").is_hidden()
    heads, shown, map_of = first.get_by_label("Layer and head"), first.locator("[data-shown]"), first.locator("canvas")
    assert heads.locator("option").all_inner_texts() == [
        "mean of 4 heads",
        "head 1 · AER 0.90",
        "head 2 · AER 0.50",
        "head 3 · AER 0.13, best single one",
        "head 4 · AER 0.75",
    ]
    assert shown.inner_text().startswith(
        "Shown: the mean of 4 heads. Best single one on the test set: head 3, AER 0.13"
    )
    page.locator("[data-target] button").nth(4).click()
    mean = [looked(page), map_of.evaluate("e => e.toDataURL()"), looked(page, "second")]
    sentence = read_alignments(runs[0] / "test" / "alignments.npz").sentences[2]
    for head in (1, 2, 3):
        heads.select_option(label=heads.locator("option").nth(head + 1).inner_text())
        place, _, percent, *_ = looked(page)[0]
        weights = sentence.looks[head, 4].astype(float)
        assert (place, percent) == (weights.argmax(), f"{100 * weights.max():.0f} %")
        assert map_of.evaluate("e => e.toDataURL()") != mean[1]
        assert shown.inner_text().startswith(f"Shown: head {head + 1}, at the last moment. Best")
        assert f"multihead · seed 1, head {head + 1} looked at: " in page.locator("[data-said]").inner_text()
        assert f"head {head + 1}" in first.get_by_role("application").get_attribute("aria-label")
        assert looked(page, "second") == mean[2]
    page.locator("[data-moment]").press("Home")  # of the heads there is the last moment alone
    assert looked(page)[0][0] == weights.argmax()
    assert first.locator("[data-progress]").inner_text() == "epoch 3 · 6,000 updates"
    page.locator("[data-moment]").press("End")
    page.locator("[data-sentence]").select_option(index=1)  # another sentence, the same head
    assert shown.inner_text().startswith("Shown: head 4,")
    page.locator("[data-sentence]").select_option(index=0)
    page.locator("[data-target] button").nth(4).click()
    heads.select_option("")
    assert [looked(page), map_of.evaluate("e => e.toDataURL()")] == mean[:2]
    first.locator("[data-name]").select_option("dot · seed 1")
    assert heads.is_hidden()
    assert shown.is_hidden()


def test_layers_have_heads_of_their_own(make_run, tmp_path, open_page):
    run = make_run("transformer", "transformer")
    leave_heads(run, {"layer 1": 0.5, "layer 1 head 1": 0.4, "layer 1 head 2": 0.3, "layer 2": 0.2} | HEADS_OF_LAYER_2)
    path = run / "test" / "results.json"
    links = {"aer": 0.15, "precision": 0.8, "recall": 0.9}
    aer = {"sentences": 60, "shift_0": links, "shift_-1": links}
    path.write_text(json.dumps({**json.loads(path.read_text()), "aer": aer}))
    page = open_page(write_report(read_runs([run]), tmp_path / "report.html"), width=375, bypass_csp=True)
    page.locator("#alignments-section-1").scroll_into_view_if_needed()
    page.wait_for_selector("[data-target] button")
    looks = page.get_by_label("Layer and head")
    assert looks.locator("option").nth(0).inner_text() == "mean of 2 layers with 2 heads each · AER 0.15"
    assert looks.locator("option").nth(5).inner_text() == "layer 2 head 1 · AER 0.10, best single one"
    looks.select_option("4")
    said = page.locator("[data-shown]")
    best = "Best single one on the test set: layer 2 head 1, AER 0.10; the mean 0.15."
    assert said.inner_text() == f"Shown: layer 2 head 1, at the last moment. {best}"
    looks.select_option("3")
    assert said.inner_text() == f"Shown: layer 2, the mean of its heads, at the last moment. {best}"
    slider, play = page.locator("[data-moment]"), page.locator("[data-play]")
    assert slider.is_disabled()  # a slider that nothing follows
    assert play.is_disabled()
    assert page.locator("[data-share]").inner_text() == "100 % of training"
    looks.select_option("")
    assert slider.is_enabled()
    slider.press("Home")
    assert page.locator("[data-share]").inner_text() != "100 % of training"
    looks.select_option("3")
    assert page.locator("[data-progress]").inner_text() == "epoch 3 · 6,000 updates"
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert Axe().run(page, "#alignments-section-1").response["violations"] == []


def test_a_sentence_whose_heads_had_no_room_says_so(make_run, tmp_path, open_page, monkeypatch):
    monkeypatch.setattr(module, "LOOKS_BUDGET", 4000)
    page = open_page(write_report(read_runs(headed(make_run)), tmp_path / "report.html"))
    page.locator("#alignments-section-1").scroll_into_view_if_needed()
    page.wait_for_selector("[data-target] button")
    page.locator("[data-alignments] [data-bucket]").select_option("51-60")
    page.locator("[data-sentence]").select_option(index=1)
    first = page.locator("[data-system=first]")
    assert first.get_by_label("Layer and head").is_disabled()
    assert "left out to keep the page small" in first.locator("[data-shown]").inner_text()
    page.locator("[data-alignments] [data-bucket]").select_option("1-10")
    assert first.get_by_label("Layer and head").is_enabled()


@pytest.fixture
def viewer(report, open_page):
    """The viewer of the report, of a sentence of 11 to 20 words."""
    page = open_page(report)
    page.locator("#alignments-section-1").scroll_into_view_if_needed()
    page.wait_for_selector("[data-target] button")
    assert page.locator("[data-alignments] [data-bucket]").input_value() == "11-20"  # not the shortest
    return page


def expected(report_runs, name, moment=-1, sentence=2):
    """Of a run, weights (rows, columns) and the words of a sentence of the sample."""
    run = next(run for run in report_runs if run.name == name)
    found = read_alignments(run / "test" / "alignments.npz").sentences[sentence]
    return found.weights[moment].astype(np.float64), found


def looked(page, side="first"):
    """The source words that are highlighted, strongest first, with their percents as the page has them."""
    words = page.locator(f"[data-system={side}] .word.looked").evaluate_all(
        "all => all.map((e) => [[...e.parentNode.children].indexOf(e), e.children[0].textContent,"
        "e.children[1].textContent, Number(getComputedStyle(e).getPropertyValue('--weight')),"
        "parseFloat(getComputedStyle(e.children[0]).borderBottomWidth)])"
    )
    return sorted(words, key=lambda word: -word[3])


def test_a_click_on_a_target_word_shows_the_source_words_that_it_looked_at(viewer, report_runs):
    weights, sentence = expected(report_runs, "bahdanau-1")
    words = [*sentence.source, "end"]
    for row in (4, 0, len(sentence.target)):
        viewer.locator("[data-target] button").nth(row).click()
        column = int(weights[row].argmax())
        place, word, percent, weight, underline = looked(viewer)[0]
        assert (place, word, percent) == (column, words[column], f"{weight * 100:.0f} %")
        assert abs(weight - weights[row, column]) <= 0.015
        assert underline == pytest.approx(6 * weight, abs=1)  # not by colour alone
        said = viewer.locator("[data-alignments] [data-said]").inner_text()
        assert f"bahdanau · seed 1 looked at: {words[column]} {percent}" in said
    highlighted = {place for place, *_ in looked(viewer)}
    assert highlighted == set(np.flatnonzero(percents(weights)[-1]).tolist())


def test_the_same_by_keyboard(viewer, report_runs):
    weights, _ = expected(report_runs, "bahdanau-1")
    buttons = viewer.locator("[data-target] button")
    viewer.locator("[data-moment]").focus()
    viewer.keyboard.press("Tab")
    for key, row in (("Enter", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", len(weights) - 1)):
        viewer.keyboard.press(key)
        assert buttons.nth(row).evaluate("e => e === document.activeElement")
        assert buttons.nth(row).get_attribute("aria-pressed") == "true"
        assert looked(viewer)[0][0] == weights[row].argmax()
    assert viewer.locator("[data-target] [aria-pressed=true]").count() == 1
    assert viewer.locator("[data-target] [tabindex='0']").count() == 1  # one stop of the tabulator


def test_the_slider_goes_back_in_training(viewer, report_runs):
    viewer.locator("[data-target] button").nth(3).click()
    slider = viewer.locator("[data-alignments] [data-moment]")
    assert slider.input_value() == slider.get_attribute("max") == "5"
    for keys, moment in ((["Home"], 0), (["ArrowRight", "ArrowRight"], 2), (["End"], 5)):
        for key in keys:
            slider.press(key)
        weights, _ = expected(report_runs, "bahdanau-1", moment)
        shares = {place: weight for place, _, _, weight, _ in looked(viewer)}
        assert shares == {place: found / 100 for place, found in enumerate(percents(weights)[3].tolist()) if found}
        label = f"epoch {(moment + 1) / 2:g} · {(moment + 1) * 1000:,} updates"
        assert viewer.locator("[data-system=first] [data-progress]").inner_text() == label
        assert label in slider.get_attribute("aria-valuetext")
        assert viewer.locator("[data-share]").inner_text() == f"{100 * (moment + 1) / 6:.0f} % of training"


def test_two_systems_stand_side_by_side_and_others_are_chosen(viewer, report_runs):
    viewer.locator("[data-target] button").nth(5).click()
    options = viewer.locator("[data-system=second] select").first.locator("option").all_inner_texts()
    assert sorted(options) == [f"{name} · seed {seed}" for name in ("bahdanau", "dot", "general") for seed in (1, 2, 3)]
    assert "none · seed 1" in viewer.locator("[data-alignments] [data-note]").inner_text()
    viewer.locator("[data-moment]").press("Home")
    for side, name in (("first", "general-2"), ("second", "dot-3")):
        viewer.locator(f"[data-system={side}] [data-name]").select_option(name.replace("-", " · seed "))
        weights, _ = expected(report_runs, name, 0)
        place, _, _, weight, _ = looked(viewer, side)[0]
        assert (place, round(100 * weight)) == (weights[5].argmax(), percents(weights)[5].max())
    assert viewer.locator("[data-moment]").input_value() == "0"  # stays where it was


def test_the_heat_map_is_as_dark_as_the_weights_and_says_them(viewer, report_runs):
    weights, sentence = expected(report_runs, "bahdanau-1", 2)
    for _ in range(3):
        viewer.locator("[data-moment]").press("ArrowLeft")
    canvas = viewer.locator("[data-system=first] canvas")
    pixels = canvas.evaluate(
        "e => [e.height, e.width, Array.from(e.getContext('2d').getImageData(0, 0, e.width, e.height).data)]"
    )
    assert pixels[:2] == list(weights.shape)
    light = np.array(pixels[2]).reshape(*weights.shape, 4)[..., :3].sum(axis=-1)
    found = percents(weights)
    order = np.argsort(found, axis=None, kind="stable")
    assert (np.diff(light.ravel()[order]) <= 0).all()
    assert len(np.unique(light)) == len(np.unique(found))

    row, column = 6, int(weights[6].argmax())
    canvas.scroll_into_view_if_needed()
    area = canvas.bounding_box()
    cell = area["width"] / weights.shape[1]
    viewer.mouse.move(area["x"] + (column + 0.5) * cell, area["y"] + (row + 0.5) * cell)
    said = viewer.locator("[data-system=first] [data-cell]")
    text = f"{sentence.target[row]} looked at {[*sentence.source, 'end'][column]}: {found[row, column]} %"
    assert said.inner_text() == text
    viewer.mouse.move(area["x"] + cell / 2, area["y"] + (row + 0.5) * cell)
    viewer.mouse.down()
    viewer.mouse.up()
    assert viewer.locator("[data-target] button").nth(row).get_attribute("aria-pressed") == "true"

    viewer.mouse.move(0, 0)
    viewer.locator("[data-system=first] [role=application]").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowUp"):
        viewer.keyboard.press(key)
    assert said.inner_text() == f"{sentence.target[5]} looked at {sentence.source[2]}: {found[5, 2]} %"
    viewer.keyboard.press("Enter")
    assert viewer.locator("[data-target] button").nth(5).get_attribute("aria-pressed") == "true"


def test_gold_links_are_drawn_in_both_views(viewer, report_runs):
    _, sentence = expected(report_runs, "bahdanau-1")
    assert viewer.locator("[data-alignments] [data-gold]").is_visible()
    for kind in ("sure", "possible"):
        cells = viewer.locator(f"[data-system=first] rect.{kind}").evaluate_all(
            "all => all.map((e) => [Math.floor(e.getAttribute('x')), Math.floor(e.getAttribute('y'))])"
        )
        assert [tuple(cell) for cell in cells] == list(getattr(sentence, kind))
        dashes = viewer.locator(f"[data-system=first] rect.{kind}").first.evaluate(
            "e => getComputedStyle(e).strokeDasharray"
        )
        assert (dashes == "none") == (kind == "sure")
    viewer.locator("[data-target] button").nth(1).click()
    words = viewer.locator("[data-system=second] .word")
    assert words.nth(1).text_content().endswith(" gold link")
    assert words.nth(0).text_content().endswith(" possible gold link")
    assert [words.nth(i).evaluate("e => getComputedStyle(e).borderTopStyle") for i in (0, 1)] == ["dashed", "solid"]
    assert viewer.locator("[data-system=second] .word.sure, [data-system=second] .word.possible").count() == 2


def test_it_plays_but_only_steps_for_who_wants_no_motion(report, open_page):
    for motion, name, after in (("no-preference", "Play", "Stop"), ("reduce", "Next moment", "Next moment")):
        page = open_page(report, reduced_motion=motion)
        page.locator("#alignments-section-1").scroll_into_view_if_needed()
        page.wait_for_selector("[data-target] button")
        button = page.get_by_role("button", name=name)
        button.click()
        assert page.locator("[data-play]").inner_text() == after
        if motion == "reduce":
            assert page.locator("[data-moment]").input_value() == "0"
            page.wait_for_timeout(900)
            assert page.locator("[data-moment]").input_value() == "0"
            button.click()
            assert page.locator("[data-moment]").input_value() == "1"
        else:
            expect(page.locator("[data-moment]")).to_have_value("2")
            page.get_by_role("button", name="Stop").click()
            assert page.locator("[data-play]").inner_text() == "Play"


def test_moments_are_compared_at_the_same_share_of_training_and_words_stay_text(make_run, tmp_path, open_page):
    chance = np.random.default_rng(0)
    runs = [make_run("dot", "dot"), make_run("general", "general", slope=0.02)]
    source, target = [EVIL, "<b>x</b>", "سلام"], ["&amp;", EVIL]
    words = " ".join(source), " ".join(target)
    for run, moments in zip(runs, (5, 2), strict=True):
        rewritten(run, words, soft(chance, moments, 3, 4))
        score_again(run, [Prediction(0, *words, EVIL, -0.5, 3, False)])
    page = open_page(write_report(read_runs(runs), tmp_path / "report.html"))
    page.locator("#alignments-section-1").scroll_into_view_if_needed()
    page.wait_for_selector("[data-target] button")
    assert page.locator("[data-target] button").all_inner_texts() == [*target, "end"]
    shown = page.locator("[data-system=first] .word > span:first-child").all_inner_texts()
    assert shown == [*source, "end"]
    assert page.locator("[data-system=first] .heat bdi").all_inner_texts() == [*source, "end", *target, "end"]
    assert page.locator("img").count() == page.locator(".word b").count() == 0
    assert page.locator("[data-alignments] [data-gold]").is_hidden()  # there is none

    seen = []
    slider = page.locator("[data-moment]")
    slider.press("Home")
    for _ in range(5):
        seen.append(
            [page.locator(f"[data-system={side}] [data-progress]").inner_text() for side in ("first", "second")]
        )
        slider.press("ArrowRight")
    epochs = [[text.split(" · ")[0].removeprefix("epoch ") for text in pair] for pair in seen]
    assert epochs == [["1", "1"], ["2", "1"], ["3", "1"], ["4", "2"], ["5", "2"]]


def test_a_sentence_of_a_hundred_words_fits_a_phone_and_stays_fluid(make_run, tmp_path, open_page):
    runs = [make_run(name, name, lengths=[100, 99]) for name in ("dot", "general")]
    path = write_report(read_runs(runs), tmp_path / "report.html")
    for width in (320, 3840):
        page = open_page(path, width=width)
        page.locator("#alignments-section-1").scroll_into_view_if_needed()
        page.wait_for_selector("[data-target] button")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        cell = page.locator("[data-system=first] canvas").evaluate("e => e.clientWidth / e.width")
        assert cell >= 14  # a word beside it can be read
        milliseconds = page.evaluate(
            """() => {
                const slider = document.querySelector("[data-moment]");
                const start = performance.now();
                for (let time = 0; time < 20; time++) {
                    slider.value = time % 6;
                    slider.dispatchEvent(new Event("input"));
                }
                return (performance.now() - start) / 20;
            }"""
        )
        assert milliseconds < 100  # with a slow machine's allowance; about 10 by itself
