import pytest

from lookback.common.checks import check_dropout, check_sizes, check_switches


@pytest.mark.parametrize("size", ["two", 2.0, None, True])
def test_a_size_is_a_whole_number(size: object) -> None:
    with pytest.raises(ValueError, match=f"^layers={size!r}: expected a whole number, 1 or more$"):
        check_sizes({"hidden_size": 1, "layers": size})


def test_a_size_is_one_or_more() -> None:
    check_sizes({"layers": 1})
    with pytest.raises(ValueError, match=r"^layers=0: expected 1 or more$"):
        check_sizes({"layers": 0})


@pytest.mark.parametrize("dropout", ["lots", None, True, 1, -0.1, float("nan")])
def test_dropout_is_a_share_below_one(dropout: object) -> None:
    with pytest.raises(ValueError, match=f"^dropout={dropout!r}: expected 0 up to 1, 1 not included$"):
        check_dropout(dropout)


@pytest.mark.parametrize("dropout", [0, 0.0, 0.3])
def test_dropout_that_leaves_something(dropout: float) -> None:
    check_dropout(dropout)


@pytest.mark.parametrize("switch", ["flase", "true", 1, None])
def test_a_switch_is_on_or_off(switch: object) -> None:
    check_switches({"fast": True, "residual": False})
    with pytest.raises(ValueError, match=f"^fast={switch!r}: expected true or false$"):
        check_switches({"fast": switch, "residual": False})
