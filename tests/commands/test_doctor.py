"""lookback doctor, inside the test process."""

import json
import shutil
from pathlib import Path

import hydra
import pytest
import torch
from omegaconf import DictConfig

import lookback
from lookback.commands.doctor import examine_run, print_findings
from lookback.common.errors import InputError
from lookback.translation.doctor import CHECKS, Finding, doctor
from support.running import CONF


def config(run: Path, *overrides: str) -> DictConfig:
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return hydra.compose("doctor", [f"run='{run}'", "sentences=2", *overrides])


def test_it_prints_a_line_a_check_and_writes_them(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "findings.json"
    examine_run(config(finished, f"out='{out}'"))  # no exit: no fault
    printed = capsys.readouterr().out
    written = json.loads(out.read_text())
    assert written["run"] == str(finished)
    assert lookback.doctor is doctor
    assert len(written["findings"]) > len(CHECKS)
    for finding in written["findings"]:
        assert f"{finding['check']} " in printed
    assert printed.splitlines()[-1].endswith("warning") or printed.splitlines()[-1].endswith("ok")
    with pytest.raises(InputError, match=r"out=.*: is there already; expected a new file"):
        examine_run(config(finished, f"out='{out}'"))


def test_what_is_not_ok_is_explained_in_the_last_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_findings(
        [
            Finding("row sums", "fault", 0.5, 1e-8, "a look does not sum to 1"),
            Finding("padding", "ok", 0.0, 1e-8, "padding changes nothing"),
            Finding("entropy", "warning", 3.0, 2.0, "[it] looks everywhere"),
        ]
    )
    printed = capsys.readouterr().out
    assert printed.splitlines()[-3:] == [
        "warning: entropy: [it] looks everywhere",
        "fault: row sums: a look does not sum to 1",
        "1 ok, 1 warning, 1 fault",
    ]
    assert "padding changes nothing" not in printed


def test_a_fault_is_exit_code_1(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = shutil.copytree(finished, tmp_path / "run")
    path = copy / "checkpoints" / "best.ckpt"
    checkpoint = torch.load(path, weights_only=True)
    checkpoint["config"]["attention"]["_target_"] = "support.faulty.NotNormalised"
    torch.save(checkpoint, path)
    with pytest.raises(SystemExit) as caught:
        examine_run(config(copy, "trust=support.faulty.NotNormalised"))
    assert caught.value.code == 1
    assert "row sums" in next(line for line in capsys.readouterr().out.splitlines() if "fault" in line)


def test_a_wrong_setting_is_bad_input(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sentences=0: expected a whole number, 1 or more"):
        examine_run(config(finished, "sentences=0"))
    with pytest.raises(InputError, match="no such directory"):
        examine_run(config(tmp_path / "nowhere"))
