"""What the speed benchmarks make of their measurements."""

import csv

import pytest
from growth import growth
from machine import keep
from side_by_side import compared


def answers(*seconds, peak=100.0, operations=0, parameters=0):
    same = {"peak_mib": peak, "operations": operations, "parameters": parameters}
    return [{"cpu": cpu, "wall": 2 * cpu, **same} for cpu in seconds]


def test_each_system_beside_the_fastest_peer_the_leanest_peer_and_the_limit():
    of = {
        "lookback": answers(0.3, 0.1, 0.2, peak=20, parameters=7),
        "joeynmt": answers(0.5, peak=80),
        "opennmt": answers(0.4, peak=100),
        "limit": answers(0.1, operations=5e9),
    }
    ours, joeynmt, opennmt, limit = compared({"length": 25}, of, "cpu", tokens=1000)
    assert (ours["length"], ours["system"], ours["clock"], ours["rounds"]) == (25, "lookback", "cpu", 3)
    assert (ours["ms"], ours["ms_lower"], ours["ms_upper"]) == (200, 150, 250)
    assert ours["tokens_per_second"] == 5000
    assert [row["against_peers"] for row in (ours, joeynmt, opennmt, limit)] == [2.0, 0.8, 1.0, ""]
    assert [row["of_limit"] for row in (ours, joeynmt, opennmt, limit)] == [0.5, 0.2, 0.25, 1.0]
    assert [row["memory_against_peers"] for row in (ours, joeynmt, opennmt, limit)] == [0.25, 1.0, 1.25, ""]
    assert [row["gflop_per_second"] for row in (ours, limit)] == ["", 50]
    assert [row["parameters"] for row in (ours, limit)] == [7, ""]


def test_the_clock_that_counts_is_the_one_that_is_asked_for():
    (row,) = compared({}, {"lookback": answers(0.1)}, "wall", tokens=1)
    assert row["ms"] == 200


def test_without_peers_limit_or_memory_their_columns_are_empty():
    (row,) = compared({}, {"lookback": answers(0.1, peak=None)}, "cpu", tokens=1)
    assert [row[name] for name in ("against_peers", "of_limit", "peak_mib", "memory_against_peers")] == [""] * 4


@pytest.mark.parametrize(("power", "constant", "linear", "squared"), [(1, 0, 3, 0), (2, 0, 0, 0.5)])
def test_growth_is_found(power, constant, linear, squared):
    rows = [
        {"attention": "a", "length": t, "system": "s", "ms": linear * t + squared * t**2, "peak_mib": t**power}
        for t in (10, 25, 50, 100)
    ]
    (fit,) = growth(rows, ("attention", "length"))
    assert (fit["attention"], fit["system"]) == ("a", "s")
    assert (fit["constant_ms"], fit["linear_ms"], fit["squared_ms"]) == pytest.approx((constant, linear, squared))
    assert fit["error_percent"] == 0
    assert (fit["power_of_time"], fit["power_of_memory"]) == (power, power)


def test_results_of_the_same_case_are_replaced_and_those_of_others_stay(tmp_path):
    for rows in ([{"case": 1, "ms": 10}, {"case": 2, "ms": 20}], [{"case": 2, "ms": 21}, {"case": 3, "ms": 30}]):
        keep("speed", rows, by=["case"], folder=tmp_path)
    with (tmp_path / "speed.csv").open(encoding="utf-8") as file:
        kept = [(row["case"], row["ms"]) for row in csv.DictReader(file)]
    assert kept == [("1", "10"), ("2", "21"), ("3", "30")]
