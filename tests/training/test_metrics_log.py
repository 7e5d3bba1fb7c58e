"""metrics.csv."""

import csv
from pathlib import Path

import pytest

from lookback.training.metrics_log import MetricsLog


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_a_step_a_column_a_metric(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.csv")
    log.log_metrics({"train/loss": 1.5, "epoch": 0}, step=5)
    log.log_metrics({"validation/bleu": 20.0, "epoch": 0}, step=9)
    log.log_metrics({"validation/loss": 3.0, "epoch": 0}, step=9)
    log.save()
    assert (tmp_path / "metrics.csv").read_bytes() == (
        b"step,epoch,train/loss,validation/bleu,validation/loss\n5,0,1.5,,\n9,0,,20.0,3.0\n"
    )


def test_nothing_logged_writes_nothing(tmp_path: Path) -> None:
    MetricsLog(tmp_path / "metrics.csv").save()
    assert not list(tmp_path.iterdir())


def test_a_save_that_fails_leaves_the_file_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = MetricsLog(tmp_path / "metrics.csv")
    log.log_metrics({"train/loss": 1.0}, step=1)
    log.save()
    before = (tmp_path / "metrics.csv").read_bytes()

    def full(*_: object) -> None:
        raise OSError("disk full")

    log.log_metrics({"train/loss": 2.0}, step=2)
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        with pytest.raises(OSError, match="disk full"):
            log.save()
    assert (tmp_path / "metrics.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.csv"]


def test_a_resumed_log_keeps_the_rows_up_to_its_update(tmp_path: Path) -> None:
    first = MetricsLog(tmp_path / "metrics.csv")
    for step in (2, 4, 6):
        first.log_metrics({"train/loss": step / 3, "epoch": 0}, step=step)
    first.log_metrics({"validation/bleu": 7.25}, step=4)
    first.save()

    second = MetricsLog(tmp_path / "metrics.csv")
    second.resume(5)  # the row of the fifth update has step 4
    second.log_metrics({"train/loss": 0.5, "epoch": 1}, step=6)
    second.save()
    rows = read(tmp_path / "metrics.csv")
    assert [row["step"] for row in rows] == ["2", "4", "6"]
    assert float(rows[0]["train/loss"]) == 2 / 3
    assert rows[1]["validation/bleu"] == "7.25"
    assert rows[2]["train/loss"] == "0.5"


def test_a_torn_file_keeps_its_whole_rows_and_says_that_some_are_missing(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.csv")
    for step in range(6):
        log.log_metrics({"train/loss": 1.0 + step}, step=step)
    log.save()
    whole = (tmp_path / "metrics.csv").read_bytes()
    for torn, kept, has_gap in ((whole, 5, False), (whole[:-3], 5, False), (whole[:-10], 4, True), (b"", 0, True)):
        (tmp_path / "metrics.csv").write_bytes(torn)
        resumed = MetricsLog(tmp_path / "metrics.csv")
        resumed.resume(5)
        assert [*resumed.rows] == [*range(kept)]
        assert resumed.has_gap(6, every=1) == has_gap
    (tmp_path / "metrics.csv").unlink()
    resumed = MetricsLog(tmp_path / "metrics.csv")
    resumed.resume(5)
    assert resumed.has_gap(6, every=1)
