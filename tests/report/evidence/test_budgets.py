"""test/budgets.npz read back, and drawn: which runs go together, and what each point is."""

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from lookback.common.errors import InputError
from lookback.evaluation import BOUNDS
from lookback.report import length_chart
from lookback.report.charts.budget_chart import budget_charts
from lookback.report.evidence.budgets import read_budgets, scored_at_budgets
from lookback.runs import read_predictions, read_run

LENGTHS = [*(length for length in range(1, 41) for _ in range(6)), *range(41, 51)]


@pytest.fixture(scope="module")
def runs(make_run_at, tmp_path_factory):
    place = tmp_path_factory.mktemp("arms")
    return [
        read_run(make_run_at(place / f"{name}{seed}", name, seed, slope=slope, lengths=LENGTHS, updates=1000))
        for name, slope in {"dot": 0.002, "none": 0.01}.items()
        for seed in (2, 1)
    ]


def rewrite(run, **changes):
    path = run.directory / "test" / "budgets.npz"
    with np.load(path) as file:
        arrays = dict(file)
    np.savez_compressed(path, **{**arrays, **changes})


def layers(chart):
    return chart.to_dict()["layer"]


def points(layer):
    return layer["data"]["values"]


def test_points_are_the_means_of_corpus_bleu_in_their_buckets(runs):
    """Counted again with sacrebleu from the statistics of each run, by hand."""
    scored = scored_at_budgets(runs)
    assert list(scored.arms) == ["none", "dot"]
    assert [run.seed for run in scored.arms["dot"]] == [1, 2]
    for moment, chart in enumerate(budget_charts(scored)):
        _, thin, mean, *_ = layers(chart)
        for name, of in scored.arms.items():
            found = [read_budgets(run.directory / "test" / "budgets.npz") for run in of]
            of_bucket = np.searchsorted(BOUNDS, found[0].source_length)
            for bucket in range(4):
                expected = []
                for budgets in found:
                    sums = budgets.statistics[moment][of_bucket == bucket].sum(axis=0)
                    score = BLEU.compute_bleu(
                        list(sums[:4]), list(sums[4:8]), int(sums[8]), int(sums[9]), smooth_method="exp"
                    )
                    expected.append(score.score)
                ours = [p for p in points(mean) if p["arm"].startswith(name)][bucket]
                assert ours["bleu"] == pytest.approx(np.mean(expected))
                assert ours["low"] < ours["bleu"] < ours["high"]
                lines = [p for p in points(thin) if p["run"].startswith(name) and p["bucket"] == ours["bucket"]]
                assert [p["bleu"] for p in lines] == pytest.approx(expected)


def test_the_last_moment_is_the_whole_run(runs):
    scored = scored_at_budgets(runs)
    for name, of in scored.arms.items():
        assert scored.moments[-1].arms[name]["score"] == pytest.approx(np.mean([run.bleu for run in of]))


def test_every_moment_has_the_same_axes_and_the_length_charts_colours(runs):
    charts = [chart.to_dict() for chart in budget_charts(scored_at_budgets(runs))]
    encodings = [chart["layer"][2]["encoding"] for chart in charts]
    assert len({str(encoding["y"]["scale"]) for encoding in encodings}) == 1
    assert len({str(encoding["x"]) for encoding in encodings}) == 1
    top = encodings[0]["y"]["scale"]["domain"][1]
    assert top >= max(point["high"] for chart in charts for point in points(chart["layer"][2]))
    theirs = length_chart(runs).to_dict()["layer"][2]["encoding"]["color"]["scale"]["range"]
    assert [encoding["color"]["scale"]["range"] for encoding in encodings] == [theirs] * 4
    heights = [np.mean([point["bleu"] for point in points(chart["layer"][2])]) for chart in charts]
    assert heights == sorted(heights)


def test_few_sentences_are_hollow_and_joined_to_nothing(runs):
    _, thin, mean, _, _, hollow = layers(budget_charts(scored_at_budgets(runs))[0])[:6]
    assert {point["bucket"] for point in points(hollow)} == {"41-50"}
    for layer in (thin, mean):
        assert "41-50" not in {point["bucket"] for point in points(layer)}


