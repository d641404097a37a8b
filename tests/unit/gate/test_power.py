"""Power of the gate, before anything is spent."""

import pytest

from skillopt.gate.power import gate_power

MIX = [(0.1, 0.9), (0.1, 0.9), (0.9, 0.9), (0.9, 0.9), (0.1, 0.1)]


def test_more_tasks_and_more_rounds_show_more() -> None:
    found = [gate_power(MIX, tasks, 4, 0.1) for tasks in (4, 12, 48)]
    assert found[0].proven < found[1].proven < found[2].proven
    assert found[0].here < found[1].here
    assert gate_power(MIX, 12, 1, 0.1).here < found[1].here


def test_what_is_proven_is_proven_here_too_and_the_same_question_has_the_same_answer() -> None:
    power = gate_power(MIX, 12, 4, 0.1)
    assert 0.3 < power.proven < power.here <= 1
    assert power == gate_power(MIX, 12, 4, 0.1)


@pytest.mark.parametrize("spread", [None, 0.15])
def test_no_gain_is_seldom_shown_and_no_rounds_show_nothing(spread: float | None) -> None:
    assert gate_power([(0.3, 0.3), (0.9, 0.9)], 24, 4, 0.1, spread=spread).here <= 0.2
    assert gate_power(MIX, 24, 0, 0.1, spread=spread).here == 0


def test_partial_scores_have_a_power_of_their_own() -> None:
    assert gate_power([(0.4, 0.7)], 12, 4, 0.1, spread=0.1).here > 0.9
    assert gate_power([(0.4, 0.45)], 12, 4, 0.1, spread=0.1).proven < 0.2
