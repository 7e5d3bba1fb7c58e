"""The study of a search by Optuna: what it is about, and where it lies."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict

from lookback.common.errors import InputError
from lookback.training.schedules import BETTER

if TYPE_CHECKING:
    import optuna


class Search(TypedDict):
    """What a search is about. The study keeps it: all its trials are of one search.

    Attributes:
        settings: the metric, and what changes a number of jobs or proposals, by dotted keys. What is varied has the
            values that it may have.
        choices: what was chosen of each config group. They only name what differs.
    """

    settings: dict[str, Any]
    choices: dict[str, Any]


@contextmanager
def study_errors(storage: str) -> Iterator[None]:
    """Inside, a database that cannot be read or written is an ``InputError``, with its name.

    Args:
        storage: the URL of the database.
    """
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (StorageInternalError, SQLAlchemyError) as error:
        cause = error.__cause__ if isinstance(error, StorageInternalError) and error.__cause__ else error
        raise _unreadable(storage, getattr(cause, "orig", None) or cause) from None


def _unreadable(storage: str, cause: BaseException) -> InputError:
    return InputError(
        f"{_place(storage)}: {cause}; expected the study of a search; without it the search begins anew, and finds the "
        "trials that have ended"
    )


def open_study(storage: str, name: str, search: Search) -> "optuna.Study":
    """The study of a search, which may have trials already.

    Args:
        storage: the URL of the database.
        name: of the study there.
        search: what it is about.

    Raises:
        InputError: if the trials that it has are of another search. The first key that differs is named.
    """
    import optuna

    now: Search = json.loads(json.dumps(search, default=str))  # as the database gives it back
    direction = f"{BETTER[now['settings']['optimized_metric']]}imize"
    try:
        study = optuna.create_study(storage=storage, study_name=name, direction=direction, load_if_exists=True)
        before, trials = study.user_attrs.get("search"), study.get_trials(deepcopy=False)
    except ValueError as error:  # damaged text in a database that is whole
        raise _unreadable(storage, error) from None
    if before is None and not trials:
        study.set_user_attr("search", now)
    elif not isinstance(before, dict) or before.keys() != now.keys():
        raise InputError(f"{_place(storage)}: does not say what its trials are about; expected another directory")
    elif key := _first_difference(Search(settings=before["settings"], choices=before["choices"]), now):
        old, new = ({**of["choices"], **of["settings"]}.get(key) for of in (before, now))
        raise InputError(
            f"{_place(storage)}: holds a search with {key}={old}, which cannot go on with {key}={new}; expected the "
            "same value, or another directory"
        )
    return study


def _first_difference(before: Search, now: Search) -> str | None:
    """The key of what differs: the config group, where another choice of it is the cause."""
    old, new = before["settings"], now["settings"]
    keys = [key for key in {**new, **old} if old.get(key) != new.get(key)]
    for group, choice in now["choices"].items():
        if choice != before["choices"].get(group) and any(key.startswith(f"{group}.") for key in keys):
            return group
    return keys[0] if keys else None


def in_words(distribution: "optuna.distributions.BaseDistribution") -> str:
    """What Optuna chooses from, as it may be typed."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        return ",".join(map(str, distribution.choices))
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    interval = f"interval({distribution.low},{distribution.high})"
    return f"tag(log,{interval})" if distribution.log else interval


def counted(study: "optuna.Study") -> "list[optuna.trial.FrozenTrial]":
    """The trials that count: one that was interrupted is failed without a reason, and was asked for again."""
    from optuna.trial import TrialState

    trials = study.get_trials(deepcopy=False)
    return [trial for trial in trials if trial.state != TrialState.FAIL or "reason" in trial.user_attrs]


def _place(storage: str) -> str:
    """The file of a database, or its address without a password."""
    from sqlalchemy.engine import make_url

    url = make_url(storage)
    return url.database if url.drivername == "sqlite" and url.database else url.render_as_string(hide_password=True)
