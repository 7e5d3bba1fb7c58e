"""What else differs between runs than the attention and the seed."""

import pytest

from lookback.report.evidence.differences import arm, arms, brought, differing, naming
from lookback.runs import read_run


@pytest.fixture
def run(make_run):
    return lambda name, *arguments, **options: read_run(make_run(name, *arguments, **options, scored=False))


def test_attention_seed_names_and_places_are_no_difference(run):
    assert differing([run("a", "none", 1), run("b", "bahdanau", 2), run("c", "dot", 3)]) == []


def test_a_setting_is_a_difference_and_part_of_the_arms_name(run):
    runs = [run("a", "none", 1), run("b", "bahdanau", 1, cell="lstm")]
    assert differing(runs) == ["encoder.cell"]
    assert [arm(each, differing(runs)) for each in runs] == ["none, cell=gru", "bahdanau, cell=lstm"]


def test_names_that_would_be_the_same_are_written_out(run):
    assert arm(run("a"), ["encoder.layers", "decoder.layers"]) == "bahdanau, encoder.layers=1, decoder.layers=None"


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
        "bahdanau, learning_rate=0.004",
    ]


def test_what_is_scored_on_the_way_is_no_difference(run, make_run):
    """A run of a version that did not, and one that had it switched off, are of the same arm."""
    other = make_run("b", "dot", scored=False) / ".hydra" / "config.yaml"
    other.write_text(other.read_text() + "callbacks:\n  budgets:\n    per_bucket: 100\n")
    assert "callbacks.budgets.per_bucket" in read_run(other.parent.parent).settings
    assert differing([run("a", "dot"), read_run(other.parent.parent)]) == []


def as_recipe(run, name, **options):
    """A run whose config names its arm itself, as `experiment=cho2014` does."""
    made = run(f"{name}{options}", "none", **options)
    path = made.directory / ".hydra" / "config.yaml"
    path.write_text(path.read_text().replace("${hydra:runtime.choices.attention}", name))
    return read_run(made.directory)


def test_a_recipe_has_its_own_name_and_what_it_sets_is_in_no_other(run):
    runs = [run("a", "none"), run("b", "bahdanau"), as_recipe(run, "cho2014", cell="lstm")]
    assert runs[2].attention == "cho2014"
    assert differing(runs) == ["encoder.cell"]  # said aloud all the same
    assert naming(runs) == []
    assert list(arms(runs)) == ["none", "bahdanau", "cho2014"]


def test_within_a_recipe_and_between_the_others_a_setting_counts(run):
    both = [as_recipe(run, "cho2014", cell=cell) for cell in ("gru", "lstm")]
    assert list(arms([run("a", "none"), *both])) == ["none, cell=gru", "cho2014, cell=gru", "cho2014, cell=lstm"]
    others = [run("b", "bahdanau"), run("c", "none", cell="lstm")]
    assert list(arms([*others, both[0]])) == ["none, cell=lstm", "bahdanau, cell=gru", "cho2014, cell=gru"]
