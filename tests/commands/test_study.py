"""The study of a search: it is of one search, and what cannot be read is one line."""

from pathlib import Path
from typing import Any

import pytest

from lookback.commands.study import Search, in_words, open_study, study_errors
from lookback.common.errors import InputError

optuna: Any = pytest.importorskip("optuna", reason="the extra [optuna] is not installed")

STORAGE = "sqlite:///study.db"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def a_search(choice: str = "dot", **settings: Any) -> Search:
    """A search for a learning rate, with these settings."""
    found = {
        "optimized_metric": "validation/perplexity",
        "learning_rate": "interval(0.1,0.2)",
        "hydra.sweeper.seed": 1,
        "seed": 1,
        "attention.name": choice,
        **settings,
    }
    return {"settings": found, "choices": {"attention": choice, "logger": "csv"}}


def begun() -> Any:
    """A study with a trial."""
    study = open_study(STORAGE, "lookback", a_search())
    study.tell(study.ask({"x": optuna.distributions.FloatDistribution(0, 1)}), 1.0)
    return study


def test_the_same_search_goes_on_wherever_it_logs() -> None:
    assert open_study(STORAGE, "lookback", a_search()).trials == []
    begun()
    search = a_search()
    search["choices"]["logger"] = "wandb"
    assert len(open_study(STORAGE, "lookback", search).trials) == 1


@pytest.mark.parametrize(
    ("other", "old", "new"),
    [
        (a_search(optimized_metric="validation/bleu"), "optimized_metric=validation/perplexity", "=validation/bleu"),
        (a_search(learning_rate="interval(0.1,0.3)"), "learning_rate=interval(0.1,0.2)", "=interval(0.1,0.3)"),
        (a_search(seed=2), "seed=1", "seed=2"),
        (a_search(**{"hydra.sweeper.seed": 2}), "hydra.sweeper.seed=1", "hydra.sweeper.seed=2"),
        (a_search("none", seed=2), "attention=dot", "attention=none"),
        (a_search("none", attention="none,dot"), "attention=dot", "attention=none,dot"),
        (a_search(added=3), "added=None", "added=3"),
    ],
)
def test_another_search_is_refused_with_what_differs(other: Search, old: str, new: str) -> None:
    begun()
    with pytest.raises(InputError, match=r"^study\.db: holds a search with ") as caught:
        open_study(STORAGE, "lookback", other)
    before, after = str(caught.value).split(", which cannot go on with ")
    assert before.endswith(f" {old}")
    assert f"{new}; expected" in after


def test_trials_that_do_not_say_what_they_are_about_are_left_alone() -> None:
    study = optuna.create_study(storage=STORAGE, study_name="lookback")
    assert open_study(STORAGE, "lookback", a_search()).trials == []  # one that was killed before it said so
    study = optuna.create_study(storage=STORAGE, study_name="other")
    study.ask()
    with pytest.raises(InputError, match=r"^study\.db: does not say what its trials are about"):
        open_study(STORAGE, "other", a_search())


def test_a_damaged_database_is_one_line_with_its_name() -> None:
    begun()
    path = Path("study.db")
    whole = path.read_bytes()
    damages = [whole[:5000], whole[:20000] + bytes(len(whole) - 20000), b"something else" * 1000]
    damages.append(whole.replace(b'"validation/perplexity"', b'"validation\x07perplexity"'))  # whole but for a text
    for damaged in damages:
        path.write_bytes(damaged)
        with (
            pytest.raises(InputError, match=r"^study\.db: .*; expected the study of a search") as caught,
            study_errors(STORAGE),
        ):
            open_study(STORAGE, "lookback", a_search())
        assert "\n" not in str(caught.value)


def test_an_address_is_shown_without_its_password() -> None:
    storage = "sqlite+nothing://me:secret@host/study"
    with pytest.raises(InputError, match="me:") as caught, study_errors(storage):
        open_study(storage, "lookback", a_search())
    assert "secret" not in str(caught.value)


def test_what_is_varied_is_shown_as_it_is_typed() -> None:
    of = optuna.distributions
    assert in_words(of.CategoricalDistribution(["none", "dot"])) == "none,dot"
    assert in_words(of.IntDistribution(1, 4)) == "interval(1,4)"
    assert in_words(of.FloatDistribution(0.001, 0.1, log=True)) == "tag(log,interval(0.001,0.1))"
