"""Candidate patches are compared within their group."""

from statistics import fmean, pstdev

from hypothesis import given
from hypothesis import strategies as st

from skillopt.loop.readings import advantages, plan_readings, rotate, value_of


def test_a_group_of_one_looks_for_whatever_helps_in_the_order_given() -> None:
    (reading,) = plan_readings(1)
    assert (reading.focus, reading.turn) == ("", 0.0)
    assert rotate("abc", reading.turn) == ("a", "b", "c")


def test_each_reading_looks_for_another_kind_of_edit() -> None:
    assert [reading.name for reading in plan_readings(4)] == ["add", "replace", "delete", "add"]
    assert len({(reading.focus, reading.turn) for reading in plan_readings(6)}) == 6


def test_a_later_reading_meets_the_evidence_in_another_order() -> None:
    assert rotate(range(6), plan_readings(3)[1].turn) == (2, 3, 4, 5, 0, 1)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12))
def test_advantages_are_centred_in_units_of_the_spread_and_keep_the_order(values: list[float]) -> None:
    found = advantages(values)
    assert abs(fmean(found)) < 1e-6
    assert [gain for _, gain in sorted(zip(values, found, strict=True))] == sorted(found)
    if pstdev(values) > 1e-6:
        assert abs(pstdev(found) - 1) < 1e-6


def test_a_patch_is_worth_more_for_supported_edits_and_less_for_unsupported_ones() -> None:
    numbers = {"good": 0.8, "neutral": 0.5, "bad": 0.3}
    assert value_of(["good", "neutral"], numbers) == value_of(["good"], numbers) > value_of(["good", "bad"], numbers)
    assert value_of([], numbers) == 0.0
