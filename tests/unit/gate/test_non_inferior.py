"""Non-inferiority: the least margin that a suite can show, and how often a loss of it is called nothing."""

from random import Random

import pytest

from skillopt.gate.non_inferior import LOSS_ERROR, judge_loss, plan_looks


@pytest.mark.parametrize(("tasks", "margin"), [(45, 0.05), (44, 0.10), (22, 0.10), (21, 0.15), (15, 0.15), (11, 0.20)])
def test_the_margin_is_the_least_that_so_many_equal_tasks_show(tasks: int, margin: float) -> None:
    look = plan_looks(tasks)[0]
    assert look.margin == margin
    assert judge_loss([0.0] * tasks, look).margin == margin
    assert f"{margin:.0%} is noticed in 9" in look.words


@pytest.mark.parametrize("noisy", [False, True])
def test_ten_tasks_can_show_nothing(*, noisy: bool) -> None:
    assert plan_looks(10, noisy=noisy) == ()


@pytest.mark.parametrize("tasks", range(11, 80, 7))
@pytest.mark.parametrize("noisy", [False, True])
def test_both_looks_share_the_error(tasks: int, *, noisy: bool) -> None:
    assert sum(look.error for look in plan_looks(tasks, noisy=noisy)) <= LOSS_ERROR + 1e-9


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("tasks", [12, 24, 40])
def test_a_loss_of_the_margin_is_called_nothing_at_most_as_often_as_promised(tasks: int, *, noisy: bool) -> None:
    draw, wrong, runs = Random(tasks), 0, 500
    looks = plan_looks(tasks, noisy=noisy)
    for _ in range(runs):
        for look in looks:
            gains = [-1.0 if draw.random() < looks[0].margin else 0.0 for _ in range(tasks)]
            if (judge_loss(gains, look).margin or 1.0) <= looks[0].margin:
                wrong += 1
                break
    assert wrong / runs <= LOSS_ERROR + 0.04


def test_wins_outweigh_losses_where_outcomes_vary_and_a_lost_task_counts_where_they_do_not() -> None:
    gains = [*[-1.0, 1.0] * 4, *[0.0] * 52]
    noisy, exact = (judge_loss(gains, plan_looks(60, noisy=varied)[0]) for varied in (True, False))
    assert noisy.margin is not None
    assert exact.margin is not None
    assert noisy.margin < exact.margin


@pytest.mark.parametrize("lost", [0.10, 0.15, 0.19])
def test_however_wide_the_margin_that_is_shown_a_greater_loss_is_called_less_at_most_as_often_as_promised(
    lost: float,
) -> None:
    draw, wrong, runs = Random(7), 0, 500
    for _ in range(runs):
        outcomes = [draw.random() for _ in range(40)]
        gains = [-1.0 if one < lost + 0.1 else 1.0 if one > 0.9 else 0.0 for one in outcomes]
        wrong += (judge_loss(gains, plan_looks(40, noisy=True)[0]).margin or 1.0) <= lost
    assert wrong / runs <= LOSS_ERROR


def test_a_task_lost_leaves_a_wider_margin() -> None:
    look = plan_looks(40)[0]
    margins = [judge_loss([-1.0] * lost + [0.0] * (40 - lost), look).margin for lost in range(6)]
    assert margins == [0.10, 0.15, 0.15, 0.20, None, None]


def test_what_was_not_measured_is_no_equal_task() -> None:
    look = plan_looks(22)[0]
    assert judge_loss([None, *[0.0] * 21], look).margin == 0.15
