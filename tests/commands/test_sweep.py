"""The end of a multirun: its comparison is there, and a failed job is seen in the exit status."""

import json

import pytest
import yaml
from omegaconf import OmegaConf

from lookback.commands.sweep import SweepReport
from lookback.common.files import write_json
from lookback.evaluation import results
from lookback.runs import COST, TRAINING_DATA, Prediction


def leave_run(directory, attention, status="finished", reason=None):
    (directory / ".hydra").mkdir(parents=True)
    (directory / ".hydra" / "config.yaml").write_text(yaml.safe_dump({"seed": 1, "data": {"train_max_length": None}}))
    choices = {"hydra": {"runtime": {"choices": {"attention": attention}}}}
    (directory / ".hydra" / "hydra.yaml").write_text(yaml.safe_dump(choices))
    (directory / "status.json").write_text(json.dumps({"status": status, "reason": reason}))
    if status == "finished":
        cost = dict.fromkeys(COST)
        record = results(
            [Prediction(index, "a b c d", "w x y z", "w x y z", -0.1, 4, False) for index in range(60)],
            "none",
            arm=attention,
            attention=attention,
            seed=1,
            data="grammar",
            perplexity=1.0,
            aer=None,
            attention_by_length=None,
            convergence=None,
            cost=cost,
            training_data=dict.fromkeys(TRAINING_DATA),
            versions={},
            git=None,
            data_fingerprint="f00d",
        )
        write_json(directory / "test" / "results.json", record)


def end_of(sweep):
    SweepReport().on_multirun_end(
        OmegaConf.create({"hydra": {"sweep": {"dir": str(sweep)}, "sweeper": {}}}), config_name="train"
    )


def test_a_sweep_ends_with_its_comparison(tmp_path, capsys):
    leave_run(tmp_path / "0", "none")
    leave_run(tmp_path / "1", "bahdanau")
    end_of(tmp_path)
    assert {"comparison.csv", "length_curve.png", "length_curve.svg", "length_curve.vl.json"} <= {
        path.name for path in tmp_path.iterdir()
    }
    assert "bahdanau" in capsys.readouterr().out


@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_a_job_that_did_not_finish_is_compared_all_the_same_and_fails_the_sweep(tmp_path, capsys, status):
    leave_run(tmp_path / "0", "none")
    leave_run(tmp_path / "1", "dot", status, "RuntimeError: it broke")
    with pytest.raises(SystemExit) as ended:
        end_of(tmp_path)
    assert ended.value.code == 1
    assert "RuntimeError: it broke" in capsys.readouterr().out
    assert (tmp_path / "length_curve.svg").exists()


def test_a_sweep_without_any_run_says_so(tmp_path):
    with pytest.raises(SystemExit, match=r"error: .*neither a run directory"):
        end_of(tmp_path)


def test_a_comparison_that_breaks_is_one_line_and_how_to_make_it_again(tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("the renderer\nis broken")

    leave_run(tmp_path / "0", "none")
    monkeypatch.setattr("lookback.report.compare", fail)
    with pytest.raises(SystemExit) as ended:
        end_of(tmp_path)
    line = str(ended.value.code)
    assert line.startswith(f"error: the comparison of {tmp_path}: RuntimeError: the renderer is broken; ")
    assert line.endswith(f"`python compare.py runs={tmp_path}` makes it again")
