from pathlib import Path

import pytest

from support.paths import SHARED

TINY = SHARED / "data" / "tiny"


@pytest.fixture
def tiny() -> Path:
    """The small real corpus beside the project."""
    if not TINY.is_dir():
        pytest.skip("needs the shared corpus ../shared/data/tiny, which is not here")
    return TINY


@pytest.fixture(autouse=True)
def datasets_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of ``datasets`` for each test."""
    import datasets

    cache = tmp_path_factory.mktemp("datasets_cache")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
    return cache
