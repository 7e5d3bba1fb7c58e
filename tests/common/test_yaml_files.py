"""YAML of a run directory: no aliases, no large files, one line for anything else."""

import time
from pathlib import Path

import pytest

from lookback.common.errors import InputError
from lookback.common.yaml_files import read_keys, read_list
from lookback.runs import read_results, read_run
from lookback.runs.status import read_status

LAUGHS = "a: &a [1, 2]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghijk", "bcdefghijkl", strict=True)
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (LAUGHS, r"an alias, \*a, in line 2; expected YAML"),
        ("x: 1\n" * 100_000, "over 300,000 bytes"),
        ("a: " + "[" * 5000, "expected YAML"),
        ("a: [", "expected YAML"),
        ("- a\n", "found list, expected YAML with keys"),
        ("a: !!python/object/apply:os.system [true]\n", "expected YAML"),
        ("a: !!python/name:os.system\n", "expected YAML"),
    ],
)
def test_another_config_is_refused_in_one_line_and_soon(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / ".hydra").mkdir()
    path = tmp_path / ".hydra" / "config.yaml"
    path.write_text(content)
    started = time.perf_counter()
    with pytest.raises(InputError, match=said) as caught:
        read_run(tmp_path)
    assert time.perf_counter() - started < 20
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [".hydra/config.yaml", "status.json", "test/results.json"])
def test_a_device_in_its_place_is_not_read(name: str, tmp_path: Path) -> None:
    """A link to /dev/zero has no end. To /dev/null, so that it would end if it were read."""
    (tmp_path / ".hydra").mkdir()
    (tmp_path / "test").mkdir()
    (tmp_path / ".hydra" / "config.yaml").write_text("seed: 1\n")
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).symlink_to("/dev/null")
    with pytest.raises(InputError, match=r"is no regular file|expected a run directory"):
        read_run(tmp_path)
    with pytest.raises(InputError, match="is no regular file"):
        {"config.yaml": read_keys, "status.json": read_status, "results.json": read_results}[Path(name).name](
            tmp_path / name
        )


def test_keys_and_lists_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: {b: [1, '${c}']}\n")
    assert read_keys(path) == {"a": {"b": [1, "${c}"]}}
    path.write_text("- a=1\n- b='x'\n")
    assert read_list(path) == ["a=1", "b='x'"]
    path.write_text("- a=1\n- 2\n")
    with pytest.raises(InputError, match="expected YAML with a list of texts"):
        read_list(path)
