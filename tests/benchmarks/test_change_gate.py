"""The table in the simulation of `skillopt gate` is what the simulation gives."""

import pytest

import benchmarks.change_gate
from benchmarks.change_gate import refusals


@pytest.mark.parametrize("broken", [0.0, 1.0])
def test_the_table_of_how_much_harm_is_found_is_what_is_measured(broken: float) -> None:
    share, asked = refusals(24, broken, 200, 0)
    row = f"{24:5}  {broken:6.0%}  {share:7.2f}  {asked:8.0f}"
    assert row in str(benchmarks.change_gate.__doc__)
