"""The id of a W&B run, which is sent there, and what a run directory may hold in its place."""

from pathlib import Path

import pytest

from lookback.common.errors import InputError
from lookback.tracking.offline_parts import run_id


def test_an_id_is_made_once(tmp_path: Path) -> None:
    made = run_id(tmp_path)
    assert run_id(tmp_path) == made
    (tmp_path / "wandb" / "run-id").write_text("1a2b3c4z\n")  # as W&B makes them
    assert run_id(tmp_path) == "1a2b3c4z"


@pytest.mark.parametrize("text", ["token-of-the-user", "1a2b3c4", "1A2B3C4D", "../../up", "x" * 200])
def test_what_is_no_id_is_not_sent(text: str, tmp_path: Path) -> None:
    """A stranger's run may have a link there, to a file with a secret."""
    (tmp_path / "secret").write_text(text)
    (tmp_path / "wandb").mkdir()
    (tmp_path / "wandb" / "run-id").symlink_to(tmp_path / "secret")
    with pytest.raises((InputError, OSError)) as caught:
        run_id(tmp_path)
    assert text not in str(caught.value)
