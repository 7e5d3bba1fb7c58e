"""The wheel, installed outside of the project: it trains, compares and translates from any directory."""

import os
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from support.paths import PROJECT
from support.running import TINY_DATA, TINY_MODEL, TINY_TRAINING

SECONDS = 600


def ran(*arguments: str | Path, cwd: Path, environment: dict[str, str], stdin: str = "") -> str:
    done = subprocess.run(
        list(map(str, arguments)),
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """The folder of the programs of an environment that has the wheel; the libraries are those of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, PROJECT]
    ran(*pip, cwd=folder, environment=environment)
    (wheel,) = folder.glob("lookback-*.whl")
    venv.create(folder / "environment", with_pip=False)
    programs = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(ran(python, "-c", where, cwd=folder, environment=environment).strip())
    libraries = [path for path in (*site.getsitepackages(), *sys.path) if path.endswith("-packages")]
    (packages / "libraries.pth").write_text("\n".join(dict.fromkeys(libraries)) + "\n")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--force-reinstall",
        wheel,
    ]
    ran(*pip, cwd=folder, environment=environment)
    return programs


def test_it_trains_compares_and_translates_from_any_directory(
    installed: Path, environment: dict[str, str], tmp_path: Path, grammar_cache: str
) -> None:
    environment = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    python, program = installed / "python", installed / "lookback"
    where = "import lookback; print(lookback.__file__)"
    package = Path(ran(python, "-c", where, cwd=tmp_path, environment=environment).strip()).parent
    assert installed.parent in package.parents
    assert (package / "conf" / "train.yaml").is_file()
    assert (package / "py.typed").is_file()
    assert (package / "report" / "page" / "assets").is_dir()

    tiny = [*TINY_DATA, *TINY_MODEL, *TINY_TRAINING, grammar_cache]
    sweep = ["-m", "attention=none,dot", "hydra.sweep.dir=sweep"]
    said = ran(program, "train", *sweep, *tiny, cwd=tmp_path, environment=environment)
    assert "wrote sweep/report.html" in said
    ran(program, "compare", "runs=sweep", "out=again", cwd=tmp_path, environment=environment)
    for name in ("comparison.csv", "arms.csv"):
        assert (tmp_path / "again" / name).is_file()
    job = min(path.parents[1] for path in tmp_path.glob("sweep/*/test/results.json"))
    translate = [python, "-m", "lookback", "translate", f"run={job}"]
    lines = ran(*translate, cwd=tmp_path, environment=environment, stdin="he sleeps .\n\n")
    assert len(lines.splitlines()) == 2
