"""trainer.precision=auto: what it takes by a clock that the test holds, and that nothing else of a run changes."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from lookback.common.errors import InputError
from lookback.common.files import write_json_once
from lookback.nn import Seq2Seq
from lookback.training import fastest_precision
from lookback.training.build import build_data
from lookback.training.fastest_precision import Products, choose, measure, settle_precision
from lookback.translation.build import build_model
from support.running import compose, run

FLOAT32 = Products("32-true", "highest")
MEDIUM = Products("32-true", "medium")
MIXED = Products("bf16-mixed", "highest")
ALL = [FLOAT32, MEDIUM, MIXED]
AUTO = "trainer.precision=auto"


@pytest.mark.parametrize(
    ("seconds", "taken"),
    [
        ((1.0, 1.0, 1.0), FLOAT32),
        ((1.0, 0.92, 0.92), FLOAT32),  # not worth the digits
        ((1.0, 0.9, 0.89), MEDIUM),  # bf16-mixed would have to be 1.1 times as fast as medium
        ((1.0, 0.9, 0.8), MIXED),
        ((1.0, 2.0, 0.5), MIXED),
        ((1.0, 0.5, 2.3), MEDIUM),
        ((1.0, 2.0, 2.3), FLOAT32),  # a processor without bfloat16 products
    ],
)
def test_digits_are_given_up_only_for_speed(seconds: tuple[float, ...], taken: Products) -> None:
    assert choose(dict(zip(ALL, seconds, strict=True))) == taken


class Costs:
    """A clock on which a step takes as long as its products cost, for each sentence.

    Args:
        monkeypatch: replaces the network's forward pass by one that only advances the clock.
        of: seconds of a sentence.
        slow: additional seconds of every step of this number and of every third one after it.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, of: Mapping[Products, float], slow: int = -1) -> None:
        self.now, self.steps, self.of, self.slow = 0.0, [], of, slow
        inner = Seq2Seq.forward

        def forward(model: Seq2Seq, source: torch.Tensor, *rest: Any) -> Any:
            matmul = torch.get_float32_matmul_precision()
            products = MIXED if torch.is_autocast_enabled("cpu") else Products("32-true", matmul)
            self.now += self.of[products] * len(source) + (5.0 if len(self.steps) == self.slow else 0.0)
            self.steps.append((products, len(source)))
            return inner(model, source, *rest)

        monkeypatch.setattr(Seq2Seq, "forward", forward)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Seq2Seq]:
    torch.manual_seed(3)
    yield build_model(compose(tmp_path), 20, 30)
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.is_autocast_enabled("cpu")


