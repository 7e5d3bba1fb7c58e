"""What else differs between runs than the attention and the seed."""

from dataclasses import replace
from pathlib import Path

import pytest

from lookback.report.evidence.differences import arms, brought, differing, told_apart
from lookback.runs import Run, read_run


@pytest.fixture
def run(make_run):
    return lambda name, *arguments, **options: read_run(make_run(name, *arguments, **options, scored=False))


def test_attention_seed_names_and_places_are_no_difference(run):
    assert differing([run("a", "none", 1), run("b", "bahdanau", 2), run("c", "dot", 3)]) == []


def test_a_setting_is_a_difference_but_no_part_of_names_that_differ_anyway(run):
    runs = [run("a", "none", 1), run("b", "bahdanau", 1, cell="lstm")]
    assert differing(runs) == ["encoder.cell"]
    assert list(arms(runs)) == ["none", "bahdanau"]


def test_runs_of_one_name_that_differ_in_a_setting_are_told_apart_by_it(run):
    runs = [run("a", "dot", 1), run("b", "dot", 1, cell="lstm"), run("c", "none", 1), run("d", "dot", 2)]
    names = ["dot, cell=gru", "dot, cell=lstm", "none", "dot, cell=gru"]
    assert [each.arm for each in told_apart(runs)] == names
    assert [each.arm for each in told_apart(told_apart(runs))] == names
    assert {name: [each.seed for each in of] for name, of in arms(runs).items()} == {
        "none": [1],
        "dot, cell=gru": [1, 2],
        "dot, cell=lstm": [1],
    }


def test_a_name_that_was_given_to_two_attentions_says_which(run):
    runs = [as_recipe(run, "mine"), as_recipe(run, "mine", attention="dot")]
    assert list(arms(runs)) == ["mine, none", "mine, dot"]


def test_what_another_system_wrote_differs_in_no_setting(run):
    system = Run(Path("s"), "joey", None, None, "finished", None, None, {})
    runs = [run("a", "dot"), system]
    assert differing(runs) == []
    assert list(arms(runs)) == ["dot", "joey"]
    assert brought([*runs, run("b", "none")], "decoder.query") == {"none": "previous", "dot": "current"}


def test_the_papers_query_states_are_named_but_no_difference_of_settings(run):
    runs = [run("a", "none"), run("b", "bahdanau"), run("c", "dot")]
    assert brought(runs, "decoder.query") == {"none": "previous", "bahdanau": "previous", "dot": "current"}
    assert brought(runs[:2], "decoder.query") == {}


def test_within_one_attention_the_query_state_is_a_difference(run, make_run):
    other = make_run("b", "dot", scored=False) / ".hydra" / "config.yaml"
    other.write_text(other.read_text().replace("current", "previous"))
    assert differing([run("a", "dot"), read_run(other.parent.parent)]) == ["decoder.query"]


def test_the_rate_that_an_attention_brings_is_no_difference_but_another_one_is(run):
    runs = [run("a", "none", rate=0.008), run("b", "bahdanau", rate=0.004)]
    assert differing(runs) == []
    assert brought(runs, "learning_rate") == {"none": 0.008, "bahdanau": 0.004}
    runs.append(run("c", "none", rate=0.002))
    assert list(arms(runs)) == [
        "none, learning_rate=0.002",
        "none, learning_rate=0.008",
        "bahdanau",
    ]


def test_what_is_scored_on_the_way_is_no_difference(run, make_run):
    """A run of a version that did not, and one that had it switched off, are of the same arm."""
    other = make_run("b", "dot", scored=False) / ".hydra" / "config.yaml"
    other.write_text(other.read_text() + "callbacks:\n  budgets:\n    per_bucket: 100\n")
    assert "callbacks.budgets.per_bucket" in read_run(other.parent.parent).settings
    assert differing([run("a", "dot"), read_run(other.parent.parent)]) == []


def as_recipe(run, name, attention="none", **options):
    """A run whose config names its arm itself, as `experiment=cho2014` does."""
    made = run(f"{name}{attention}{options}", attention, **options)
    path = made.directory / ".hydra" / "config.yaml"
    path.write_text(path.read_text().replace("names:\n", f"names:\n  arm: {name}\n"))
    return read_run(made.directory)