def test_a_moment_is_said_in_words(runs, make_run):
    first, *_, last = budget_charts(scored_at_budgets(runs))
    assert first.title.text == "BLEU against source length after 125 updates (an eighth)"
    assert last.title.text == "BLEU against source length after 1,000 updates (all)"
    said = " ".join(first.title.subtitle)
    for text in ("250 of 250 test sentences", "greedy search", "may score far higher", "hollow: n < 50", "tok:"):
        assert text in said
    other = read_run(make_run("other", "general", lengths=LENGTHS, updates=2000))
    scored = scored_at_budgets([*runs, other])
    assert [scored.said(moment) for moment in (0, 3)] == [
        "125 to 250 updates (an eighth)",
        "1,000 to 2,000 updates (all)",
    ]
    rewrite(other, shares=np.array([0.125, 0.25, 0.5, 0.6]), updates=np.array([1, 2, 3, 4]))
    alone = scored_at_budgets([other])
    assert [alone.said(moment) for moment in (0, 3)] == ["1 update (an eighth)", "4 updates (60%)"]


def test_only_runs_of_the_same_shares_and_sentences_are_drawn_together(runs, make_run):
    others = [read_run(make_run(name, name, lengths=LENGTHS, updates=1000)) for name in ("bahdanau", "general")]
    rewrite(others[0], shares=np.array([0.125, 0.25, 0.5, 0.6]))
    rewrite(others[1], ids=np.arange(len(LENGTHS)) + 1)
    bare = read_run(make_run("bare", "location", lengths=LENGTHS))
    again = read_run(make_run("again", "dot", 2, slope=0.002, lengths=LENGTHS, updates=1000))
    scored = scored_at_budgets([*others, *runs, bare, again])
    assert list(scored.arms) == ["none", "dot"]
    assert [run.seed for run in scored.arms["dot"]] == [1, 2]
    assert scored.left_out == 4
    assert "4 of the runs left out" in " ".join(budget_charts(scored)[0].title.subtitle)
    # an arm keeps its colour, whoever is left out
    colors = layers(budget_charts(scored)[0])[2]["encoding"]["color"]["scale"]["range"]
    theirs = layers(length_chart([*others, *runs, bare, again]))[2]["encoding"]["color"]["scale"]
    named = {name.split()[0]: color for name, color in zip(theirs["domain"], theirs["range"], strict=True)}
    assert colors == [named["none"], named["dot"]]
    assert scored_at_budgets([bare]) is None
    assert scored_at_budgets([]) is None


def test_a_file_that_is_none_is_named(make_run):
    run = read_run(make_run("a", lengths=LENGTHS, updates=1000))
    path = run.directory / "test" / "budgets.npz"
    rewrite(run, statistics=np.zeros((4, 3, 10), dtype=np.int64))
    with pytest.raises(InputError, match=r"budgets.npz: statistics has shape \(4, 3, 10\), expected \(4, 250, 10\)"):
        read_budgets(path)
    rewrite(run, ids=np.zeros(0, int), source_length=np.zeros(0, int), statistics=np.zeros((4, 0, 10), int))
    with pytest.raises(InputError, match="4 moments of 0 sentences"):
        read_budgets(path)
    path.write_text("no archive")
    with pytest.raises(InputError, match=r"budgets.npz: .*expected a budgets.npz that a training wrote"):
        read_budgets(path)


def test_the_fabricated_run_is_what_it_says(runs):
    """At the end of its training it writes what it wrote as its test."""
    predictions = read_predictions(runs[0].directory / "test" / "predictions.jsonl")
    expected = BLEU(tokenize="none").corpus_score(
        [p.hypothesis for p in predictions], [[p.reference for p in predictions]]
    )
    sums = read_budgets(runs[0].directory / "test" / "budgets.npz").statistics[-1].sum(axis=0)
    assert sums[:4].tolist() == expected.counts
