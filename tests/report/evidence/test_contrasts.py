"""Who is compared with whom: by seed, with the baseline of the same settings, and never where that is not fair."""

from dataclasses import replace

import pytest

from lookback.common.errors import InputError
from lookback.evaluation import Resamples
from lookback.report.evidence.contrasts import CountedRuns, evidence
from lookback.runs import Segments, read_run

LENGTHS = [length for length in range(1, 21) for _ in range(6)]


@pytest.fixture
def run(make_run):
    return lambda name, *arguments, **options: read_run(make_run(name, *arguments, lengths=LENGTHS, **options))


def test_runs_are_paired_by_their_seed_and_tested_on_their_counts(run):
    runs = [run("a", "none", 1, slope=0.02), run("b", "none", 2, slope=0.02), run("c", "dot", 2), run("d", "dot", 3)]
    found = evidence(runs)
    (contrast,) = found.contrasts
    assert (found.baseline, contrast.arm, contrast.baseline, found.notes) == ("none", "dot", "none", [])
    assert contrast.pairs == [(runs[2], runs[1])]
    counts = [Segments.load(run.directory / "test" / "segments.npz") for run in (runs[2], runs[1])]
    (expected,) = Resamples(counts).differences([[(0, 1)]])
    assert contrast.difference == expected
    assert contrast.difference.whole["difference"] == pytest.approx(runs[2].bleu - runs[1].bleu)
    assert contrast.difference.whole["models_differ"]
    assert (found.arms["none"]["seeds"], found.arms["dot"]["seeds"]) == (2, 2)
    assert found.arms["none"]["score"] == pytest.approx((runs[0].bleu + runs[1].bleu) / 2)


def test_the_baseline_is_none_or_the_first_by_the_alphabet_or_what_is_asked_for(run):
    none, dot, general = run("a", "none", slope=0.02), run("b", "dot"), run("c", "general", slope=0.01)
    assert evidence([dot, none, general]).baseline == "none"
    assert [contrast.arm for contrast in evidence([general, dot, none]).contrasts] == ["dot", "general"]  # by gain
    assert evidence([general, dot]).baseline == "dot"
    assert [contrast.arm for contrast in evidence([none, dot, general], "general").contrasts] == ["dot", "none"]
    assert evidence([dot, general], "none").contrasts == []  # another group of runs has it
    assert evidence([dot]).contrasts == []
    assert list(evidence([dot]).arms) == ["dot"]


def test_each_two_arms_are_compared_on_the_whole_test_set(run):
    slopes = {"none": 0.03, "dot": 0.002, "general": 0.0021, "bahdanau": 0.015}
    runs = [run(f"{name}{seed}", name, seed, slope=slope) for name, slope in slopes.items() for seed in (1, 2, 3)]
    found = evidence(runs)
    best = found.contrasts[0]
    first, second, third = (contrast.arm for contrast in found.contrasts)
    pairs = [(first, second), (first, third), (second, third)]
    assert [(rival.arm, rival.baseline) for rival in found.rivals] == pairs
    assert all(rival.pairs[0][0].seed == rival.pairs[0][1].seed == 1 for rival in found.rivals)
    assert [len(rival.pairs) for rival in found.rivals] == [3, 3, 3]
    tied, beaten, _ = (rival.difference for rival in found.rivals)
    assert {best.arm, found.rivals[0].baseline} == {"dot", "general"}
    assert (tied.whole["significant"], beaten.whole["significant"]) == (False, True)
    (alone,) = evidence([run for run in runs if run.attention in (best.arm, "bahdanau")], "bahdanau").contrasts
    assert {**beaten.whole, "p_holm": None} == {**alone.difference.whole, "p_holm": None}
    smallest = min(rival.difference.whole["p"] for rival in found.rivals)
    times = 3 if beaten.whole["p"] == smallest else 2  # a family of three, step down
    assert beaten.whole["p_holm"] == pytest.approx(times * alone.difference.whole["p"])
    assert evidence(runs[:6]).rivals == []
    lonely = evidence([*runs[:6], run("d", "general", 4, slope=0.01), run("e", "none", 4, slope=0.03)])
    assert lonely.rivals == []
    assert lonely.notes == ["dot and general have no seed in common; no difference was taken"]


def test_an_arm_meets_the_baseline_of_its_own_settings(run):
    runs = [run(f"{name}{cell}", name, cell=cell) for cell in ("gru", "lstm") for name in ("none", "dot")]
    assert {contrast.arm: contrast.baseline for contrast in evidence(runs).contrasts} == {
        "dot, cell=gru": "none, cell=gru",
        "dot, cell=lstm": "none, cell=lstm",
    }
    lonely = evidence([runs[0], runs[3]])  # whatever else differs: the comparison says so
    assert [(contrast.arm, contrast.baseline) for contrast in lonely.contrasts] == [("dot", "none")]
    undecided = evidence([runs[0], runs[2], run("other", "dot", cell="rnn")])
    assert undecided.contrasts == []
    assert undecided.notes == ["dot: several runs of none have as many of its settings; no difference was taken"]


