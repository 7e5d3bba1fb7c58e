"""What all tests share: shapes are checked, and properties are tried on the same examples every time."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

import support.checking  # noqa: F401 - the hook below looks for it

# before the first import of either package: their shapes and types are checked at every call, in tests only
install_import_hook(["lookback.nn", "lookback.search"], "support.checking.check")

settings.register_profile(
    "lookback",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("lookback")

# tests send them; a shell starts what runs in its background without the first, and nohup without the second
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: a fifth of its time it waits for browsers and processes of its own."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


FIXTURES = ["support.running", "support.trainings", "support.made_runs", "support.trained_run"]


def pytest_configure(config: pytest.Config) -> None:
    """Fixtures for every test. They import torch and Lightning, which who only shares the tests out does not need."""
    shares_out = config.getoption("dist", "no") != "no" and not config.option.collectonly
    if hasattr(config, "workerinput") or not shares_out:
        for name in FIXTURES:
            config.pluginmanager.import_plugin(name)