def test_each_is_measured_in_turn_on_one_shape(model: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Costs(monkeypatch, {FLOAT32: 0.001, MEDIUM: 0.0008, MIXED: 0.0004})
    found = measure(model, ALL, (40, 5, 6), torch.device("cpu"), clock)
    assert found == {FLOAT32: pytest.approx(0.04), MEDIUM: pytest.approx(0.032), MIXED: pytest.approx(0.016)}
    assert clock.steps == [(FLOAT32, 8)] * 2 + [(each, 40) for _ in range(6) for each in ALL]


def test_a_step_that_something_disturbs_does_not_count(model: Seq2Seq, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {FLOAT32: 0.001, MEDIUM: 0.0008, MIXED: 0.0004}
    for slow in range(5, 11):  # of the rounds that are measured: the least of two or more
        clock = Costs(monkeypatch, costs, slow)
        assert choose(measure(model, ALL, (40, 5, 6), torch.device("cpu"), clock)) == MIXED
        monkeypatch.undo()


def test_a_large_network_is_measured_on_fewer_sentences_and_rounds(
    model: Seq2Seq, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Costs(monkeypatch, {FLOAT32: 0.0125, MEDIUM: 0.0125, MIXED: 0.005})
    measure(model, ALL, (64, 5, 6), torch.device("cpu"), clock)
    assert {sentences for _, sentences in clock.steps[2:]} == {16}, "as many as take 0.2 seconds"
    clock = Costs(monkeypatch, {FLOAT32: 1.0, MEDIUM: 1.0, MIXED: 0.4})
    measure(model, ALL, (64, 5, 6), torch.device("cpu"), clock)
    assert [sentences for _, sentences in clock.steps] == [8] * (2 + 3 + 2 * 3)


def test_measuring_leaves_no_trace(model: Seq2Seq) -> None:
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    state = torch.get_rng_state()
    measure(model, ALL, (3, 5, 6), torch.device("cpu"))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(weight.grad is None for weight in model.parameters())
    assert all(torch.equal(weight, weights[name]) for name, weight in model.state_dict().items())


def taking(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> list[tuple[int, int, int]]:
    """Lets every measurement find these seconds; the shapes that were asked for."""
    shapes = []

    def measured(
        model: Seq2Seq, candidates: list[Products], shape: tuple[int, int, int], device: torch.device
    ) -> dict[Products, float]:
        shapes.append(shape)
        return dict(zip(candidates, seconds, strict=False))

    monkeypatch.setattr(fastest_precision, "measure", measured)
    return shapes


@pytest.mark.parametrize(
    ("overrides", "seconds", "precision", "matmul", "said"),
    [
        (
            [],
            (1.0, 0.8, 0.5),
            "bf16-mixed",
            "highest",
            "bfloat16 products (trainer.precision=bf16-mixed); auto: 2.00 × as fast as matmul_precision=highest here",
        ),
        (
            [],
            (1.0, 0.96, 2.3),
            "32-true",
            "highest",
            "float32 products (matmul_precision=highest); auto: with fewer digits 1.04 × as fast here",
        ),
        (
            [],
            (1.0, 0.5, 0.5),
            "32-true",
            "medium",
            "bfloat16 products where the chip has them (matmul_precision=medium); auto: 2.00 × as fast as "
            "matmul_precision=highest here",
        ),
        (
            ["matmul_precision=medium"],
            (1.0, 0.5),
            "bf16-mixed",
            "medium",
            "bfloat16 products (trainer.precision=bf16-mixed); auto: 2.00 × as fast as matmul_precision=medium here",
        ),
    ],
)
def test_a_run_trains_with_it_and_says_so(
    tmp_path: Path,
    grammar_cache: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    overrides: list[str],
    seconds: tuple[float, ...],
    precision: str,
    matmul: str,
    said: str,
) -> None:
    shapes = taking(monkeypatch, *seconds)
    record = run(tmp_path, grammar_cache, AUTO, *overrides, "trainer.accelerator=cpu")
    assert len(shapes) == 1
    assert record["cost"]["products"] == said
    assert f"{said}; validation and test in float32" in capsys.readouterr().out
    config = torch.load(tmp_path / "checkpoints" / "last.ckpt", weights_only=True)["config"]
    assert (config["trainer"]["precision"], config["matmul_precision"]) == (precision, matmul)
    # and with the very numbers of a run that asks for it
    typed = run(tmp_path / "typed", grammar_cache, f"trainer.precision={precision}", f"matmul_precision={matmul}")
    assert (record["perplexity"], record["bleu"]) == (typed["perplexity"], typed["bleu"])


def test_the_shape_is_that_of_the_text(tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = taking(monkeypatch, 1.0, 1.0, 1.0)
    config = compose(tmp_path, grammar_cache, AUTO, "trainer.accelerator=cpu")
    data = build_data(config)
    data.setup()
    settle_precision(config, data, None)
    about = data.describe()["validation"]
    source, target = (round(about[f"{side}_tokens"] / about["pairs"]) for side in ("source", "target"))
    config = compose(tmp_path, grammar_cache, AUTO, "trainer.accelerator=cpu", "batch.unit=tokens", "batch.size=500")
    settle_precision(config, data, None)
    assert shapes == [(config_size(tmp_path), source, target), (500 // max(source, target), source, target)]


def config_size(directory: Path) -> int:
    return int(compose(directory).batch.size)


def test_a_resumed_run_keeps_what_it_began_with(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking(monkeypatch, 1.0, 0.8, 0.5)
    run(tmp_path, grammar_cache, AUTO, "trainer.max_epochs=1")
    again = taking(monkeypatch, 1.0, 2.0, 2.0)
    record = run(tmp_path, grammar_cache, AUTO, "trainer.max_epochs=2")
    assert not again
    assert record["cost"]["products"] == "bfloat16 products (trainer.precision=bf16-mixed)"


def settled(directory: Path, grammar_cache: str, sweep: Path) -> tuple[str, str, str]:
    config = compose(directory, grammar_cache, AUTO, "trainer.accelerator=cpu")
    data = build_data(config)
    data.setup()
    said = settle_precision(config, data, sweep)
    return config.trainer.precision, config.matmul_precision, said


def test_a_sweep_decides_once(tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taking(monkeypatch, 1.0, 0.8, 0.5)
    first = settled(tmp_path / "a", grammar_cache, tmp_path)
    taking(monkeypatch, 1.0, 2.0, 2.0)
    second = settled(tmp_path / "b", grammar_cache, tmp_path)
    assert first[:2] == second[:2] == ("bf16-mixed", "highest")
    assert second[2].endswith("; auto: as the sweep's first job measured")
    kept = json.loads((tmp_path / "precision.json").read_text())
    measured = {"matmul_precision=highest": 1.0, "matmul_precision=medium": 0.8, "bf16-mixed": 0.5}
    assert kept == {"precision": "bf16-mixed", "matmul_precision": "highest", "seconds_of_a_step": measured}


def test_jobs_that_measure_at_once_follow_one_of_them(
    tmp_path: Path, grammar_cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(*_: Any) -> dict[Products, float]:
        """While this job measures, another one has written what it found."""
        other = {"precision": "32-true", "matmul_precision": "medium", "seconds_of_a_step": {}}
        assert write_json_once(tmp_path / "precision.json", other)
        return {FLOAT32: 1.0, MEDIUM: 0.8, MIXED: 0.5}

    monkeypatch.setattr(fastest_precision, "measure", measured)
    assert settled(tmp_path / "a", grammar_cache, tmp_path)[:2] == ("32-true", "medium")


def test_one_of_many_writers_writes(tmp_path: Path) -> None:
    path = tmp_path / "once.json"
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(lambda number: write_json_once(path, number), range(50)))
    assert sum(written) == 1
    assert json.loads(path.read_text()) == written.index(True)
    assert [each.name for each in tmp_path.iterdir()] == ["once.json"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "Expecting property name"),
        ("[]", "precision=None, expected one of 32-true, bf16-mixed"),
        ('{"precision": "16-true", "matmul_precision": "highest"}', "precision='16-true', expected one of 32-true"),
        ('{"precision": ["32-true"], "matmul_precision": "highest"}', "expected one of 32-true"),
        ('{"precision": "32-true", "matmul_precision": "low"}', "matmul_precision='low', expected one of highest"),
    ],
)
def test_a_damaged_decision_is_refused(tmp_path: Path, grammar_cache: str, content: str, said: str) -> None:
    (tmp_path / "precision.json").write_text(content)
    with pytest.raises(InputError, match=r"precision\.json: ") as caught:
        settled(tmp_path / "a", grammar_cache, tmp_path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("accelerator", ["auto", "mps"])
def test_on_apples_gpus_it_takes_float32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accelerator: str) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    config = compose(tmp_path, AUTO, f"trainer.accelerator={accelerator}")
    said = settle_precision(config, None, None)  # type: ignore[arg-type]
    assert (config.trainer.precision, config.matmul_precision) == ("32-true", "highest")
    assert said == "float32 products (matmul_precision=highest); auto measures on CPUs and NVIDIA's GPUs"


def test_ranks_that_torchrun_starts_take_float32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastest_precision, "started_outside", lambda: True)
    config = compose(tmp_path, AUTO, "matmul_precision=high", "trainer.accelerator=cpu")
    said = settle_precision(config, None, None)  # type: ignore[arg-type]
    assert (config.trainer.precision, config.matmul_precision) == ("32-true", "high")
    assert said.endswith("; auto measures where torchrun or srun starts no ranks")