def test_a_baseline_is_an_arm_or_else_the_arms_of_a_recipe_or_attention(run):
    gru, lstm, dot = run("a", "none"), run("b", "none", cell="lstm"), run("c", "dot")
    assert [(c.arm, c.baseline) for c in evidence([gru, lstm, dot], "none, cell=gru").contrasts] == [
        ("dot", "none, cell=gru"),
        ("none, cell=lstm", "none, cell=gru"),
    ]
    recipe = run("d", "none", cell="rnn")
    recipe = replace(recipe, arm="cho2014", config={**recipe.config, "names": {"arm": "cho2014"}})
    assert {(c.arm, c.baseline) for c in evidence([gru, recipe, dot]).contrasts} == {
        ("cho2014", "none"),
        ("dot", "none"),
    }
    # the recipe alone looks nowhere: it is what the other is compared with
    assert [(c.arm, c.baseline) for c in evidence([recipe, dot]).contrasts] == [("dot", "cho2014")]


def test_what_cannot_be_compared_is_said(run):
    runs = [run("a", "none", 1), run("b", "dot", 2), run("c", "none", 1), run("d", "general", 1), run("e", "none", 3)]
    (runs[4].directory / "test" / "segments.npz").unlink()
    found = evidence(runs)
    assert [contrast.arm for contrast in found.contrasts] == ["general"]
    assert found.arms["none"]["seeds"] == 1
    assert found.notes == [
        f"{runs[2].directory} is a second run of none with seed 1: not counted again",
        f"{runs[4].directory} has no segments.npz, and so no part in intervals and differences",
        "dot and none have no seed in common; no difference was taken",
    ]
    (runs[0].directory / "test" / "segments.npz").unlink()
    assert evidence(runs[:1]).arms == {}


def test_counts_of_other_sentences_are_refused_by_name(run):
    runs = [run("a", "none"), run("b", "dot")]
    path = runs[1].directory / "test" / "segments.npz"
    whole = Segments.load(path)
    replace(whole, source_length=whole.source_length[::-1].copy()).save(path)  # the same score
    with pytest.raises(InputError, match=r"other sentences .*segments\.npz of .*a, .*b"):
        evidence(runs)


def test_counted_runs_say_what_evidence_says_and_count_once(run, monkeypatch):
    runs = [run("a", "none", 1, slope=0.02), run("b", "dot", 1), run("c", "general", 1, slope=0.01)]
    read = []
    load = Segments.load
    monkeypatch.setattr(Segments, "load", lambda path: read.append(path) or load(path))
    counted = CountedRuns(runs)
    for baseline, measure, buckets in ((None, "bleu", "width"), ("dot", "chrf", "count"), ("none", "ter", "width")):
        found = counted.evidence(baseline, measure, buckets)
        assert len(read) == 3
        assert found == evidence(runs, baseline, measure, buckets)
        assert (found.measure, found.buckets) == (measure, buckets)
        del read[3:]
    assert counted.evidence() is counted.evidence("none")  # tested once, by whatever name the baseline is asked for
    lower = counted.evidence(measure="ter").contrasts
    assert [contrast.arm for contrast in lower] == ["dot", "general"]  # the largest gain is the lowest rate
    assert lower[0].difference.whole["difference"] < lower[1].difference.whole["difference"] < 0


def test_buckets_of_equal_counts_and_the_curve_of_each_run(run):
    runs = [run("a", "none", 1, slope=0.02), run("b", "none", 2, slope=0.02), run("c", "dot", 2)]
    found = evidence(runs, buckets="count", measure="chrf")
    assert [bucket["n"] for bucket in found.arms["dot"]["by_length"]] == [18, 18, 18, 18, 24, 24]
    assert [bucket["hi"] for bucket in found.contrasts[0].difference.curve] == [3, 6, 9, 12, 16, 20]
    for run_, curve in zip(runs[:2], found.curves["none"], strict=True):
        expected = run_.results["by_equal_count"]
        assert [bucket["score"] for bucket in curve] == pytest.approx([bucket["chrf"] for bucket in expected])
    with pytest.raises(ValueError, match="buckets='equal': expected one of width, count"):
        evidence(runs, buckets="equal")
    with pytest.raises(ValueError, match="measure='blue'"):
        evidence(runs, measure="blue")