def test_a_recipe_has_its_own_name_and_what_it_sets_is_in_no_other(run):
    runs = [run("a", "none"), run("b", "bahdanau"), as_recipe(run, "cho2014", cell="lstm")]
    assert (runs[2].arm, runs[2].recipe, runs[2].attention) == ("cho2014", "cho2014", "none")
    assert differing(runs) == ["encoder.cell"]  # said aloud all the same
    assert list(arms(runs)) == ["none", "cho2014", "bahdanau"]


def test_within_a_recipe_a_setting_is_in_its_names_alone(run):
    both = [as_recipe(run, "cho2014", cell=cell) for cell in ("gru", "lstm")]
    assert list(arms([run("a", "none"), *both])) == ["none", "cho2014, cell=gru", "cho2014, cell=lstm"]


def test_two_rates_are_no_seeds_of_one_arm_whoever_gave_the_name(run):
    swept = replace(run("a", "none", 1, rate=0.004), arm="none, hidden_size=16")
    by_hand = run("b", "none", 2, rate=0.016)
    names = {"names": {"arm": "none, hidden_size=16"}}
    by_hand = replace(by_hand, arm="none, hidden_size=16", config={**by_hand.config, **names})
    assert list(arms([swept, by_hand])) == [
        "none, hidden_size=16, learning_rate=0.004",
        "none, hidden_size=16, learning_rate=0.016",
    ]


def test_a_name_that_becomes_another_arms_is_told_apart_again(run):
    runs = [run("a", "dot", 1), run("b", "dot", 1, cell="lstm")]
    third = run("c", "dot", 1, cell="lstm", train_max_length=20)
    runs.append(replace(third, arm="dot, cell=lstm"))
    names = [each.arm for each in told_apart(runs)]
    assert len(set(names)) == 3
    assert names[0] == "dot, cell=gru"


def test_what_changes_no_number_splits_no_arm(run):
    """The settings that leave a job of a sweep the same job, too: a sweep may go on on another machine."""
    here = {
        "batch": {"evaluation_size": 16},
        "trainer": {"max_epochs": 2, "accelerator": "auto", "devices": 1},
        "callbacks": {"last": {"minutes": 10}},
        "optimized_metric": "validation/perplexity",
    }
    there = {
        "batch": {"evaluation_size": 64},
        "trainer": {"max_epochs": 2.0, "accelerator": "cpu", "devices": 2, "num_nodes": 1},
        "callbacks": {"last": {"minutes": 5}},
        "optimized_metric": "validation/bleu",
    }
    one, other = run("a", "dot", 1), run("b", "dot", 2)
    runs = [replace(one, config={**one.config, **here}), replace(other, config={**other.config, **there})]
    assert list(arms(runs)) == ["dot"]
    assert differing(runs) == []


def as_transformer(run, name):
    """A run as `model=transformer` leaves it, on top of a made one: both sides have other settings."""
    made = run(name, "multihead")
    (made.directory / ".hydra" / "hydra.yaml").write_text("hydra: {runtime: {choices: {model: transformer}}}\n")
    sides = {
        side: {"_target_": f"lookback.nn.Transformer{side.capitalize()}", "heads": 4, "positions": "${encoder.where}"}
        for side in ("encoder", "decoder")
    }
    sides["encoder"] |= {"where": "rotary"}
    return replace(made, config={**made.config, **sides})


def test_a_transformer_has_its_own_name_and_differs_as_a_whole(run):
    """Not setting by setting, and none of them by a name in braces."""
    runs = [run("a", "none"), run("b", "dot"), as_transformer(run, "c")]
    assert runs[2].recipe == "transformer"
    assert runs[2].settings["decoder.positions"] == "rotary"
    assert sorted(differing(runs)) == ["decoder._target_", "encoder._target_"]


def test_a_run_of_before_a_setting_is_of_the_same_arm(run):
    """It had what is the default today."""
    new = run("a", "dot", 1, rate=0.004)
    decoder = {**new.config["decoder"], "_target_": "lookback.nn.RecurrentDecoder"}
    old = replace(run("b", "dot", 2, rate=0.004), config={**new.config, "decoder": decoder})
    later = {"scheduled_sampling": 0.0, "parameters": None, "decoder": {**decoder, "looks": "top"}}
    new = replace(new, config={**new.config, **later})
    assert "decoder.query" in new.settings
    assert list(arms([old, new])) == ["dot"]
    assert differing([old, new]) == []
