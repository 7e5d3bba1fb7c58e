"""What draws or tracks fails, and the training ends with its numbers all the same."""

import errno
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch.loggers.logger import DummyExperiment, Logger

from lookback.runs import read_results
from lookback.runs.status import read_status
from lookback.tracking import weights_and_biases
from lookback.tracking.tolerance import TolerantLogger, tolerated
from support.running import run


class Failing(Logger):
    """Fails from its second call on."""

    name, version, calls = "failing", "0", 0

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.calls += 1
        if self.calls > 1:
            raise OSError(errno.ENOSPC, "No space left on device", "events")

    log_hyperparams = log_metrics  # type: ignore[assignment]

    @property
    def experiment(self) -> Any:
        raise ConnectionError("gone\nfor good")


def warnings_in(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("warning: ")]


def is_finished(directory: Path) -> bool:
    return read_status(directory / "status.json") == ("finished", None) and bool(
        read_results(directory / "test" / "results.json")["signature"]
    )


def test_a_loggers_first_error_is_one_warning_and_it_is_not_called_again(capsys: pytest.CaptureFixture[str]) -> None:
    failing = Failing()
    logger = TolerantLogger(failing)
    logger.log_metrics({"a": 1.0}, 1)
    assert logger.works
    for _ in range(3):
        logger.log_metrics({"a": 1.0}, 2)
    logger.log_hyperparams({})
    assert failing.calls == 2
    assert not logger.works
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: Failing: events: No space left on device; it logs no more")


def test_an_experiment_that_cannot_begin_is_one_that_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    experiment = TolerantLogger(Failing()).experiment
    assert isinstance(experiment, DummyExperiment)
    assert warnings_in(capsys.readouterr().err)[0].startswith("warning: Failing: ConnectionError: gone for good; ")


def test_ctrl_c_is_not_tolerated() -> None:
    with pytest.raises(KeyboardInterrupt), tolerated("a", "b"):
        raise KeyboardInterrupt


def test_a_chart_and_a_page_that_cannot_be_drawn_are_a_warning_each(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []

    def fail(*_: Any) -> None:
        seen.append(is_finished(tmp_path))  # an abort instead of this error would leave so much
        raise RuntimeError("the renderer is broken")

    monkeypatch.setattr("lookback.report.save_chart", fail)
    monkeypatch.setattr("lookback.report.write_report", fail)
    run(tmp_path, grammar_cache, drawn=True)
    assert seen == [True, True]
    assert is_finished(tmp_path)
    lines = warnings_in(capsys.readouterr().err)
    assert [line.split(":")[1] for line in lines] == [" length_curve", " report.html"]
    assert all(f"python compare.py runs={tmp_path} out={tmp_path / 'report.html'}" in line for line in lines)


def test_alignments_that_cannot_be_written_are_a_warning(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded", "alignments.npz")

    monkeypatch.setattr("lookback.training.callbacks.alignment_snapshots.write_alignments", fail)
    run(tmp_path, grammar_cache)
    assert is_finished(tmp_path)
    assert f"warning: {tmp_path / 'test' / 'alignments.npz'}: alignments.npz: Disk quota" in capsys.readouterr().err


def test_a_test_that_weights_and_biases_does_not_take_is_a_warning(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("no such preset")

    monkeypatch.setattr("lookback.training.fit.log_test", fail)
    run(tmp_path, grammar_cache, "logger=wandb", "logger.mode=offline")
    assert is_finished(tmp_path)
    assert [line for line in warnings_in(capsys.readouterr().err) if "Weights & Biases: ValueError: no such pr" in line]


def test_a_full_disk_of_tensorboard_does_not_end_the_training(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SummaryWriter, "flush", full)
    run(tmp_path, grammar_cache, "logger=tensorboard")
    assert is_finished(tmp_path)
    (line,) = warnings_in(capsys.readouterr().err)
    assert "TensorBoardLogger: No space left on device" in line


@pytest.fixture
def refusing() -> Iterator[str]:
    """The address of a server that knows no key."""

    class Refuse(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.send_response(401)
            self.end_headers()
            self.wfile.write(b'{"errors": [{"message": "user is not logged in"}]}')

        do_GET = do_POST = do_PUT = answer

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", 0), Refuse)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes every connection and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("server", ["refusing", "silent"])
def test_a_server_that_refuses_or_never_answers_does_not_end_the_training(
    server: str,
    tmp_path: Path,
    grammar_cache: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    import wandb

    wandb.teardown()
    monkeypatch.setenv("WANDB_BASE_URL", request.getfixturevalue(server))
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setattr(weights_and_biases, "START_SECONDS", 3)
    run(tmp_path, grammar_cache, "logger=wandb")
    wandb.teardown()
    assert is_finished(tmp_path)
    assert wandb.run is None
    (line,) = warnings_in(capsys.readouterr().err)
    assert line.startswith("warning: TrackingLogger: ")
    assert "logs no more" in line


def test_a_resumed_run_is_one_run_and_its_parts_are_named(
    tmp_path: Path, grammar_cache: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = (grammar_cache, "logger=wandb", "logger.mode=offline", "trainer.max_epochs=2")
    stop = "+callbacks.fault={_target_: support.running.Fault, update: 5}"
    with pytest.raises(RuntimeError, match="on purpose"):
        run(tmp_path, *settings, stop)
    (first,) = (tmp_path / "wandb").glob("offline-run-*")
    assert f"Weights & Biases: wandb sync {first}\n" in capsys.readouterr().out
    (written,) = first.glob("*.wandb")
    written.write_bytes(written.read_bytes()[:-20])  # as a killed process leaves it
    run(tmp_path, *settings)
    first, second = sorted((tmp_path / "wandb").glob("offline-run-*"))
    identity = (tmp_path / "wandb" / "run-id").read_text()
    assert [part.name.rpartition("-")[2] for part in (first, second)] == [identity, identity]
    said = capsys.readouterr()
    assert f"Weights & Biases: wandb sync {first} {second}\n" in said.out
    (line,) = [line for line in warnings_in(said.err) if "not whole" in line]
    assert line.startswith(f"warning: {first}: ")


def test_the_part_that_has_just_ended_is_not_called_cut_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its last bytes may not be there yet: a process that is not killed waits for W&B to write them."""
    first, own = (tmp_path / "wandb" / f"offline-run-{number}-x" for number in (1, 2))
    for part in (first, own):
        part.mkdir(parents=True)
        (part / "run-x.wandb").write_bytes(b":W&B")
    weights_and_biases._print_sync(tmp_path, own)
    (line,) = warnings_in(capsys.readouterr().err)
    assert line.startswith(f"warning: {first}: not whole")
